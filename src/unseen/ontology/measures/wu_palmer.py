"""Wu-Palmer similarity."""

import numpy as np

from unseen.ontology.common_ancestors import lowest_common_ancestors, order_by_depth, shortest_paths
from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def wu_palmer(space: Space, rows: Ints, columns: Ints) -> Floats:
    """2·D / (2·D + d(a, LCS) + d(b, LCS)), with D the nodes on the longest path from the LCS to the root; in (0, 1].

    As in NLTK, regardless of the space's own rule, the LCS is the common ancestor whose shortest path to the root is
    longest, with ties broken by name unless a itself is among them (so the values for (a, b) and (b, a) may differ
    under multiple inheritance); d is the shortest path, which may pass above the LCS.
    """
    taxonomy = space.taxonomy
    lowest = lowest_common_ancestors(taxonomy, rows, columns, order_by_depth(taxonomy, taxonomy.min_depth))
    own = np.zeros((len(rows), len(columns)), dtype=bool)
    place = {int(node): i for i, node in enumerate(rows)}
    column, above, _ = taxonomy.ancestry.rows(columns)
    for c, node in zip(column.tolist(), above.tolist(), strict=True):
        if node in place:
            own[rows == node, c] = True
    own &= taxonomy.min_depth[rows][:, None] == taxonomy.min_depth[lowest]
    lowest = np.where(own, rows[:, None], lowest)
    met, where = np.unique(lowest, return_inverse=True)
    where = where.reshape(lowest.shape)
    up = shortest_paths(taxonomy, rows, met)[np.arange(len(rows))[:, None], where]
    down = shortest_paths(taxonomy, columns, met)[np.arange(len(columns))[None, :], where]
    depth = taxonomy.depth[lowest] + 1.0
    return 2 * depth / (2 * depth + up + down)


MEASURE = Measure(
    name="wu-palmer",
    title="Wu-Palmer",
    formula="2·D(LCS) / (2·D(LCS) + d(a, LCS) + d(b, LCS))",
    citation="Wu and Palmer 1994, Verb semantics and lexical selection",
    uses="paths",
    matrix=wu_palmer,
)
