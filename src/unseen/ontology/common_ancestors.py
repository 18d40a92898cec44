"""Lowest common ancestors and shortest paths for whole matrices of concept pairs.

Both visit each common ancestor once and write the block of pairs below it: the work is the sum, over pairs, of their
number of common ancestors (about 6 in WordNet), as array writes instead of a Python loop over pairs.
"""

from collections.abc import Iterator

import numpy as np

from unseen.ontology.information import Floats
from unseen.ontology.taxonomy import Ints, Taxonomy


def _blocks(
    taxonomy: Taxonomy, rows: Ints, columns: Ints, order: Ints
) -> Iterator[tuple[int, tuple[Ints, Ints], tuple[Ints, Ints]]]:
    """Per common ancestor, by ascending `order`: (ancestor, (rows below, distances), (columns below, distances))."""
    row, row_above, row_distance = taxonomy.ancestry.rows(rows)
    column, column_above, column_distance = taxonomy.ancestry.rows(columns)
    shared = np.intersect1d(row_above, column_above)
    rank = np.full(len(taxonomy), -1, dtype=np.int64)
    rank[shared[np.argsort(order[shared], kind="stable")]] = np.arange(len(shared))
    by_rank = np.argsort(rank, kind="stable")[len(taxonomy) - len(shared) :]

    def grouped(member: Ints, above: Ints, distance: Ints) -> tuple[Ints, Ints, Ints]:
        kept = np.flatnonzero(rank[above] >= 0)
        kept = kept[np.argsort(rank[above[kept]], kind="stable")]
        ends = np.searchsorted(rank[above[kept]], np.arange(len(shared) + 1)).astype(np.int32)
        return member[kept], distance[kept], ends

    row, row_distance, row_end = grouped(row, row_above, row_distance)
    column, column_distance, column_end = grouped(column, column_above, column_distance)
    for i, node in enumerate(by_rank.tolist()):
        r, c = slice(row_end[i], row_end[i + 1]), slice(column_end[i], column_end[i + 1])
        yield node, (row[r], row_distance[r]), (column[c], column_distance[c])


def lowest_common_ancestors(taxonomy: Taxonomy, rows: Ints, columns: Ints, order: Ints) -> Ints:
    """(len(rows), len(columns)): the common ancestor of each pair that is last in `order` (a rank per node)."""
    lowest = np.full((len(rows), len(columns)), -1, dtype=np.int32)
    for node, (r, _), (c, _) in _blocks(taxonomy, rows, columns, order):
        lowest[np.ix_(r, c)] = node
    return lowest


def shortest_paths(taxonomy: Taxonomy, rows: Ints, columns: Ints) -> Ints:
    """(len(rows), len(columns)): edges on the shortest path between each pair that goes up, then down."""
    lengths = np.full((len(rows), len(columns)), np.iinfo(np.int32).max, dtype=np.int32)
    for _, (r, up), (c, down) in _blocks(taxonomy, rows, columns, taxonomy.depth):
        block = np.ix_(r, c)
        lengths[block] = np.minimum(lengths[block], up[:, None] + down[None, :])
    return lengths


def order_by_depth(taxonomy: Taxonomy, depth: Ints | None = None) -> Ints:
    """Rank of every node by depth (default the longest path); among ties, the alphabetically first name wins."""
    return _rank(taxonomy, taxonomy.depth if depth is None else depth)


def order_by_information(taxonomy: Taxonomy, information: Floats) -> Ints:
    """Rank of every node by information content; among ties, the alphabetically first name wins."""
    return _rank(taxonomy, information)


def _rank(taxonomy: Taxonomy, key: Ints | Floats) -> Ints:
    names = np.argsort(np.argsort(np.array(taxonomy.names), kind="stable"), kind="stable")
    rank = np.empty(len(taxonomy), dtype=np.int32)
    rank[np.lexsort((-names, key))] = np.arange(len(taxonomy), dtype=np.int32)
    return rank
