"""Backbones in an ONNX file: `onnx:path/to/file.onnx`, run by onnxruntime.

Features are the file's first output, or any tensor of its graph named with `layer`. The graph defines the image size
(224 if it is variable) but not mean and standard deviation: ImageNet's are assumed, with bicubic interpolation.
"""

from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unseen.backbones.network import Network, Request, Source, refuse_checkpoint
from unseen.backbones.onnx_files import read_onnx
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean

GPU = "CUDAExecutionProvider"
OUTPUT = "output"
"""The layer of the first output of a graph."""
DTYPES = {1: torch.float32, 10: torch.float16}  # by ONNX's number of the element type


class OnnxNetwork(nn.Module):
    """A graph as a module, from images to one of its tensors; it runs on the device of the images, if onnxruntime can.

    Args:
        graph: the file's bytes.
        batch: number of images the graph takes at once, or None for any number.
        weights: the folder with weights that are not in the graph.
    """

    def __init__(
        self, graph: bytes, output: str, batch: int | None, dtype: torch.dtype, weights: Path | None = None
    ) -> None:
        super().__init__()
        self.graph, self.output, self.batch, self.dtype, self.weights = graph, output, batch, dtype, weights
        on_cpu = _session(graph, None, weights)
        self.sessions: dict[int | None, Any] = {None: on_cpu}
        self.input = on_cpu.get_inputs()[0].name

    def __deepcopy__(self, _: dict[int, Any]) -> "OnnxNetwork":
        """Itself: sessions cannot be copied, and it is immutable."""
        return self

    def forward(self, images: Tensor) -> Tensor:
        parts = torch.split(images, self.batch) if self.batch else (images,)
        return torch.cat([self._run(part) for part in parts]).to(images.device)

    def _run(self, images: Tensor) -> Tensor:
        count = len(images)
        if self.batch and count < self.batch:
            images = torch.cat((images, images.new_zeros(self.batch - count, *images.shape[1:])))
        gpu = images.device.index if images.is_cuda and GPU in _providers() else None
        if gpu not in self.sessions:
            self.sessions[gpu] = _session(self.graph, gpu, self.weights)
        array = images.to("cpu", self.dtype).contiguous().numpy()
        result = self.sessions[gpu].run([self.output], {self.input: array})[0]
        return torch.from_numpy(result)[:count].float()


def _session(graph: bytes, gpu: int | None, weights: Path | None) -> Any:
    """A session on a GPU, given its number, with full-precision 32-bit products; on the CPU if None."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    if weights:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    providers: list[Any] = [] if gpu is None else [(GPU, {"device_id": gpu, "use_tf32": 0})]
    return onnxruntime.InferenceSession(graph, options, providers=[*providers, "CPUExecutionProvider"])


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
    output = request.layer or OUTPUT
    if output == OUTPUT and (request.layer is None or OUTPUT not in tensors):
        output = graph.output[0].name
    if output not in tensors:
        hint = did_you_mean(output, tensors) or f"; its outputs are {', '.join(value.name for value in graph.output)}"
        raise UserError(f"{path}: contains no tensor {output}{hint}")
    if output not in [value.name for value in graph.output]:
        graph.output.add().name = output
    try:
        network = OnnxNetwork(model.proto.SerializeToString(), output, batch, dtype, model.weights)
    except Exception as error:  # onnxruntime's exceptions have no common base class
        raise UserError(f"{path}: onnxruntime cannot run it ({' '.join(str(error).split())[:200]})") from None
    notes = ["an ONNX file does not specify the preprocessing: bicubic, ImageNet's mean and deviation are assumed"]
    if torch.cuda.is_available() and GPU not in _providers():
        notes.append("this onnxruntime only runs on the CPU; install onnxruntime-gpu to use the GPU")
    return Network(
        module=network,
        weights=f"sha256:{model.sha256}",
        transform=Transform(size=size, resize=size),
        layer=request.layer or OUTPUT,
        parameters=sum(constants[name] for name in _needed(graph, output) if name in constants),
        notes=tuple(notes),
    )


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
