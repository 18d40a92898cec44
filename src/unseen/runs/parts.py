"""Parts of a job array: the jobs of a study that each of several commands runs, on any machines.

All commands plan the same jobs and divide them in the same way, whether or not some are done, so they need not
communicate.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

from unseen.errors import UserError
from unseen.runs.execute import even, groups_of
from unseen.runs.pool import deal

J = TypeVar("J")
Part = tuple[int, int]
"""(k, n): the k-th of n parts, counted from 1."""
WHOLE: Part = (1, 1)


@dataclass(frozen=True)
class Load:
    """A planned job, as far as it decides which part of a job array runs it; see `own_jobs`.

    Attributes:
        left: whether the job has no result yet.
    """

    shared: Hashable
    cost: float
    left: bool


@dataclass(frozen=True)
class _Share(Generic[J]):
    """Jobs on the same features."""

    jobs: Sequence[J]
    cost: float


def parse_part(text: str) -> Part:
    """Parse a part such as `2/4`."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not found:
        raise UserError(f"--part must be two numbers, for instance 2/4 for the second of four, not '{text}'")
    return checked_part((int(found[1]), int(found[2])))


def checked_part(part: Part) -> Part:
    """Return the part, or refuse an invalid one."""
    if isinstance(part, str) or len(part) != 2:
        raise UserError(f"part must be two numbers, for instance (2, 4) for the second of four, not {part!r}")
    number, parts = part
    if not 1 <= number <= parts:
        raise UserError(f"part {number} of {parts}: the first number must be between 1 and the second")
    return part


def same_features(job: object) -> tuple[str, str]:
    """The backbone and the data set of a job, which jobs on the same features share."""
    return getattr(job, "backbone", ""), getattr(job, "dataset", "")


def own_jobs(
    jobs: Sequence[J],
    part: Part,
    cost: Callable[[J], float] = even,
    shared: Callable[[J], Hashable] = same_features,
) -> list[J]:
    """The jobs of one part, in order.

    Jobs that share something stay together, unless they are more than the fair share of a part.

    Args:
        cost: relative cost of a job, which must not depend on the machine.
        shared: what a job shares with others that is expensive to read or to compute.
    """
    number, parts = checked_part(part)
    if parts == 1:
        return list(jobs)
    fair = sum(map(cost, jobs)) / parts
    shares: list[_Share[J]] = []
    for group in groups_of(jobs, shared):
        pieces = min(len(group), max(1, ceil(sum(map(cost, group)) / fair))) if fair else 1
        shares += [_Share(piece, sum(map(cost, piece))) for piece in deal(group, cost, pieces)]
    own = {id(job) for share in deal(shares, lambda share: share.cost, parts)[number - 1] for job in share.jobs}
    return [job for job in jobs if id(job) in own]


def loads(
    jobs: Sequence[J],
    left: Sequence[J],
    cost: Callable[[J], float] = even,
    shared: Callable[[J], Hashable] = same_features,
) -> list[Load]:
    """The load of each job.

    Args:
        left: the jobs without a result, out of `jobs`.
        cost, shared: as in `own_jobs`.
    """
    todo = {id(job) for job in left}
    return [Load(shared(job), cost(job), id(job) in todo) for job in jobs]
