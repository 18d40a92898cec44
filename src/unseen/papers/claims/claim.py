"""A claim of a paper, the verdict on it, and the rule for verdicts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from unseen.papers.claims.printed import Printed

Verdict = Literal["holds", "holds with exceptions", "not what the tables say", "not in the tables"]


@dataclass(frozen=True)
class Finding:
    """A verdict and the numbers behind it."""

    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Claim:
    """One statement of a paper.

    Attributes:
        id: the paper's short name and our name for the claim.
        section: section of the paper.
        says: the statement, in our words.
        judge: the verdict given by printed numbers; another table may give another.
    """

    id: str
    section: str
    says: str
    judge: Callable[[Printed], Finding]


def not_printed(why: str) -> Callable[[Printed], Finding]:
    """The judge of a claim whose numbers are in no table."""
    return lambda _: Finding("not in the tables", why)


def decide(exceptions: int, cases: int) -> Verdict:
    """The verdict on a statement about many cases: it is wrong unless fewer than half of them are exceptions."""
    if not exceptions:
        return "holds"
    return "holds with exceptions" if 2 * exceptions < cases else "not what the tables say"
