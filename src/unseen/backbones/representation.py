"""What is read of a network: one layer or several, each pooled into one vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Pool, Spec
from unseen.backbones.forward_pass import NetworkStep, Part, module_step, network_step, parts_in_one_pass
from unseen.backbones.layer_names import blocks_of, final_norm, last_names
from unseen.backbones.network import Network
from unseen.backbones.pooling import default_pool, layout_at, pooled, probed, repooled
from unseen.backbones.vector_parts import PLUS, is_several, last_blocks
from unseen.errors import UserError, setting


@dataclass(frozen=True)
class SeveralSpec(Spec):
    """The specification of a backbone whose features concatenate those of several layers.

    Attributes:
        widths: dimensions of the parts that `unseen.backbones.vector_parts.named_parts` names.
    """

    widths: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Representation:
    """How images become features.

    Attributes:
        layer, pool: as in `Spec`.
        widths: dimensions of each part of the features of several layers.
    """

    step: NetworkStep
    layer: str
    pool: Pool
    widths: tuple[int, ...] = ()


def representation(network: Network, layer: str | None, wanted: Pool | None) -> Representation:
    """The representation of a layer, or of the network's own without one, by a pooling or the network's own."""
    if layer is not None and layer != network.layer and joins(network, layer):
        return _several(network, layer, wanted)
    network = network if layer is None else network.at(layer)
    if layer is not None and layer != network.layer:
        layout, step = layout_at(network.module, layer, network.layout), module_step(layer, run=network.run)
        output = probed(network.module, step, network.transform)
        pool = wanted or default_pool(output, layout, network.pool)
        return Representation(step.then(partial(pooled, pool=pool, layout=layout)), layer, pool)
    step, layout, pool = network_step(network.vector), network.layout, wanted or network.pool
    if pool == network.pool:
        output = probed(network.module, step, network.transform)
        if output.ndim == 2:
            return Representation(step, network.layer, pool)
        pool = wanted or default_pool(output, layout, network.pool)
    else:
        step = network_step(network.positions or network.vector)
    use = partial(repooled, pool=pool, layout=layout, after=network.after_pool)
    return Representation(step.then(use), network.layer, pool)


def joins(network: Network, layer: str) -> bool:
    """Whether a layer is the last blocks, or several modules, and not one that has exactly that name."""
    if not is_several(layer):
        return False
    if network.graph is not None:
        return layer not in network.graph.layers
    return all(name != layer for name, _ in network.module.named_modules())


def _several(network: Network, layer: str, wanted: Pool | None) -> Representation:
    """The vectors of several layers in order; with `cls+avg` their class tokens, and the mean of the last one."""
    number = last_blocks(layer)
    names = normed_blocks(network, layer, number) if number else layer.split(PLUS)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or "" in names:
        raise UserError(f"{layer}: name layers, each once, with {PLUS} between them")
    _refuse_other_order(network, layer, names)
    single = [_whole(network, name) for name in names]
    outputs = [values[0] for values in _in_one_pass(network, single)]
    layouts = [network.layout if network.graph else layout_at(network.module, name, network.layout) for name in names]
    if number and len({output.shape for output in outputs}) > 1:
        raise UserError(
            f"the outputs of its last {number} blocks have different shapes, and one norm cannot follow all; name them "
            f"({setting('backbone.layers', PLUS.join(names))})"
        )
    pool = wanted or default_pool(outputs[-1], layouts[-1], network.pool)
    parts = list[Part]()
    norm = final_norm(network.module, names[-1]) if number else None
    for name, step, layout in zip(names, single, layouts, strict=True):
        own: Pool = "cls" if pool == "cls+avg" and name != names[-1] else pool
        use = partial(pooled, pool=own, layout=layout)
        if number:
            use = partial(repooled, pool=own, layout=layout, before=norm, after=network.after_pool)
        parts += step.then(partial(_named, name=name, use=use)).parts
    step = NetworkStep(tuple(parts))
    widths = [vector.shape[1] for vector in _in_one_pass(network, [step])[0]]
    if pool == "cls+avg":
        widths[-1:] = [widths[-1] // 2] * 2
    return Representation(step, layer, pool, tuple(widths))


def _refuse_other_order(network: Network, layer: str, names: Sequence[str]) -> None:
    """Refuse blocks that are not in order of depth; for other modules, and tensors of a graph, there is no such order.

    Readers of a vector take the last block in it for the deepest.
    """
    if network.graph is not None:
        return
    try:
        blocks = blocks_of(network.module)
    except UserError:  # it has no numbered blocks
        return
    depths = [blocks.index(name) for name in names if name in blocks]
    if depths != sorted(depths):
        places = iter(sorted(depths))
        ordered = PLUS.join(blocks[next(places)] if name in blocks else name for name in names)
        raise UserError(f"{layer}: name blocks in order of depth ({setting('backbone.layers', ordered)})")


def _named(network: nn.Module, output: Tensor, *, name: str, use: partial[Tensor]) -> Tensor:
    try:
        return use(network, output)
    except UserError as error:
        raise UserError(f"layer {name}: {error}") from None


def _whole(network: Network, name: str) -> NetworkStep:
    if network.graph is not None:
        return network_step(network.at(name).vector)
    return module_step(name, run=network.run)


def normed_blocks(network: Network, layer: str, number: int) -> list[str]:
    """The last blocks of a network that has a norm after them, or after its pooling."""
    if network.graph is not None:
        raise UserError(f"its layers have no order, so {layer} does not say which; name them, with {PLUS} between them")
    names = last_names(network.module, number)
    norms = (final_norm(network.module, names[-1]), network.after_pool)
    if all(name is None or isinstance(network.module.get_submodule(name), nn.Identity) for name in norms):
        raise UserError(
            f"has no norm after its blocks, which {layer} would apply to each of them; name the blocks "
            f"({setting('backbone.layers', PLUS.join(names))})"
        )
    return names


def _in_one_pass(network: Network, steps: Sequence[NetworkStep]) -> list[list[Tensor]]:
    """What the parts of steps give for one image of zeros."""
    found = list[list[Tensor]]()

    def kept(module: nn.Module, images: Tensor) -> Tensor:
        found.extend(parts_in_one_pass(module, steps, images))
        return torch.empty(0)

    probed(network.module, kept, network.transform)
    return found
