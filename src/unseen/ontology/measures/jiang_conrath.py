"""Jiang-Conrath similarity."""

import numpy as np

from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def jiang_conrath(space: Space, rows: Ints, columns: Ints) -> Floats:
    """1 / (IC(a) + IC(b) − 2·IC(LCS)), from 0 upwards; infinite for a concept with itself.

    Zero with the root or with a concept that never occurs, as in NLTK (which writes 1e300 for infinity).
    """
    content = space.information
    a, b = content[rows][:, None], content[columns][None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = 1 / np.maximum(a + b - 2 * content[space.lowest_common(rows, columns)], 0.0)
    defined = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    return np.where(rows[:, None] == columns[None, :], np.inf, np.where(defined, value, 0.0))


MEASURE = Measure(
    name="jiang-conrath",
    title="Jiang-Conrath",
    formula="1 / (IC(a) + IC(b) − 2·IC(LCS))",
    citation="Jiang and Conrath 1997, Semantic similarity based on corpus statistics and lexical taxonomy",
    uses="information",
    matrix=jiang_conrath,
)
