"""What the parts of a job array plan, beside what they do."""

from pathlib import Path

from unseen.runs.means import ALONE
from unseen.runs.parts import own_jobs
from unseen.studies.study import Request, Silent, plan_study


def planned_and_prepared(request: Request, out: Path, parts: int) -> tuple[list[int], list[int]]:
    """The number of jobs of each part, in the plan before there are any features and when they are there."""
    plan = plan_study(request, out)
    found = request.prepare(out, ALONE, Silent())
    numbers = [(number, parts) for number in range(1, parts + 1)]
    shares = [plan.share(part) for part in numbers]
    assert [share.jobs_left for share in shares] == [share.jobs for share in shares]
    assert sum(share.seconds for share in shares) > 0.999 * plan.probing
    own = [len(own_jobs(found.jobs, part, found.cost, found.shared)) for part in numbers]
    return [share.jobs for share in shares], own
