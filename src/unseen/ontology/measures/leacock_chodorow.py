"""Leacock-Chodorow similarity."""

import numpy as np

from unseen.errors import UserError
from unseen.ontology.common_ancestors import shortest_paths
from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def leacock_chodorow(space: Space, rows: Ints, columns: Ints) -> Floats:
    """−ln((1 + d) / 2D), with d the edges on the shortest path and D the taxonomy's depth in edges (19 for WordNet)."""
    deepest = int(space.taxonomy.depth.max())
    if deepest == 0:
        raise UserError("Leacock-Chodorow needs a taxonomy with at least one edge")
    nodes = 1.0 + shortest_paths(space.taxonomy, rows, columns).astype(np.float64)
    value: Floats = np.log(2.0 * deepest) - np.log(nodes)
    return value


MEASURE = Measure(
    name="leacock-chodorow",
    title="Leacock-Chodorow",
    formula="−ln((1 + d(a, b)) / 2D)",
    citation="Leacock and Chodorow 1998, Combining local context and WordNet similarity for word sense identification",
    uses="paths",
    matrix=leacock_chodorow,
)
