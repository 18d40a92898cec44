"""Backbones in an ONNX file: `onnx:path/to/file.onnx`, run by onnxruntime.

Features are the file's first output, or any tensor of its graph named with `layer`. The graph defines the image size
(224 if it is variable) but not mean and standard deviation: ImageNet's are assumed, with bicubic interpolation.
"""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unseen.backbones.forward_pass import Fetch
from unseen.backbones.graph_process import GraphProcess
from unseen.backbones.network import Graph, Network, Request, Source, refuse_checkpoint
from unseen.backbones.onnx_files import read_onnx
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean

GPU = "CUDAExecutionProvider"
BYTES = 4
"""Of a weight, at most."""
OUTPUT = "output"
"""The layer of the first output of a graph."""
DTYPES = {1: torch.float32, 10: torch.float16}  # by ONNX's number of the element type


class OnnxNetwork(nn.Module):
    """A graph as a module, from images to its tensors; it runs on the device of the images, if onnxruntime can.

    Any tensor of the graph can be asked for. Those that are no outputs of the file are computed by a session of their
    own, one for each: onnxruntime may fuse the operations around a tensor that is no output, and another output would
    change the last bits of the features.

    Args:
        model: the graph with its outputs (`onnx.ModelProto`).
        output: the name of the output that a call gives.
        batch: number of images the graph takes at once, or None for any number.
        process: where it runs.
        weights: the folder with weights that are not in the graph.
    """

    def __init__(
        self,
        model: Any,
        output: str,
        batch: int | None,
        dtype: torch.dtype,
        process: GraphProcess,
        weights: Path | None = None,
    ) -> None:
        super().__init__()
        self.model, self.output, self.batch, self.dtype, self.weights = model, output, batch, dtype, weights
        self.outputs = tuple(value.name for value in model.graph.output)
        self.process = process
        self.sessions: dict[tuple[str, int | None], tuple[int, str]] = {}
        self._on("", None)

    def __deepcopy__(self, _: dict[int, Any]) -> "OnnxNetwork":
        """Itself: sessions cannot be copied, and it is immutable."""
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.fetch([self.output], images)[0]

    def fetch(self, names: Sequence[str], images: Tensor) -> list[Tensor]:
        """Some tensors of the graph, by name; those that the file gives as outputs are computed together."""
        parts = torch.split(images, self.batch) if self.batch else (images,)
        given = [name for name in names if name in self.outputs]
        groups = {"": given} if given else {}
        groups |= {name: [name] for name in names if name not in self.outputs}
        found = dict[str, Tensor]()
        for added, together in groups.items():
            rows = zip(*(self._run(added, together, part) for part in parts), strict=True)
            found |= {name: torch.cat(of).to(images.device) for name, of in zip(together, rows, strict=True)}
        return [found[name] for name in names]

    def _run(self, added: str, names: Sequence[str], images: Tensor) -> list[Tensor]:
        count = len(images)
        if self.batch and count < self.batch:
            images = torch.cat((images, images.new_zeros(self.batch - count, *images.shape[1:])))
        gpu = images.device.index if images.is_cuda and GPU in _providers() else None
        array = images.to("cpu", self.dtype).contiguous().numpy()
        results = self.process.run(self._on(added, gpu), names, array, limited=gpu is None)
        return [torch.from_numpy(result)[:count].float() for result in results]

    def _on(self, added: str, gpu: int | None) -> tuple[int, str]:
        """The session of the graph with an output that the file does not give; with none if it is empty."""
        if (added, gpu) not in self.sessions:
            model = self.model
            if added:
                model = type(self.model)()
                model.CopyFrom(self.model)
                model.graph.output.add().name = added
            self.sessions[added, gpu] = self.process.session(
                model.SerializeToString(), threads=torch.get_num_threads(), gpu=gpu, folder=self.weights
            )
        return self.sessions[added, gpu]


def _providers() -> list[str]:
    import onnxruntime

    return list(onnxruntime.get_available_providers())


def onnx_network(request: Request) -> Network:
    refuse_checkpoint(request)
    path = Path(request.name)
    if request.random:
        raise UserError(f"{request.id}: an ONNX file has fixed weights; random weights are not possible")
    model = read_onnx(path)
    graph = model.proto.graph
    constants = {tensor.name: prod(tensor.dims) for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise UserError(f"{path}: takes {len(inputs)} inputs, not one batch of images")
    batch, size, dtype = _input(inputs[0], path, request.size)
    tensors = [name for node in graph.node for name in node.output if name]
    first = graph.output[0].name
    process = GraphProcess(path, sum(constants.values()) * BYTES)
    module = OnnxNetwork(model.proto, first, batch, dtype, process, model.weights)
    notes = ["an ONNX file does not specify the preprocessing: bicubic, ImageNet's mean and deviation are assumed"]
    if torch.cuda.is_available() and GPU not in _providers():
        notes.append("this onnxruntime only runs on the CPU; install onnxruntime-gpu to use the GPU")

    def of(layer: str, output: str) -> Network:
        needed = sum(constants[name] for name in _needed(graph, output) if name in constants)
        return Network(
            module, f"sha256:{model.sha256}", Transform(size=size, resize=size), layer, vector=Fetch(output),
            parameters=needed, notes=tuple(notes), graph=layers,
        )  # fmt: skip

    def at(layer: str) -> Network:
        output = first if layer == OUTPUT and OUTPUT not in tensors else layer
        if output not in tensors:
            hint = did_you_mean(output, tensors) or f"; its outputs are {', '.join(module.outputs)}"
            raise UserError(f"contains no tensor {output}{hint}")
        return of(layer, output)

    layers = Graph(module.outputs, tuple(tensors), at)
    return of(OUTPUT, first)


def _input(value: Any, path: Path, wanted: int | None) -> tuple[int | None, int, torch.dtype]:
    """(batch size, side, element type) of the graph's input, which must be (b, 3, size, size)."""
    tensor = value.type.tensor_type
    sides = [side.dim_value if side.HasField("dim_value") else None for side in tensor.shape.dim]
    if len(sides) != 4 or sides[1] not in (3, None) or sides[2] != sides[3]:
        shape = " × ".join("any" if side is None else str(side) for side in sides)
        raise UserError(f"{path}: its input is {shape}, not a batch of square images in colour (b × 3 × size × size)")
    if tensor.elem_type not in DTYPES:
        raise UserError(f"{path}: its input is not 16 or 32-bit floats, so it preprocesses images itself")
    if sides[2] and wanted not in (None, sides[2]):
        raise UserError(f"{path}: takes images of {sides[2]} pixels only, not {wanted}")
    return sides[0] or None, sides[2] or wanted or Transform().size, DTYPES[tensor.elem_type]


def _needed(graph: Any, output: str) -> set[str]:
    """Names of all tensors that an output depends on."""
    makers = {name: node for node in graph.node for name in node.output}
    needed, waiting = set(), [output]
    while waiting:
        name = waiting.pop()
        if name and name not in needed:
            needed.add(name)
            waiting.extend(makers[name].input if name in makers else ())
    return needed


SOURCE = Source("onnx", onnx_network, ("onnx", "onnxruntime"))
