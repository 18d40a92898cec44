"""Lin similarity, the measure of the ImageNet-CoG levels."""

import numpy as np

from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def lin(space: Space, rows: Ints, columns: Ints) -> Floats:
    """2·IC(LCS) / (IC(a) + IC(b)), in [0, 1].

    A concept that never occurs (infinite IC) is similar only to itself; the same holds for the root, whose IC is 0.
    """
    content = space.information
    total = content[rows][:, None] + content[columns][None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = 2 * content[space.lowest_common(rows, columns)] / total
    return np.where(rows[:, None] == columns[None, :], 1.0, np.where(np.isfinite(value), value, 0.0))


MEASURE = Measure(
    name="lin",
    title="Lin",
    formula="2·IC(LCS) / (IC(a) + IC(b))",
    citation="Lin 1998, An information-theoretic definition of similarity",
    uses="information",
    matrix=lin,
)
