"""`unseen.power`: how large a study has to be to resolve a difference."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unseen.analyses.power.plans import Plans
    from unseen.studies.study import Study


def power(
    study: "Study | str | PathLike[str]",
    difference: float,
    *,
    backbones: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    probes: Sequence[str] | None = None,
    shots: int | str | None = None,
    power: float = 0.8,
    images: int | None = None,
    concepts: int | None = None,
    seeds: int | None = None,
) -> "Plans":
    """Plan how many test images, concepts or seeds would resolve a difference.

    Args:
        study: a run, or its folder, as the pilot; or a study that was not run, planned from typical variances of small
            networks on drawings.
        difference: the smallest true difference that matters: 0.005 is half a point of an accuracy.
        backbones: of a run, the two to compare; by default the mean over all pairs.
        datasets, probes: only these; by default all.
        shots: one number, or "all"; by default the most of each probe.
        power: probability of resolving the difference.
        images: test images per concept, or in all where classes are fixed; by default as in the study.
        concepts, seeds: their numbers; by default as in the study.

    Returns:
        The plans, with `.to_frame()`, and `.every`, each of which has `.sentences` and `.curve("concepts")`.

    Example:
        >>> plan = unseen.power("cog-v2", 0.005, seeds=3).every[0]
        >>> plan.size
        '1,000 concepts × 50 test images, 3 seeds'
    """
    from unseen.analyses.power.planning import plan_power

    return plan_power(
        study, difference, backbones=backbones, datasets=datasets, probes=probes, shots=shots, power=power,
        images=images, concepts=concepts, seeds=seeds,
    )  # fmt: skip
