"""Features of all positions of the last layer, instead of one vector per image."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Spec
from unseen.backbones.forward_pass import Step, module_step
from unseen.backbones.layer_names import ALL, OWN, final_norm, is_pattern, layer_names
from unseen.backbones.network import Network
from unseen.backbones.pooling import PLAIN, Layout, layout_at, patch_grid, probed
from unseen.backbones.representation import joins, normed_blocks
from unseen.backbones.vector_parts import one_of_several
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, setting


@dataclass(frozen=True)
class PatchSpec(Spec):
    """The specification of a backbone that gives the features of positions, concatenated row by row.

    Attributes:
        dimension: number of values of all positions together.
        grid: rows and columns of positions.
        drawn: number of positions kept, the same for every image; 0 for all.
    """

    grid: tuple[int, int] = (1, 1)
    drawn: int = 0

    @property
    def positions(self) -> int:
        """Number of positions kept."""
        return self.drawn or self.grid[0] * self.grid[1]

    @property
    def channels(self) -> int:
        """Dimensions of the features of one position."""
        return self.dimension // self.positions


@dataclass(frozen=True, eq=False)
class PatchStep:
    """How images become the features of their positions.

    Attributes:
        transform: squashes the whole image, so that positions match those of the labels.
        step: images → (b, positions · channels).
    """

    transform: Transform
    step: Step
    grid: tuple[int, int]
    drawn: int


def patch_step(module: nn.Module, maps: Step, transform: Transform, patches: bool | int) -> PatchStep:
    """The function from images to features of positions, given the one to a map.

    Args:
        patches: number of positions to keep; True for all.
    """
    transform, drawn = replace(transform, resize=transform.size, squash=True), 0 if patches is True else int(patches)
    rows, columns = probed(module, maps, transform).shape[2:]
    if not 0 <= drawn <= rows * columns:
        raise UserError(f"cannot draw {drawn} of {rows * columns} patches")
    kept = tuple(drawn_positions(rows * columns, drawn)) if drawn else ()
    return PatchStep(transform, partial(_patches, maps=maps, kept=kept), (rows, columns), drawn)


def patch_layer(network: Network, words: Sequence[str]) -> str | None:
    """The one layer whose patches are taken if some words name layers; None if there are no words.

    Of several layers, it is the network's own if that is among them, or if they are all blocks or those of a pattern.
    `last-n` stands for the last block, which the final norm follows as it does for vectors.
    """
    names = layer_names(network, words)
    if len(names) > 1:
        if not (network.layer in names or any(word in {ALL, OWN} or is_pattern(word) for word in words)):
            raise UserError(
                f"features of patches are of one layer, not of {', '.join(names)}; name one, or also own "
                f"({setting('backbone.layers')})"
            )
        return network.layer
    return one_of_several(names[0]) if names and joins(network, names[0]) else next(iter(names), None)


def map_step(network: Network, layer: str | None) -> Step:
    """The function from images to the map (b, c, h, w) of the last or the given layer; tokens become a map."""
    step, layout = _positions(network, layer or network.layer)
    return partial(_map, step=step, layout=layout)


def _positions(network: Network, layer: str) -> tuple[Step, Layout]:
    """The function to a layer's positions, and their layout."""
    if layer != network.layer and joins(network, layer):
        return _last_block(network, layer)
    if layer != network.layer:
        return module_step(layer, run=network.run), layout_at(network.module, layer, network.layout)
    if network.spatial is not None:
        return network.spatial, PLAIN
    return network.positions or network.vector, network.layout


def _last_block(network: Network, layer: str) -> tuple[Step, Layout]:
    """The function to the positions of the last block after the final norm, if there is one before the pooling."""
    [name] = normed_blocks(network, one_of_several(layer), 1)
    step = module_step(name, run=network.run)
    norm = final_norm(network.module, name)
    layout = layout_at(network.module, name, network.layout)
    return (step if norm is None else step.then(partial(_normed, norm=norm))), layout


def _normed(network: nn.Module, output: Tensor, *, norm: str) -> Tensor:
    """The output after a norm, whose hooks are not called."""
    normed: Tensor = network.get_submodule(norm).forward(output)
    return normed


def drawn_positions(positions: int, drawn: int) -> list[int]:
    """The positions of a fixed draw, in order."""
    order = torch.randperm(positions, generator=torch.Generator().manual_seed(0))
    found: list[int] = order[:drawn].sort().values.tolist()
    return found


def _patches(network: nn.Module, images: Tensor, *, maps: Step, kept: tuple[int, ...]) -> Tensor:
    tokens = maps(network, images).flatten(2).transpose(1, 2)
    return (tokens[:, list(kept)] if kept else tokens).flatten(1)


def _map(network: nn.Module, images: Tensor, *, step: Step, layout: Layout) -> Tensor:
    tokens, grid = patch_grid(step(network, images), layout)
    return tokens.transpose(1, 2).reshape(len(tokens), -1, *grid)
