"""Loading a backbone by its id."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Kept, Pool, Spec
from unseen.backbones.forward_pass import Step, in_one_pass, network_step
from unseen.backbones.layer_names import layer_names
from unseen.backbones.network import Network, Request, Source, call
from unseen.backbones.patches import PatchSpec, map_step, patch_layer, patch_step
from unseen.backbones.pooling import probed
from unseen.backbones.python_source import python_network
from unseen.backbones.representation import SeveralSpec, representation
from unseen.backbones.vector_parts import last_blocks, one_of_several
from unseen.data.core.decoding.transform import NORMALISATIONS, Transform
from unseen.errors import UserError, did_you_mean, setting
from unseen.extension.entry_points import PlugIn
from unseen.extension.own_code import SHORT, is_own_file
from unseen.extension.plugins import plugins
from unseen.extension.registry import Registry, checked_name
from unseen.extras import REQUIREMENTS, install_command, pip_install


def find_sources() -> Registry[Source]:
    """Sources by the part of an id before the colon: ours, then those of other packages."""
    ours = {each.name: each for each in plugins("unseen.backbones.sources", "SOURCE")}
    return Registry("backbones", "source of backbones", ours, _checked)


def _checked(plug_in: PlugIn, loaded: Any) -> Source:
    if not isinstance(loaded, Source):
        raise UserError(f"{plug_in.value} must be an unseen.backbones.network.Source, not {type(loaded).__name__}")
    checked_name(plug_in, loaded.name)
    return loaded


SOURCES = find_sources()
ARCHITECTURES = ("timm", "torchvision")
"""Sources whose ids may name a file of weights: `timm:resnet50@moco.pth`."""


class Extractor(nn.Module):
    """A network and the functions from images to features, and to the map of positions they are pooled from."""

    def __init__(self, network: nn.Module, step: Step, maps: Step) -> None:
        super().__init__()
        self.network, self.step, self.map_step = network, network_step(step), maps

    def forward(self, images: Tensor) -> Tensor:
        return extracted([self], images)[0]

    def maps(self, images: Tensor) -> Tensor:
        """(b, c, h, w): the last spatial map or the patch tokens; an error for a network that has none."""
        return self.map_step(self.network, images)


def extracted(extractors: Sequence[Extractor], images: Tensor) -> list[Tensor]:
    """The features of extractors with the same network, from one forward pass.

    Where gradients are recorded, networks are run to their end: a training may change their last modules too.
    """
    steps = [each.step for each in extractors]
    return in_one_pass(extractors[0].network, steps, images, stop=not torch.is_grad_enabled())


@dataclass(frozen=True, eq=False)
class OpenedBackbone:
    """A network in memory, which gives any number of backbones: one for each layer and pooling.

    Attributes:
        network: what its source knows of it, or a backbone that came complete.
        again: loads one of its backbones in another process.
    """

    name: str
    request: Request
    network: "Network | Backbone"
    again: Callable[..., Backbone]

    @cached_property
    def digest(self) -> str:
        return tensor_digest(self.network.module)

    def layer_names(self, words: Sequence[str]) -> list[str]:
        """The layers that some words stand for; see `unseen.backbones.layer_names`."""
        if isinstance(self.network, Backbone):
            return [*words]
        try:
            return layer_names(self.network, words)
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from None

    def patch_layer(self, words: Sequence[str]) -> str | None:
        """The layer of the features of patches, if some words name layers; see `unseen.backbones.patches`."""
        if isinstance(self.network, Backbone):
            return next(iter(words), None)
        try:
            return patch_layer(self.network, words)
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from None

    def backbone(self, layer: str | None = None, pool: Pool | None = None, *, patches: bool | int = False) -> Backbone:
        """The backbone of a layer and a pooling; arguments as in `load_backbone`."""
        again = partial(self.again, layer=layer, pool=pool, patches=patches)
        if isinstance(self.network, Backbone):
            whole = _whole_backbone(self.network, self.request, layer, pool, patches=bool(patches))
            return replace(whole, load=again)
        network = self.network
        try:
            if patches:
                _refuse_pool(pool)
                layer = None if layer is None else patch_layer(network, [layer])
                network = network if layer is None else network.at(layer)
                maps = map_step(network, layer)
                spatial = patch_step(network.module, maps, network.transform, patches)
                dimension = probed(network.module, spatial.step, spatial.transform).shape[1]
                spec: Spec = PatchSpec(
                    **self._facts(network, layer or network.layer, "patches", dimension, spatial.transform),
                    grid=spatial.grid, drawn=spatial.drawn,
                )  # fmt: skip
                return self._made(spec, spatial.step, maps, again)
            found = representation(network, layer, pool)
            network = network if layer is None or found.widths else network.at(layer)
            maps = map_step(network, _map_layer(layer) if found.widths and layer else layer)
            dimension = probed(network.module, found.step, network.transform).shape[1]
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from None
        facts = self._facts(network, found.layer, found.pool, dimension, network.transform)
        spec = SeveralSpec(**facts, widths=found.widths) if found.widths else Spec(**facts)
        return self._made(spec, found.step, maps, again)

    def _facts(self, network: Network, layer: str, pool: Kept, dimension: int, transform: Transform) -> dict[str, Any]:
        """The fields of a specification."""
        source, _ = _split(self.name)
        return {
            "id": f"{source}:{self.request.name}" if source else self.name,
            "weights": network.weights,
            "layer": layer,
            "pool": pool,
            "dimension": dimension,
            "parameters": network.parameters or sum(each.numel() for each in network.module.parameters()),
            "transform": transform,
            "digest": self.digest,
        }

    def _made(self, spec: Spec, step: Step, maps: Step, again: Callable[..., Backbone]) -> Backbone:
        assert isinstance(self.network, Network)
        module = Extractor(self.network.module, step, maps).eval()
        return Backbone(spec, module, self.network.notes, default_label(self.name), again)


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
    found = open_backbone(name, size=size, checkpoint=checkpoint, weights=weights, normalise=normalise, device=device)
    layers = [] if layer is None else found.layer_names([layer])
    if len(layers) > 1:
        raise UserError(f"{name}: {layer} stands for {len(layers)} layers, from {layers[0]} to {layers[-1]}; name one")
    return found.backbone(next(iter(layers), None), pool, patches=patches)


def open_backbone(
    name: str,
    *,
    size: int | None = None,
    checkpoint: Path | None = None,
    weights: Literal["pretrained", "random"] = "pretrained",
    normalise: str | None = None,
    device: torch.device | str = "cpu",
) -> OpenedBackbone:
    """The network of a backbone, for any of its layers; arguments as in `load_backbone`."""
    again = partial(load_backbone, name, size=size, checkpoint=checkpoint, weights=weights, normalise=normalise)
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
    missing = missing_packages(origin)
    if missing:
        raise UserError(f"{name}: needs the package {missing[0]}: {how_to_install(origin)}")
    if normalise is not None and normalise not in NORMALISATIONS:
        raise UserError(f"{name}: images are normalised by one of {', '.join(NORMALISATIONS)}, not '{normalise}'")
    request = Request(name, rest, weights == "random", size, checkpoint, normalise)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        network = origin.load(request)
    network.module.eval().requires_grad_(False).to(device)
    network = _with_code(network, SOURCES.plug_in(source))
    if isinstance(network, Network) and normalise is not None:
        network = _normalised(network, normalise)
    return OpenedBackbone(name, request, network, again)


def _refuse_pool(pool: Pool | None) -> None:
    if pool is not None:
        raise UserError(f"features of patches are not pooled; leave out {setting('backbone.pool', pool)}")


def _map_layer(layer: str) -> str | None:
    """The layer of the map of several: that of their patches, or the network's own if their patches are refused."""
    return None if last_blocks(layer) is None else one_of_several(layer)


def with_patches(backbone: Backbone, patches: bool | int) -> Backbone:
    """A loaded backbone as `load_backbone` gives it with `patches`; it shares the network."""
    spec, extractor = backbone.spec, backbone.module
    if not isinstance(extractor, Extractor):
        raise UserError(f"{spec.id}: comes as a finished module with one vector per image")
    layer = one_of_several(spec.layer) if isinstance(spec, SeveralSpec) else spec.layer
    try:
        step = patch_step(extractor.network, extractor.map_step, spec.transform, patches)
        dimension = probed(extractor.network, step.step, step.transform).shape[1]
    except UserError as error:
        raise UserError(f"{spec.id}: {error}") from None
    known = {each.name: getattr(spec, each.name) for each in fields(Spec)}
    changed = known | {"layer": layer, "pool": "patches", "dimension": dimension, "transform": step.transform}
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
    try:
        SOURCES[source]
    except KeyError:
        hint = did_you_mean(source, SOURCES) or f"; there are {', '.join(SOURCES)} and file.py:function"
        raise UserError(f"{name}: unknown source of backbones '{source}'{hint}") from None
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    return source, rest


def missing_packages(source: Source) -> list[str]:
    """The packages that a source needs and that are not installed."""
    return [package for package in source.packages if find_spec(package) is None]


def how_to_install(source: Source) -> str:
    """The command that installs what a source needs."""
    if source.name in REQUIREMENTS:
        return install_command(source.name)
    return pip_install(*missing_packages(source))


def _with_code(network: "Network | Backbone", plug_in: PlugIn | None) -> "Network | Backbone":
    """The network of another package's source: other code may give another one for the same weights."""
    if plug_in is None:
        return network
    by = f" ({plug_in.origin}, code {plug_in.code.digest[:SHORT]})"
    if isinstance(network, Network):
        return replace(network, weights=f"{network.weights}{by}")
    return replace(network, spec=replace(network.spec, weights=f"{network.spec.weights}{by}"))


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


def _whole_backbone(
    backbone: Backbone, request: Request, layer: str | None, pool: Pool | None, *, patches: bool
) -> Backbone:
    """A backbone that its source returned complete, if it matches its specification and no other options are given."""
    if pool or patches or layer or request.size or request.checkpoint or request.random or request.normalise:
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
