"""What the inputs of probes have in common: each plans its cells, and prepares the jobs that compute them."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from unseen.probes.job import Job
from unseen.runs.data import RunData
from unseen.runs.execute import even
from unseen.runs.means import Means
from unseen.runs.parts import same_features
from unseen.runs.setup import Setup
from unseen.studies.plan import Plan
from unseen.studies.watch import Watch


@dataclass(frozen=True)
class Prepared:
    """The cells of an input with everything that their jobs read.

    Attributes:
        run: the record of these cells, without their scores.
        jobs: all jobs of the record, including those with a result.
        work: takes jobs, the folder of results and the hardware, runs the missing jobs and yields each when it is done.
        seconds: takes the same, and estimates the seconds of the missing jobs.
        write_beside: writes additional files into the folder of the run, which is locked meanwhile.
        cost: relative cost of a job, to divide jobs fairly into parts of a job array; equal on every machine.
        shared: what a job shares with others that should be in the same part.
        expanded: adds the jobs that these need and that are no cells themselves.
        failures: sentences about cells that cannot be computed, said when all others are done.
    """

    run: RunData
    jobs: Sequence[Job]
    work: Callable[[Sequence[Job], Path, Means], Iterator[Job]]
    seconds: Callable[[Sequence[Job], Path, Means], float]
    write_beside: Callable[[Path], None] = lambda folder: None
    cost: Callable[[Job], float] = even
    shared: Callable[[Job], Hashable] = same_features
    expanded: Callable[[Sequence[Job], Path], list[Job]] = lambda jobs, results: list(jobs)
    failures: Sequence[str] = ()


class Stage(Protocol):
    """The cells of one input of a study."""

    def setup(self) -> Setup:
        """Everything that determines their numbers, as far as it is known before features are extracted."""

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work in a folder."""

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """Extract missing features, and make the jobs."""
