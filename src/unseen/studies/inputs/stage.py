"""What the inputs of probes have in common: each plans its cells, and prepares the jobs that compute them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from unseen.features.disk import free_disk
from unseen.probes.job import Job
from unseen.runs.data import Axis, RunData
from unseen.runs.execute import even
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.parts import loads, same_features
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import Setup
from unseen.studies.opened import OpenedData
from unseen.studies.plan import Cell, Plan
from unseen.studies.record import Measured, run_record, run_title
from unseen.studies.study import Study
from unseen.studies.watch import Watch


def _as_they_are(jobs: Sequence[Job], results: Path) -> list[Job]:
    return list(jobs)


@dataclass(frozen=True)
class Cells:
    """The jobs of an input, with what it takes to estimate them and to divide them among the parts of a job array.

    Attributes:
        jobs: all jobs of the record, including those with a result. If features are still to be extracted, their hashes
            in `reads` are empty.
        seconds: estimates the seconds of some of them that have no result.
        cost: relative cost of a job, equal on every machine.
        shared: what a job shares with others that should be in the same part.
        expanded: adds the jobs that these need and that are no cells themselves; takes the folder of results.
    """

    jobs: Sequence[Job]
    seconds: Callable[[Sequence[Job]], float]
    cost: Callable[[Job], float] = even
    shared: Callable[[Job], Hashable] = same_features
    expanded: Callable[[Sequence[Job], Path], list[Job]] = _as_they_are


@dataclass(frozen=True)
class Planned:
    """The cells of an input before any work.

    Attributes:
        rows: the rows of the plan.
        notices: requested work that cannot be done.
        extraction: estimated seconds for missing features.
        disk: bytes still to be written.
        memory: counts the bytes needed for the largest job; called if one is missing, since it may take PyTorch.
    """

    cells: Cells
    rows: Sequence[Mapping[str, Cell]]
    notices: Sequence[Notice] = ()
    extraction: float = 0.0
    disk: int = 0
    memory: Callable[[], int] = int


@dataclass(frozen=True)
class Prepared:
    """The cells of an input with everything that their jobs read.

    Attributes:
        run: the record of these cells, without their scores.
        work: runs the missing ones of some jobs, and yields each when it is done.
        write_beside: writes additional files into the folder of the run, which is locked meanwhile.
        failures: sentences about cells that cannot be computed, said when all others are done.
    """

    cells: Cells
    run: RunData
    work: Callable[[Sequence[Job]], Iterator[Job]]
    write_beside: Callable[[Path], None] = lambda folder: None
    failures: Sequence[str] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Stage(ABC):
    """The cells of one input of a study.

    Attributes:
        top1: known ImageNet accuracies of backbones, between 0 and 1.
        alone: whether jobs run one after another, in one process.
        extracting: whether the jobs extract the features themselves, so that their seconds include it.
    """

    study: Study
    opened: OpenedData
    top1: Mapping[str, float] = field(default_factory=dict)
    alone: ClassVar[bool] = False
    extracting: ClassVar[bool] = False

    @property
    def axis(self) -> Axis:
        """What is measured, for the title of a study without one."""
        return "tasks"

    @property
    def stores(self) -> bool:
        """Whether features are extracted into the folder of the run."""
        return False

    @abstractmethod
    def measured(self) -> Measured:
        """What is recorded of its cells, as far as it is known before features are extracted."""

    @abstractmethod
    def planned(self, out: Path, means: Means) -> Planned:
        """Its cells with the work that they need; nothing is extracted."""

    @abstractmethod
    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """Extract missing features, and make the jobs."""

    def setup(self) -> Setup:
        """Everything that determines its numbers, to compare with the run in a folder before any work."""
        return self.recorded(self.measured()).setup

    def recorded(self, measured: Measured) -> RunData:
        """The record of its cells, without their scores."""
        return run_record(self.study, self.opened, measured, self.top1)

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work in a folder."""
        planned, results = self.planned(out, means), out / RESULTS
        cells = planned.cells
        jobs = cells.expanded(cells.jobs, results)
        left = without_result(jobs, results)
        return Plan(
            run_title(self.study, [self.axis]),
            planned.rows,
            len(jobs),
            len(left),
            extraction=planned.extraction,
            probing=cells.seconds(left) - (planned.extraction if self.extracting else 0.0),
            disk=planned.disk,
            free=free_disk(out) if self.stores else 0,
            memory=planned.memory() if left else 0,
            alone=self.alone,
            extracting=self.extracting,
            loads=loads(jobs, left, cells.cost if left else even, cells.shared),  # counting costs takes PyTorch
            notices=[*self.opened.absent, *planned.notices],
        )


def without_result(jobs: Sequence[Job], results: Path) -> list[Job]:
    """The jobs without a result, including those on missing features."""
    ready = [job for job in jobs if all(job.reads.values())]
    return [job for job in jobs if not all(job.reads.values())] + missing(ready, results)
