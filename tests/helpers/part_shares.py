"""What the parts of a job array plan, beside what they do."""

from pathlib import Path
from typing import Any

from studies import given_of
from unseen.runs.means import ALONE
from unseen.runs.parts import own_jobs
from unseen.studies.run import plan_study
from unseen.studies.stages import open_study
from unseen.studies.study import Study
from unseen.studies.watch import Silent


def planned_and_prepared(study: Study, out: Path, parts: int, **more: Any) -> tuple[list[int], list[int]]:
    """The number of jobs of each part, in the plan before there are any features and when they are there.

    Args:
        more: what the study is run with, as for `given_of`.
    """
    study, given = given_of(study, **more)
    plan = plan_study(study, given, out)
    [stage] = open_study(study, given, ALONE, Silent()).stages
    found = stage.prepare(out, ALONE, Silent()).cells
    numbers = [(number, parts) for number in range(1, parts + 1)]
    shares = [plan.share(part) for part in numbers]
    assert [share.jobs_left for share in shares] == [share.jobs for share in shares]
    assert sum(share.seconds for share in shares) > 0.999 * plan.probing
    own = [len(own_jobs(found.jobs, part, found.cost, found.shared)) for part in numbers]
    return [share.jobs for share in shares], own
