"""Exact search for the nearest rows of a gallery, in tiles: the one top-k of probes and of searches across splits.

Products are float32, 2·m·n·d flops for m queries among n rows. No more than a tile of them is in memory, m × `TILE`, so
callers give queries in blocks. The gallery may be a tensor, or rows on disk that are read tile by tile (`UnitRows`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.features.features import Rows
from unseen.metrics.geometry import unit_rows

TILE = 1 << 15
"""Gallery rows multiplied at once."""
Ties = Literal["any", "first"]
"""Which of equally similar rows comes first, and stays at the end: an unspecified one, or that of the lowest index."""
NOBODY = -1
"""The index of a neighbour that does not exist, since too few rows are left."""


class Gallery(Protocol):
    """(n, d) rows on a device: a tensor, or rows that are brought there on use."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows that are read, brought to a device and scaled to length 1 on use; rows of zeros stay zero."""

    X: Rows
    device: torch.device

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice) -> Tensor:
        # Converted on the device: half precision is half of the bytes to copy there.
        return unit_rows(torch.from_numpy(np.array(self.X[rows])).to(self.device).float())


def tiles(gallery: Gallery, size: int = TILE) -> Iterator[tuple[int, Tensor]]:
    """The index of the first row of each tile, and its rows."""
    for start in range(0, len(gallery), size):
        yield start, gallery[start : start + size]


def nearest(
    queries: Tensor, gallery: Gallery, k: int, exclude: Tensor | None = None, *, ties: Ties = "first"
) -> tuple[Tensor, Tensor]:
    """(m, k) largest products of each query with gallery rows, in decreasing order, and the indices of the rows.

    With fewer than k rows, all of them are returned.

    Args:
        queries: (m, d) float32; their products with a tile are in memory together.
        exclude: (m,) a gallery row that is not a neighbour of each query, such as the query itself; −1 for none. Where
            it leaves fewer than k rows, the last product is −∞ and its index −1.
        ties: the results of both are deterministic on one device; "first" takes a little longer.
    """
    if k < 1 or len(gallery) == 0:
        raise UserError(f"a search needs at least one neighbour and one row to search, not {k} and {len(gallery)}")
    if exclude is not None and exclude.shape != (len(queries),):
        raise UserError(f"{len(queries)} queries need one row each to exclude, not shape {tuple(exclude.shape)}")
    best, neighbours = queries.new_empty(len(queries), 0), torch.empty(len(queries), 0, dtype=torch.int64)
    neighbours = neighbours.to(queries.device)
    for start, rows in tiles(gallery):
        products = queries @ rows.T
        if exclude is not None:
            here = torch.where((exclude >= start) & (exclude < start + len(rows)))[0]
            products[here, exclude[here] - start] = -math.inf
        greatest = _first_greatest if ties == "first" else _greatest
        values, places = greatest(products, min(k, products.shape[1]))
        values, neighbours = torch.cat([best, values], dim=1), torch.cat([neighbours, places + start], dim=1)
        # Earlier tiles have lower indices, so that the order of the columns decides ties here too.
        keys = _in_order(values) if ties == "first" else values
        places = keys.topk(min(k, values.shape[1]), dim=1).indices
        best, neighbours = values.gather(1, places), neighbours.gather(1, places)
    if exclude is not None:
        neighbours.masked_fill_(best == -math.inf, NOBODY)
    return best, neighbours


def _first_greatest(products: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """As `_greatest`, with the first columns of equal values, and these in order.

    Only rows with more values equal to the k-th largest than have a place need more than a pass over them.
    """
    values, places = _greatest(products, k)
    tied = torch.where((products >= values[:, -1:]).sum(dim=1) > k)[0]
    if len(tied):
        places[tied] = _greatest(_in_order(products[tied]), k)[1]
    places = places.sort(dim=1).values
    values = products.gather(1, places)
    order = _in_order(values).argsort(dim=1, descending=True)
    return values.gather(1, order), places.gather(1, order)


def _in_order(products: Tensor) -> Tensor:
    """Distinct int64 keys in the order of float32 products, and of equal ones from the first column on.

    The bits of a float32 without the sign are ordered like integers; those of negative numbers are turned around.
    Adding 0 turns −0 into 0.
    """
    bits = (products + 0.0).view(torch.int32).to(torch.int64)
    ordered = torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    columns = torch.arange(products.shape[1], device=products.device)
    return ordered * (1 << 31) - columns


def _greatest(products: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest values of each row, and their columns, without sorting whole rows.

    Divide the columns into groups. A value outside of the k groups with the largest maxima has k values above it,
    namely those maxima; so only these k groups are searched. With groups of √(n/k) columns these are 2·√(n·k) values
    instead of n, besides one pass for the maxima.
    """
    size = math.isqrt(products.shape[1] // k)
    groups = products.shape[1] // size
    grouped = products[:, : size * groups].reshape(len(products), size, groups)
    kept = grouped.amax(dim=1).topk(k, dim=1, sorted=False).indices[:, None]
    offsets = groups * torch.arange(size, device=products.device)[:, None]
    rest = torch.arange(size * groups, products.shape[1], device=products.device)
    columns = torch.cat([(kept + offsets).flatten(1), rest.expand(len(products), -1)], dim=1)
    values, places = products.gather(1, columns).topk(k, dim=1)
    return values, columns.gather(1, places)
