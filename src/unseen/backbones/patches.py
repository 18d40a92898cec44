"""Features of all positions of the last layer, instead of one vector per image."""

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Spec
from unseen.backbones.network import Network, Request, Step
from unseen.backbones.pooling import PLAIN, Layout, layout_at, patch_grid, probed, whole
from unseen.errors import UserError
from unseen.images.transform import Transform


@dataclass(frozen=True)
class PatchSpec(Spec):
    """The specification of a backbone that gives the features of positions, one after the other, row by row.

    Attributes:
        dimension: numbers of all positions together.
        grid: rows and columns of positions.
        drawn: how many positions are kept of the grid, the same ones of every image; 0 for all.
    """

    grid: tuple[int, int] = (1, 1)
    drawn: int = 0

    @property
    def positions(self) -> int:
        """How many are kept."""
        return self.drawn or self.grid[0] * self.grid[1]

    @property
    def channels(self) -> int:
        """Dimensions of one position's features."""
        return self.dimension // self.positions


@dataclass(frozen=True, eq=False)
class PatchStep:
    """How images become the features of their positions.

    Attributes:
        transform: squashes the whole image, so that positions are those of the labels.
        step: images → (b, positions · channels).
    """

    transform: Transform
    step: Step
    grid: tuple[int, int]
    drawn: int


def patch_step(module: nn.Module, maps: Step, transform: Transform, patches: bool | int) -> PatchStep:
    """The step to the features of positions, from the one to a map of them.

    Args:
        patches: how many positions to keep; True for all.
    """
    transform, drawn = replace(transform, resize=transform.size, squash=True), 0 if patches is True else int(patches)
    rows, columns = probed(module, maps, transform).shape[2:]
    if not 0 <= drawn <= rows * columns:
        raise UserError(f"{drawn} patches cannot be drawn of {rows * columns}")
    kept = tuple(drawn_positions(rows * columns, drawn)) if drawn else ()
    return PatchStep(transform, partial(_patches, maps=maps, kept=kept), (rows, columns), drawn)


def map_step(network: Network, request: Request) -> Step:
    """The step to the map (b, c, h, w) of the last layer, or of the layer that was asked for; tokens become a map."""
    step, layout = _positions(network, request.layer or network.layer)
    return partial(_map, step=step, layout=layout)


def _positions(network: Network, layer: str) -> tuple[Step, Layout]:
    """The step to a layer's positions, and how they are laid out."""
    if layer != network.layer:
        return partial(whole, layer=layer), layout_at(network.module, layer, network.layout)
    if network.spatial is not None:
        return network.spatial, PLAIN
    return network.positions or network.vector, network.layout


def drawn_positions(positions: int, drawn: int) -> list[int]:
    """The places of a fixed draw, in order."""
    order = torch.randperm(positions, generator=torch.Generator().manual_seed(0))
    found: list[int] = order[:drawn].sort().values.tolist()
    return found


def _patches(network: nn.Module, images: Tensor, *, maps: Step, kept: tuple[int, ...]) -> Tensor:
    tokens = maps(network, images).flatten(2).transpose(1, 2)
    return (tokens[:, list(kept)] if kept else tokens).flatten(1)


def _map(network: nn.Module, images: Tensor, *, step: Step, layout: Layout) -> Tensor:
    tokens, grid = patch_grid(step(network, images), layout)
    return tokens.transpose(1, 2).reshape(len(tokens), -1, *grid)
