"""Parts of a job array: which jobs of a study each of several commands does, on whatever machines they run.

All of them plan the same jobs and divide them in the same way, whether or not some are done, so they need not talk to
each other.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

from unseen.errors import UserError
from unseen.runs.execute import even
from unseen.runs.pool import deal

J = TypeVar("J")
Part = tuple[int, int]
"""(k, n): the k-th of n parts, from 1 on."""
WHOLE: Part = (1, 1)


@dataclass(frozen=True)
class _Share(Generic[J]):
    """Jobs on the same features."""

    jobs: Sequence[J]
    cost: float


def parse_part(text: str) -> Part:
    """The part that `2/4` stands for."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not found:
        raise UserError(f"--part is two numbers, for instance 2/4 for the second of four, not '{text}'")
    return checked_part((int(found[1]), int(found[2])))


def checked_part(part: Part) -> Part:
    """The same part, if there can be such a one."""
    number, parts = part
    if not 1 <= number <= parts:
        raise UserError(f"part {number} of {parts}: parts are counted from 1 to their number")
    return part


def same_features(job: object) -> tuple[str, str]:
    """What jobs have in common that work on the same features: a backbone and a domain."""
    return getattr(job, "backbone", ""), getattr(job, "domain", "")


def own_jobs(
    jobs: Sequence[J],
    part: Part,
    cost: Callable[[J], float] = even,
    shared: Callable[[J], Hashable] = same_features,
) -> list[J]:
    """The jobs of one part, in order.

    Jobs that share something stay together, unless they are more than a part's fair share.

    Args:
        cost: of a job, which must not depend on the machine.
        shared: what a job has in common with others, which takes time to read or to make.
    """
    number, parts = checked_part(part)
    if parts == 1:
        return list(jobs)
    groups: dict[Hashable, list[J]] = {}
    for job in jobs:
        groups.setdefault(shared(job), []).append(job)
    fair = sum(map(cost, jobs)) / parts
    shares: list[_Share[J]] = []
    for group in groups.values():
        pieces = min(len(group), max(1, ceil(sum(map(cost, group)) / fair))) if fair else 1
        shares += [_Share(piece, sum(map(cost, piece))) for piece in deal(group, cost, pieces)]
    own = {id(job) for share in deal(shares, lambda share: share.cost, parts)[number - 1] for job in share.jobs}
    return [job for job in jobs if id(job) in own]
