"""A taxonomy of concepts as arrays: any directed acyclic graph in which edges lead from child to parent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean

Ints = NDArray[np.int32]
ADDED_ROOT = "(root)"


@dataclass(frozen=True, eq=False)
class Ancestry:
    """All ancestors of every node, the node itself included, in compressed rows.

    Row i is `node[start[i]:start[i + 1]]`, ascending; `distance` is the least number of edges from i up to it.
    """

    start: Ints
    node: Ints
    distance: Ints

    def rows(self, nodes: Ints) -> tuple[Ints, Ints, Ints]:
        """The entries of several rows: (position in `nodes`, ancestor, distance), each 1-D."""
        lengths = self.start[nodes + 1] - self.start[nodes]
        owner = np.repeat(np.arange(len(nodes), dtype=np.int32), lengths)
        entry = _ranges(self.start[nodes], lengths)
        return owner, self.node[entry], self.distance[entry]


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """Concepts and their parents.

    Nodes are numbered in the order of `ids`. The parents of node i are `parents[parent_start[i]:parent_start[i + 1]]`.
    There is exactly one root: a graph with several gets one more node above them, `(root)`.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    parent_start: Ints
    parents: Ints

    @staticmethod
    def from_edges(edges: Iterable[tuple[str, str]], names: dict[str, str] | None = None) -> "Taxonomy":
        """Build from (child, parent) pairs of ids; an empty parent declares a concept without one.

        Nodes are sorted by id. A repeated pair, or a cycle, is an error. Several roots are joined under an added node
        `(root)`.
        """
        pairs = list(edges)
        if len(set(pairs)) < len(pairs):
            seen: set[tuple[str, str]] = set()
            twice = next(pair for pair in pairs if pair in seen or seen.add(pair))  # type: ignore[func-returns-value]
            raise UserError(f"the edge {twice[0]} → {twice[1]} is given twice; remove one")
        ids = sorted({node for pair in pairs for node in pair if node})
        if not ids:
            raise UserError("a taxonomy needs at least one concept")
        parents_of: dict[str, list[str]] = {node: [] for node in ids}
        for child, parent in pairs:
            if not child:
                raise UserError(f"an edge to {parent} has no child")
            if parent:
                parents_of[child].append(parent)
        roots = [node for node in ids if not parents_of[node]]
        if len(roots) > 1:
            if ADDED_ROOT in parents_of:
                raise UserError(f"the id {ADDED_ROOT} is reserved for the root added above several roots; rename it")
            for root in roots:
                parents_of[root].append(ADDED_ROOT)
            parents_of[ADDED_ROOT] = []
            ids = sorted(parents_of)
        position = {node: i for i, node in enumerate(ids)}
        lengths = [len(parents_of[node]) for node in ids]
        labels = names or {}
        taxonomy = Taxonomy(
            ids=tuple(ids),
            names=tuple(labels.get(node) or node for node in ids),
            parent_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            parents=np.array([position[parent] for node in ids for parent in parents_of[node]], dtype=np.int32),
        )
        _ = taxonomy.depth  # detects cycles here rather than at first use
        return taxonomy

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def position(self) -> dict[str, int]:
        """Node number of each id."""
        return {node: i for i, node in enumerate(self.ids)}

    def index(self, ids: Iterable[str], where: str = "the taxonomy") -> Ints:
        """Node numbers of several ids; `where` names the taxonomy in the error about an unknown id."""
        wanted = list(ids)
        try:
            return np.array([self.position[node] for node in wanted], dtype=np.int32)
        except KeyError:
            unknown = [node for node in wanted if node not in self.position]
            hint = did_you_mean(unknown[0], self.ids) if len(self) < 100_000 else ""
            more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            raise UserError(f"{unknown[0]}{more} is not in {where}{hint}") from None

    @cached_property
    def _by_depth(self) -> tuple[Ints, ...]:
        """Nodes grouped by the length of their longest path to the root."""
        child_of = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.parent_start))
        order = np.argsort(self.parents, kind="stable")
        children = child_of[order]
        child_start = np.searchsorted(self.parents[order], np.arange(len(self) + 1)).astype(np.int32)
        waiting = np.diff(self.parent_start).astype(np.int64)
        groups = [np.flatnonzero(waiting == 0).astype(np.int32)]
        while len(groups[-1]):
            last = groups[-1]
            reached = children[_ranges(child_start[last], child_start[last + 1] - child_start[last])]
            waiting -= np.bincount(reached, minlength=len(self))
            groups.append(np.unique(reached[waiting[reached] == 0]).astype(np.int32))
        if np.any(waiting > 0):
            raise UserError(f"the taxonomy has a cycle: {' → '.join(self._cycle(waiting > 0))}")
        return tuple(groups[:-1])

    def _cycle(self, stuck: NDArray[np.bool_]) -> list[str]:
        """One cycle among nodes that each have a parent among themselves."""
        node, path = int(np.flatnonzero(stuck)[0]), list[int]()
        while node not in path:
            path.append(node)
            above = self.parents[self.parent_start[node] : self.parent_start[node + 1]]
            node = int(above[stuck[above]][0])
        return [self.ids[i] for i in [*path[path.index(node) :], node]]

    @cached_property
    def depth(self) -> Ints:
        """Edges on the longest path from each node to the root."""
        depth = np.empty(len(self), dtype=np.int32)
        for level, nodes in enumerate(self._by_depth):
            depth[nodes] = level
        return depth

    @cached_property
    def min_depth(self) -> Ints:
        """Edges on the shortest path from each node to the root."""
        root = self._by_depth[0][0]
        distance: Ints = self.ancestry.distance[self.ancestry.node == root]
        return distance

    @cached_property
    def ancestry(self) -> Ancestry:
        """All ancestors of every node; computed once, level by level from the root down."""
        n = len(self)
        start = np.zeros(n, dtype=np.int64)
        length = np.zeros(n, dtype=np.int64)
        node, distance = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        for nodes in self._by_depth:
            count = self.parent_start[nodes + 1] - self.parent_start[nodes]
            child = np.repeat(nodes, count)
            parent = self.parents[_ranges(self.parent_start[nodes], count)]
            entry = _ranges(start[parent], length[parent])
            owner = np.concatenate([nodes, np.repeat(child, length[parent])])
            above = np.concatenate([nodes, node[entry]])
            steps = np.concatenate([np.zeros(len(nodes), dtype=np.int32), distance[entry] + 1])
            order = np.lexsort((steps, above, owner))
            owner, above, steps = owner[order], above[order], steps[order]
            first = np.ones(len(owner), dtype=bool)
            first[1:] = (owner[1:] != owner[:-1]) | (above[1:] != above[:-1])
            owner, above, steps = owner[first], above[first], steps[first]
            length[nodes] = np.diff(np.searchsorted(owner, np.append(nodes, n)))
            start[nodes] = len(node) + np.searchsorted(owner, nodes)
            node, distance = np.concatenate([node, above]), np.concatenate([distance, steps])
        entry = _ranges(start, length)
        return Ancestry(np.concatenate([[0], np.cumsum(length)]).astype(np.int32), node[entry], distance[entry])

    def descendant_counts(self, among: Ints | None = None) -> Ints:
        """For each node, the number of distinct nodes of `among` (default all) at or below it."""
        if among is None:
            above = self.ancestry.node
        else:
            _, above, _ = self.ancestry.rows(np.unique(among))
        return np.bincount(above, minlength=len(self)).astype(np.int32)

    def below(self, nodes: Ints) -> NDArray[np.bool_]:
        """Which nodes lie at or below any of `nodes`."""
        marked = np.zeros(len(self), dtype=bool)
        marked[nodes] = True
        hits = np.concatenate([[0], np.cumsum(marked[self.ancestry.node])])
        return np.diff(hits[self.ancestry.start]) > 0

    def above(self, nodes: Ints) -> NDArray[np.bool_]:
        """Which nodes are proper ancestors of any of `nodes`."""
        _, ancestors, distance = self.ancestry.rows(nodes)
        marked = np.zeros(len(self), dtype=bool)
        marked[ancestors[distance > 0]] = True
        return marked

    def closure(self, ids: Sequence[str], where: str = "the taxonomy") -> "Taxonomy":
        """The part of this taxonomy made of some concepts and all their ancestors; depths do not change."""
        wanted = np.zeros(len(self), dtype=bool)
        frontier = np.unique(self.index(ids, where))
        while len(frontier):
            wanted[frontier] = True
            count = self.parent_start[frontier + 1] - self.parent_start[frontier]
            parents = np.unique(self.parents[_ranges(self.parent_start[frontier], count)])
            frontier = parents[~wanted[parents]]
        kept = np.flatnonzero(wanted)
        number = np.full(len(self), -1, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        count = np.diff(self.parent_start)[kept]
        return Taxonomy(
            ids=tuple(self.ids[i] for i in kept),
            names=tuple(self.names[i] for i in kept),
            parent_start=np.concatenate([[0], np.cumsum(count)]).astype(np.int32),
            parents=number[self.parents[_ranges(self.parent_start[kept], count)]],
        )


def _ranges(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """The concatenation of arange(s, s + l) over pairs of `starts` and `lengths`."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts.astype(np.int64) - (ends - lengths), lengths)
