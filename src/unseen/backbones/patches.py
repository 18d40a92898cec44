"""Features of all positions of the last layer, instead of one vector per image."""

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Pool, Spec
from unseen.backbones.network import Network, Request, Step
from unseen.backbones.pooling import PLAIN, Layout, layout_at, patch_grid, probed, whole
from unseen.errors import UserError


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
class SpatialStep:
    """How images become the features of their positions.

    Attributes:
        network: with a transform that squashes the whole image, so that positions are those of the labels.
        step: images → (b, positions · channels).
    """

    network: Network
    step: Step
    layer: str
    grid: tuple[int, int]
    drawn: int


def spatial_step(network: Network, request: Request, pool: Pool | None, drawn: int) -> SpatialStep:
    """The step to the patch tokens or the spatial map of the last layer, or of the layer that was asked for.

    Args:
        drawn: how many positions to keep; 0 for all.
    """
    if pool is not None:
        raise UserError(f"features of patches are not pooled; leave out --pool {pool}")
    side = network.transform.size
    network = replace(network, transform=replace(network.transform, resize=side, squash=True))
    layer = request.layer or network.layer
    step, layout = _positions(network, layer)
    found, grid = patch_grid(probed(network.module, step, network.transform), layout)
    if not 0 <= drawn <= found.shape[1]:
        raise UserError(f"{drawn} patches cannot be drawn of {found.shape[1]}")
    kept = tuple(drawn_positions(found.shape[1], drawn)) if drawn else ()
    return SpatialStep(network, partial(_patches, step=step, layout=layout, kept=kept), layer, grid, drawn)


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


def _patches(network: nn.Module, images: Tensor, *, step: Step, layout: Layout, kept: tuple[int, ...]) -> Tensor:
    tokens = patch_grid(step(network, images), layout)[0]
    return (tokens[:, list(kept)] if kept else tokens).flatten(1)


def _map(network: nn.Module, images: Tensor, *, step: Step, layout: Layout) -> Tensor:
    tokens, grid = patch_grid(step(network, images), layout)
    return tokens.transpose(1, 2).reshape(len(tokens), -1, *grid)
