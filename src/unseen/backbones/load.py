"""Loading a backbone by its id."""

import hashlib
from dataclasses import fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Kept, Pool, Spec
from unseen.backbones.network import Network, Request, Source, Step, call
from unseen.backbones.patches import PatchSpec, PatchStep, map_step, patch_step
from unseen.backbones.pooling import Layout, default_pool, layout_at, pool_positions, pooled, probed, whole
from unseen.backbones.python_source import python_network
from unseen.data.core.decoding.transform import NORMALISATIONS
from unseen.errors import UserError, did_you_mean, setting
from unseen.extension.own_code import is_own_file
from unseen.extension.plugins import plugins
from unseen.extras import install_command

SOURCES: dict[str, Source] = {each.name: each for each in plugins("unseen.backbones.sources", "SOURCE")}
"""Sources by the part of an id before the colon."""
ARCHITECTURES = ("timm", "torchvision")
"""Sources whose ids may name a file of weights: `timm:resnet50@moco.pth`."""


class Extractor(nn.Module):
    """A network and the functions from images to features, and to the map of positions they are pooled from."""

    def __init__(self, network: nn.Module, step: Step, maps: Step) -> None:
        super().__init__()
        self.network, self.step, self.map_step = network, step, maps

    def forward(self, images: Tensor) -> Tensor:
        return self.step(self.network, images)

    def maps(self, images: Tensor) -> Tensor:
        """(b, c, h, w): the last spatial map or the patch tokens; an error for a network that has none."""
        return self.map_step(self.network, images)


def load_backbone(
    name: str,
    *,
    pool: Pool | None = None,
    layer: str | None = None,
    size: int | None = None,
    checkpoint: Path | None = None,
    weights: Literal["pretrained", "random"] = "pretrained",
    normalise: str | None = None,
    patches: bool | int = False,
    device: torch.device | str = "cpu",
) -> Backbone:
    """The backbone `source:name`, or `path/to/file.py:function`, ready to extract features.

    Args:
        name: for an architecture of timm or torchvision also `source:name@file`, with a file of weights.
        pool: pooling, if other than the network's own.
        layer: dotted name of a module to take features from, instead of the layer before the classifier.
        size: side of the images, instead of the authors'.
        checkpoint: the same as a file after `@`.
        weights: "random" for an untrained network, initialised with a fixed seed.
        normalise: one of `NORMALISATIONS`, instead of the network's own mean and standard deviation.
        patches: features of all positions of the last layer (patch tokens or spatial map) instead of one vector, with
            the whole image squashed to a square; a number keeps that many positions, drawn with a fixed seed.
    """
    again = partial(
        load_backbone,
        name,
        pool=pool,
        layer=layer,
        size=size,
        checkpoint=checkpoint,
        weights=weights,
        normalise=normalise,
        patches=patches,
    )
    source, rest = _split(name)
    rest, file = _with_file(name, source, rest)
    if file is not None and checkpoint is not None:
        raise UserError(f"{name}: its weights are {file}; leave out the other checkpoint ({checkpoint})")
    checkpoint = file or checkpoint
    if checkpoint is not None and weights == "random":
        raise UserError(f"{name}: a checkpoint and random weights cannot be combined")
    if size is not None and size < 1:
        raise UserError(f"{name}: image size must be at least 1, not {size}")
    origin = SOURCES[source] if source else Source("", python_network)
    for package in origin.packages:
        if find_spec(package) is None:
            raise UserError(f"{name}: needs the package {package}: {install_command(source)}")
    if normalise is not None and normalise not in NORMALISATIONS:
        raise UserError(f"{name}: images are normalised by one of {', '.join(NORMALISATIONS)}, not '{normalise}'")
    request = Request(name, rest, weights == "random", layer, size, checkpoint, normalise)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        network = origin.load(request)
    module = network.module.eval().requires_grad_(False).to(device)
    if isinstance(network, Backbone):
        return replace(_whole_backbone(network, request, pool, patches=bool(patches)), load=again)
    if normalise is not None:
        network = _normalised(network, normalise)
    spatial: PatchStep | None = None
    kept: Kept = "patches"
    try:
        maps = map_step(network, request)
        if patches:
            _refuse_pool(pool)
            spatial = patch_step(module, maps, network.transform, patches)
            network, step = replace(network, transform=spatial.transform), spatial.step
            layer = layer or network.layer
        else:
            step, layer, kept = _choose_step(network, request, pool)
        dimension = probed(module, step, network.transform).shape[1]
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    spec = Spec(
        id=f"{source}:{rest}" if source else name,
        weights=network.weights,
        layer=layer,
        pool=kept,
        dimension=dimension,
        parameters=network.parameters or sum(parameter.numel() for parameter in module.parameters()),
        transform=network.transform,
        digest=tensor_digest(module),
    )
    if spatial is not None:
        spec = PatchSpec(**vars(spec), grid=spatial.grid, drawn=spatial.drawn)
    return Backbone(spec, Extractor(module, step, maps).eval(), network.notes, default_label(name), again)


def _refuse_pool(pool: Pool | None) -> None:
    if pool is not None:
        raise UserError(f"features of patches are not pooled; leave out {setting('backbone.pool', pool)}")


def with_patches(backbone: Backbone, patches: bool | int) -> Backbone:
    """A loaded backbone as `load_backbone` gives it with `patches`; it shares the network."""
    spec, extractor = backbone.spec, backbone.module
    if not isinstance(extractor, Extractor):
        raise UserError(f"{spec.id}: comes as a finished module with one vector per image")
    try:
        step = patch_step(extractor.network, extractor.map_step, spec.transform, patches)
        dimension = probed(extractor.network, step.step, step.transform).shape[1]
    except UserError as error:
        raise UserError(f"{spec.id}: {error}") from None
    known = {each.name: getattr(spec, each.name) for each in fields(Spec)}
    changed = known | {"pool": "patches", "dimension": dimension, "transform": step.transform}
    module = Extractor(extractor.network, step.step, extractor.map_step).eval()
    again = partial(backbone.load, patches=patches, pool=None) if backbone.load else None
    return replace(backbone, spec=PatchSpec(**changed, grid=step.grid, drawn=step.drawn), module=module, load=again)


def default_label(name: str) -> str:
    """Name of a backbone without a given name: its id, with the name of the weight file if there is one."""
    source, rest = _split(name)
    rest, file = _with_file(name, source, rest)
    return f"{source}:{rest}@{file.name}" if file else name


def tensor_digest(module: nn.Module) -> str:
    """SHA-256 of the names, dtypes, shapes and values of a module's tensors; empty if it has none."""
    state = module.state_dict()
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest() if state else ""


def _split(name: str) -> tuple[str, str]:
    """(source, name in it); the source is empty for a Python file."""
    if is_own_file(name):
        return "", name
    source, colon, rest = name.partition(":")
    if not colon or not rest:
        raise UserError(f"{name}: a backbone is source:name, for instance timm:resnet50.a1_in1k, or file.py:function")
    if source not in SOURCES:
        hint = did_you_mean(source, SOURCES) or f"; there are {', '.join(SOURCES)} and file.py:function"
        raise UserError(f"{name}: unknown source of backbones '{source}'{hint}")
    return source, rest


def _with_file(name: str, source: str, rest: str) -> tuple[str, Path | None]:
    """(name in the source, weight file named in the id)."""
    if source not in ARCHITECTURES or "@" not in rest:
        return rest, None
    architecture, _, file = rest.partition("@")
    if not architecture or not file:
        raise UserError(
            f"{name}: weights from a file are given as source:architecture@file, such as timm:resnet50@moco.pth"
        )
    return architecture, Path(file)


def _normalised(network: Network, name: str) -> Network:
    """The network with another normalisation than its source specifies."""
    mean, std = NORMALISATIONS[name]
    return replace(network, transform=replace(network.transform, mean=mean, std=std))


def _choose_step(network: Network, request: Request, wanted: Pool | None) -> tuple[Step, str, Pool]:
    """(function from images to features, the layer they come from, the pooling)."""
    module, layer, layout, step = network.module, request.layer, network.layout, network.vector
    if layer is not None and layer != network.layer:
        layout = layout_at(module, layer, layout)
        output = probed(module, partial(whole, layer=layer), network.transform)
        pool = wanted or default_pool(output, layout, network.pool)
        return partial(pooled, layer=layer, pool=pool, layout=layout), layer, pool
    if wanted is None or wanted == network.pool:
        output = probed(module, step, network.transform)
        if output.ndim == 2:
            return step, network.layer, network.pool
        pool = wanted or default_pool(output, layout, network.pool)
    else:
        pool, step = wanted, network.positions or step
    return partial(_repooled, step=step, pool=pool, layout=layout, after=network.after_pool), network.layer, pool


def _repooled(
    network: nn.Module, images: Tensor, *, step: Step, pool: Pool, layout: Layout, after: str | None
) -> Tensor:
    """The output of a function, pooled, followed by whatever the network applies after its own pooling."""
    output = step(network, images)
    parts: tuple[Pool, ...] = ("cls", "avg") if pool == "cls+avg" else (pool,)
    vectors = [pool_positions(output, part, layout) for part in parts]
    if after is not None:
        vectors = [network.get_submodule(after)(vector) for vector in vectors]
    return torch.cat(vectors, dim=1)


def _whole_backbone(backbone: Backbone, request: Request, pool: Pool | None, *, patches: bool) -> Backbone:
    """A backbone that its source returned complete, if it matches its specification and no other options are given."""
    if pool or patches or request.layer or request.size or request.checkpoint or request.random or request.normalise:
        raise UserError(
            f"{request.id}: is a finished module; its pooling, layer, size, weights and normalisation cannot be set"
        )
    spec = backbone.spec
    output = probed(backbone.module, call, spec.transform)
    if output.ndim != 2 or output.shape[1] != spec.dimension:
        shape = " × ".join(map(str, output.shape[1:]))
        raise UserError(f"{request.id}: its specification has {spec.dimension} dimensions, but its output is {shape}")
    digest = spec.digest or tensor_digest(backbone.module)
    return replace(backbone, spec=replace(spec, id=request.id, digest=digest))
