"""Resnik similarity."""

import numpy as np

from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def resnik(space: Space, rows: Ints, columns: Ints) -> Floats:
    """IC(LCS), in nats, from 0 upwards; 0 if the LCS has no occurrences, since nothing is known then."""
    value = space.information[space.lowest_common(rows, columns)]
    return np.where(np.isfinite(value), value, 0.0)


MEASURE = Measure(
    name="resnik",
    title="Resnik",
    formula="IC(LCS)",
    citation="Resnik 1995, Using information content to evaluate semantic similarity in a taxonomy",
    uses="information",
    matrix=resnik,
)
