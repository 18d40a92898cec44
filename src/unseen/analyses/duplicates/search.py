"""The nearest other image of each image, by the cosine similarity of stored features.

The search is exact: 2·n·m·d flops for n images among m, in float32. `unseen.probes.neighbours` finds several neighbours
and reads the m rows for each block of images; here there is one, so they are read once, tile by tile. Memory is one
float32 copy of the n rows, a tile of the others and products of at most 1 GiB.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.features import Rows
from unseen.probes.neighbours import UnitRows, tiles
from unseen.probes.rows import on_device

QUERIES = {"cpu": 1024, "cuda": 8192}
"""Images that are multiplied with a tile at once: on a CPU, smaller products take a third longer."""
ROUNDING = 1e-6
"""Similarities nearer to 1 are those of equal directions, whose products are rounded in float32."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest of some rows for each of others.

    Attributes:
        similarity: (n,) cosine similarity, at most 1; 0 for a row of zeros, which has no direction.
        row: (n,) index of the nearest row, counted over all parts that were searched.
    """

    similarity: NDArray[np.float32]
    row: NDArray[np.int64]


def nearest_rows(images: Rows, among: Sequence[Rows], device: torch.device) -> Nearest:
    """The nearest rows of several parts for each image; equally near ones are not told apart.

    Args:
        images: (n, d) features.
        among: parts of (m, d) features.
    """
    other = next((part.shape[1] for part in among if part.shape[1] != images.shape[1]), None)
    if other is not None:
        raise UserError(f"features of {images.shape[1]} and of {other} dimensions: they are not of one backbone")
    units = on_device(images, device, unit=True)
    best = torch.full((len(units),), -torch.inf, device=device)
    queries = QUERIES[device.type]
    row = torch.zeros(len(units), dtype=torch.int64, device=device)
    for start, rows in _tiles(among, device):
        for first in range(0, len(units), queries):
            some = slice(first, first + queries)
            values, places = (units[some] @ rows.T).max(dim=1)
            nearer = values > best[some]
            best[some] = torch.where(nearer, values, best[some])
            row[some] = torch.where(nearer, places + start, row[some])
    best = torch.where(best > 1 - ROUNDING, 1.0, best)
    return Nearest(best.cpu().numpy(), row.cpu().numpy())


def _tiles(parts: Sequence[Rows], device: torch.device) -> Iterator[tuple[int, torch.Tensor]]:
    """Unit rows of all parts, tile by tile, with the index of their first row."""
    before = 0
    for part in parts:
        for start, rows in tiles(UnitRows(part, device)):
            yield before + start, rows
        before += len(part)
