"""The planner: from a pilot run, or for a study that was not run yet."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from unseen.analyses.power.plans import Plans, Request, plan_from_run
from unseen.analyses.power.typical import plan_from_study
from unseen.errors import UserError, argument
from unseen.runs.record import RUN
from unseen.runs.shots import one_number_of_shots, parse_shots
from unseen.studies.study import Study
from unseen.studies.toml import find_study


def plan_power(
    run_or_study: Study | str | PathLike[str],
    difference: float,
    *,
    points: bool = False,
    backbones: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    probes: Sequence[str] | None = None,
    shots: int | str | None = None,
    power: float = 0.8,
    images: int | None = None,
    concepts: int | None = None,
    seeds: int | None = None,
) -> Plans:
    """Plan how many test images, concepts or seeds resolve a difference.

    Args:
        run_or_study: folder of a pilot run; or a study, its name or its file, planned from typical variances.
        difference: the smallest true difference that matters, in the unit of the score; of shares a fraction of 1.
        points: whether differences of shares are in percentage points instead.
        backbones: the two to compare; by default the mean over all pairs of the pilot.
        shots: one number, or "all"; by default the most of each probe.
        power: probability of resolving the difference.
        images, concepts, seeds: the size of the study, where it is not that of the pilot.
    """
    number = _one_number(shots)
    request = Request(difference, points, power, datasets, probes, images, concepts, seeds)
    folder = None if isinstance(run_or_study, Study) else Path(run_or_study)
    if folder is not None and (folder / RUN).is_file():
        return plan_from_run(folder, request, backbones=_two(backbones), shots=number)
    if folder is not None and folder.is_dir():
        raise UserError(f"{folder}: no {RUN} in it, so it is not the folder of a run")
    if backbones is not None:
        name = argument("backbone", python="backbones")
        raise UserError(f"{name} chooses backbones of a pilot run; a study that was not run has none")
    study = run_or_study if isinstance(run_or_study, Study) else find_study(fspath(run_or_study))
    return plan_from_study(study, request, shots=number)


def _two(backbones: Sequence[str] | None) -> Sequence[str] | None:
    if backbones is not None and (isinstance(backbones, str) or len({*backbones}) != 2 or len(backbones) != 2):
        name = argument("backbone", python="backbones")
        raise UserError(f"{name} takes the two backbones that are compared, not {backbones}")
    return backbones


def _one_number(shots: int | str | None) -> tuple[int | None] | None:
    """The number of shots in a tuple, where None is all; None for the most of each probe."""
    if shots is None:
        return None
    if not isinstance(shots, str):
        return (one_number_of_shots(shots),)
    numbers = parse_shots(shots, argument("shots"))
    if len(numbers) > 1:
        raise UserError(f"{argument('shots')} takes one number or all here, not {shots}; plan for one at a time")
    return (numbers[0],)
