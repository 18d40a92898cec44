"""The scores of a study in trackers: the plan they receive, and how the work ended."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.errors import JobsError, OtherPartsError, UserError
from unseen.runs.parts import Part
from unseen.runs.record import RUN, note_not_logged
from unseen.studies.differences import setting_values
from unseen.studies.plan import Plan
from unseen.studies.study import Study
from unseen.trackers.tracker import LoggedPlan, Setting, Status
from unseen.trackers.trackers import Trackers

OF_A_RUN = re.compile(r"study(-\d+)?")
"""Names of studies that are read from the folder of a run, which say nothing."""


def logged_plan(study: Study, plan: Plan, out: Path, part: Part) -> LoggedPlan:
    """What trackers receive before the work; of a part, with the jobs of that part.

    Args:
        study: as it is kept in the folder of the run, with every setting.
    """
    share = plan.share(part)
    settings: dict[str, Setting] = {
        place: ", ".join(map(str, value)) if isinstance(value, list) else value
        for place, value in setting_values(study).items()
    }
    return LoggedPlan(
        study=_name(study) or plan.title,
        title=plan.title,
        folder=out,
        backbones=[*dict.fromkeys(str(row["backbone"]) for row in plan.parts if "backbone" in row)],
        jobs=share.jobs,
        jobs_left=share.jobs_left,
        settings=settings,
        part=part,
    )


def _name(study: Study) -> str:
    """The name of a study; of the file in the folder of a run, that of the shipped study that it follows."""
    return study.based_on or "" if OF_A_RUN.fullmatch(study.name) else study.name


@contextmanager
def tracked(trackers: Trackers, out: Path) -> Iterator[None]:
    """Tell trackers how the work inside ended; those that failed are named in the run."""
    if not trackers.chosen:
        yield
        return
    status: Status = "interrupted"
    failures = list[str]()
    try:
        yield
        status = "finished"
    except OtherPartsError:
        status = "finished"
        raise
    except UserError as error:
        status = "failed"
        failures += error.failures if isinstance(error, JobsError) else [str(error)]
        raise
    except Exception as error:
        status = "failed"
        failures.append(f"{type(error).__name__}: {error}")
        raise
    finally:
        reasons = trackers.end(status, failures)
        if (out / RUN).is_file():
            note_not_logged(out, reasons)
