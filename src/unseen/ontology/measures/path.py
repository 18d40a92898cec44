"""Path similarity."""

import numpy as np

from unseen.ontology.common_ancestors import shortest_paths
from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def path(space: Space, rows: Ints, columns: Ints) -> Floats:
    """1 / (1 + d), with d the edges on the shortest path from a up to a common ancestor and down to b; in (0, 1]."""
    return 1.0 / (1.0 + shortest_paths(space.taxonomy, rows, columns).astype(np.float64))


MEASURE = Measure(
    name="path",
    title="Path",
    formula="1 / (1 + d(a, b))",
    citation="Rada et al. 1989, Development and application of a metric on semantic nets",
    uses="paths",
    matrix=path,
)
