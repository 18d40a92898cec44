"""Which rows of a gallery are relevant for a query, and which count neither for nor against it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from unseen.probes.neighbours import NOBODY


class Relevance(Protocol):
    """Answers for some queries at a time; rows of different lengths end with `NOBODY`."""

    @property
    def counts(self) -> Tensor:
        """(m,) number of relevant rows of each query."""

    def relevant(self, queries: Tensor) -> Tensor:
        """(b, r) indices of the relevant rows of these queries."""

    def ignored(self, queries: Tensor) -> Tensor:
        """(b, j) indices of the rows that are removed from their rankings; none of them is relevant."""


@dataclass(frozen=True, eq=False)
class SameClass:
    """The images of the query's class.

    Attributes:
        y: (m,) class indices of the queries, from 0.
        y_gallery: (n,) those of the gallery, on the same device.
        leave_one_out: whether the gallery is the queries themselves; a query is then removed from its own ranking.
    """

    y: Tensor
    y_gallery: Tensor
    leave_one_out: bool

    @cached_property
    def sizes(self) -> Tensor:
        """(classes,) gallery rows of each class."""
        classes = 1 + int(torch.maximum(self.y.max(), self.y_gallery.max()))
        return self.y_gallery.bincount(minlength=classes)

    @cached_property
    def counts(self) -> Tensor:
        return self.sizes[self.y] - int(self.leave_one_out)

    @cached_property
    def _by_class(self) -> Tensor:
        """The gallery rows, class by class."""
        return self.y_gallery.argsort(stable=True)

    def relevant(self, queries: Tensor) -> Tensor:
        own = self.y[queries]
        sizes, starts = self.sizes[own], (self.sizes.cumsum(0) - self.sizes)[own]
        place = torch.arange(int(sizes.max()), device=queries.device)
        rows = self._by_class[(starts[:, None] + place).clamp(max=len(self.y_gallery) - 1)]
        absent = place >= sizes[:, None]
        if self.leave_one_out:
            absent |= rows == queries[:, None]
        return rows.masked_fill_(absent, NOBODY)

    def ignored(self, queries: Tensor) -> Tensor:
        return queries[:, None] if self.leave_one_out else queries.new_empty(len(queries), 0)


@dataclass(frozen=True, eq=False)
class Listed:
    """Relevant and ignored rows as they are marked, (n, m) booleans each."""

    marked: Tensor
    removed: Tensor

    @property
    def counts(self) -> Tensor:
        return self.marked.sum(dim=0)

    def relevant(self, queries: Tensor) -> Tensor:
        return _rows(self.marked[:, queries])

    def ignored(self, queries: Tensor) -> Tensor:
        return _rows(self.removed[:, queries])


def _rows(marked: Tensor) -> Tensor:
    """(b, r) indices of the marked rows of each of b columns."""
    found: Sequence[Tensor] = [torch.where(column)[0] for column in marked.T]
    return torch.nn.utils.rnn.pad_sequence(list(found), batch_first=True, padding_value=NOBODY)


def in_blocks(relevance: Relevance, query_bytes: int, relevant_bytes: int, budget: int) -> Iterator[Tensor]:
    """The queries that have relevant rows, in blocks of similar numbers of them that need at most so many bytes.

    Args:
        query_bytes, relevant_bytes: bytes per query, and per query and relevant row.
    """
    counts = relevance.counts
    order = counts.argsort(stable=True)
    order = order[counts[order] > 0]
    sizes, start = counts[order].tolist(), 0
    while start < len(order):
        stop = start + 1
        # Rows are padded to the longest of a block, which is its last.
        while stop < len(order) and (stop + 1 - start) * (query_bytes + relevant_bytes * (sizes[stop] + 1)) <= budget:
            stop += 1
        yield order[start:stop]
        start = stop
