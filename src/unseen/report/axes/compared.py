"""What runs can compare on the same test images, for the ranks across axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.papers.concept_generalization import DOMAINS
from unseen.runs.data import RunData

if TYPE_CHECKING:
    from unseen.analyses.axes.compared_pairs import ComparedPairs
    from unseen.analyses.core.comparable import Comparable


def compared_concepts(data: RunData, names: Sequence[str], seen: str) -> "dict[str, ComparedPairs]":
    """`seen` and `levels` → comparisons of the linear probe with all images, if results keep what they need.

    Args:
        names: the backbones.
        seen: name of the seen domain.
    """
    from unseen.analyses.axes.compared import compared_means
    from unseen.analyses.core.comparables import comparables

    every = comparables(data, shots={"logistic": None}, backbones=names).every
    each = {"seen": compared_means(names, [seen], every), "levels": compared_means(names, DOMAINS[1:], every)}
    return {name: pairs for name, pairs in each.items() if pairs}


def compared_tasks(runs: "Sequence[tuple[str, RunData]]") -> "list[Comparable]":
    """What named runs of tasks can compare, with every number of shots.

    Runs that cannot be merged, for instance since a probe has other settings, have nothing to compare.
    """
    if not runs:
        return []
    from unseen.analyses.core.comparables import comparables
    from unseen.runs.merge import merge_runs

    try:
        data = merge_runs(runs)
    except UserError:
        return []
    shots = dict[int | None, dict[str, int | None]]()
    for score in data.scores:
        shots.setdefault(score.shots, {})[score.probe] = score.shots
    return [each for probes in shots.values() for each in comparables(data, shots=probes).every]
