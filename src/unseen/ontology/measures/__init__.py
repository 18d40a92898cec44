"""Semantic similarities, one file each: every module here that defines `MEASURE` is a measure, found by its name."""

from collections.abc import Sequence
from functools import cache

from unseen.errors import look_up
from unseen.extension.plugins import plugins
from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space


@cache
def all_measures() -> dict[str, Measure]:
    """Every measure by name, in alphabetical order."""
    measures: list[Measure] = plugins(__name__, "MEASURE")
    return {measure.name: measure for measure in sorted(measures, key=lambda measure: measure.name)}


def get_measure(name: str) -> Measure:
    """The measure of that name; an unknown name is a user error."""
    return look_up(all_measures(), name, "measure")


def similarity_matrix(space: Space, rows: Sequence[str], columns: Sequence[str], measure: str = "lin") -> Floats:
    """(len(rows), len(columns)) similarities between concepts given by id."""
    return get_measure(measure).matrix(space, space.taxonomy.index(rows), space.taxonomy.index(columns))


def similarity(space: Space, a: str, b: str, measure: str = "lin") -> float:
    """The similarity of two concepts given by id."""
    return float(similarity_matrix(space, [a], [b], measure)[0, 0])
