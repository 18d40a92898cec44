"""The ranks of all relevant rows among a whole gallery, exactly, and without a matrix of all pairs.

For a query with r relevant rows among n, the products with all rows are computed in float32 (2·n·d flops), and the
number of other rows before each relevant one is counted among these very products. Memory is the gallery and a block of
queries, at most `BUDGET` bytes of temporary values.

Another row that is exactly as similar as a relevant one comes before it. So features that are all equal are ranked
lowest, and the order of the rows never matters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.probes.neighbours import NOBODY, Gallery, tiles
from unseen.probes.retrieval.relevance import Relevance, in_blocks

BUDGET: Mapping[str, int] = {"cpu": 1 << 28, "cuda": 1 << 32}
"""Bytes of temporary values by the kind of device."""
ROW_BYTES: Mapping[str, int] = {"cpu": 4, "cuda": 24}
"""Bytes per query and gallery row: a product; on a GPU also its place among relevant ones, and what else is needed."""
RELEVANT_BYTES = 256
"""Bytes per query and relevant row: its product, rank and precision, and on a GPU its counters."""
ALIGNED = 32
"""Rows of products start at multiples of this, which products on a GPU are faster for."""
COUNTERS = 32
"""Counters per relevant row. Threads of a GPU that run together add to different ones, so that they need not wait."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Some queries with the ranks of their relevant rows.

    Attributes:
        queries: (b,) their indices.
        ranks: (b, r) from 1, ascending; meaningless beyond the number of relevant rows of a query.
        counts: (b,) numbers of relevant rows, at least 1.
    """

    queries: Tensor
    ranks: Tensor
    counts: Tensor


def relevant_ranks(queries: Tensor, gallery: Gallery, relevance: Relevance) -> Iterator[Ranked]:
    """The ranks for all queries that have relevant rows, in blocks; ignored rows are removed before.

    Args:
        queries: (m, d) float32 of length 1, if similarities are cosines.
        gallery: (n, d) likewise, on the same device.
    """
    device = queries.device.type
    others_before = sorted_before if device == "cpu" else counted_before
    query_bytes = ROW_BYTES.get(device, 24) * (len(gallery) + ALIGNED)
    for block in in_blocks(relevance, query_bytes, RELEVANT_BYTES, BUDGET.get(device, 1 << 30)):
        distances = _distances(queries[block], gallery)
        relevant = _with_last(relevance.relevant(block), len(gallery))
        counts = (relevant < len(gallery)).sum(dim=1)
        own = distances.gather(1, relevant).sort(dim=1).values
        distances.scatter_(1, relevant, torch.inf)
        distances.scatter_(1, _with_last(relevance.ignored(block), len(gallery)), torch.inf)
        before = others_before(distances, own)
        yield Ranked(block, before + torch.arange(1, own.shape[1] + 1, device=own.device), counts)


def _distances(queries: Tensor, gallery: Gallery) -> Tensor:
    """(b, n + 1 or more) minus the products of queries and gallery rows, and ∞ for rows that do not exist."""
    width = -(-(len(gallery) + 1) // ALIGNED) * ALIGNED
    distances, opposite = queries.new_empty(len(queries), width), -queries
    for start, rows in tiles(gallery, 1 << 17):
        torch.mm(opposite, rows.T, out=distances[:, start : start + len(rows)])
    distances[:, len(gallery) :] = torch.inf
    return distances


def _with_last(rows: Tensor, last: int) -> Tensor:
    return rows.masked_fill(rows == NOBODY, last)


def sorted_before(distances: Tensor, own: Tensor) -> Tensor:
    """(b, r) how many of `distances` (b, n) are at most each of `own` (b, r), by sorting them, which overwrites them.

    On a CPU, NumPy's sort of float32 takes a fraction of the time of a binary search for each value.
    """
    distances.numpy().sort(axis=1)
    return torch.searchsorted(distances, own, right=True)


def counted_before(distances: Tensor, own: Tensor) -> Tensor:
    """The same for a GPU, by a binary search for each value among its r relevant ones: n·log₂ r comparisons.

    Args:
        own: ascending.
    """
    places = torch.searchsorted(own, distances)
    lanes = torch.arange(distances.shape[1], device=own.device) % COUNTERS
    places.mul_(COUNTERS).add_(lanes)
    totals = torch.zeros(len(own), (own.shape[1] + 1) * COUNTERS, dtype=torch.int32, device=own.device)
    totals.scatter_add_(1, places, torch.ones((), dtype=torch.int32, device=own.device).expand_as(places))
    return totals.view(len(own), -1, COUNTERS).sum(dim=2)[:, :-1].cumsum(dim=1)
