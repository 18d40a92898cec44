"""The common structure of all studies: request → plan → features → jobs → scores.

A request describes a study. It can estimate the work (`Plan`) and prepare the data of its jobs (`Prepared`). Everything
else is here, once for all studies: the run on disk, the missing jobs, resuming. The command line and the Python API
call the same functions with a different `Watch`.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from unseen.errors import JobsError, OtherPartsError
from unseen.features.disk import refuse_full_disk
from unseen.files import check_writable, remove_unfinished
from unseen.probes.job import Job
from unseen.reading.json_records import plain
from unseen.runs.data import RunData
from unseen.runs.execute import even
from unseen.runs.lock import folder_lock
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice
from unseen.runs.parts import WHOLE, Load, Part, own_jobs, same_features
from unseen.runs.record import MEASURED, RUN, extend_run, note_failures, read_record, read_run, with_scores, write_run
from unseen.runs.results import RESULTS, missing, read_all
from unseen.runs.scores import result_scores
from unseen.text.notebook import table_html

if TYPE_CHECKING:
    import pandas as pd

    from unseen.features.progress import Progress

T = TypeVar("T")
Cell = str | int | float
Unit = Literal["bytes", "share"]


@dataclass(frozen=True)
class Share:
    """The work of one part of a job array.

    Attributes:
        jobs, jobs_left: number of its jobs, and of those without a result.
        seconds: estimated seconds for the latter.
    """

    jobs: int
    jobs_left: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """The work of a study, with estimates of time, disk space and memory.

    Attributes:
        title: title of the study.
        parts: one per domain, data set or training: column → name or number. All have the same columns.
        units: units of the columns with bytes, or with shares between 0 and 1.
        counting: how the number of jobs is composed, such as "2 backbones × 3 domains = 6 regressions".
        jobs, jobs_left: number of all jobs, and of those without a result.
        extraction, probing: estimated seconds for the missing features and for the missing jobs.
        disk, free: bytes still to be written, and bytes free on the disk; 0 if nothing is extracted.
        memory: bytes needed for the largest part; 0 if not estimated.
        alone: whether jobs run one after another, in one process.
        extracting: whether the jobs extract the features themselves, so that a part of them extracts only its own.
        loads: what decides which part of a job array runs each job.
        notices: requested work that cannot be done.
    """

    title: str
    parts: Sequence[Mapping[str, Cell]]
    jobs: int
    jobs_left: int
    units: Mapping[str, Unit] = field(default_factory=dict)
    counting: str = ""
    extraction: float = 0.0
    probing: float = 0.0
    disk: int = 0
    free: int = 0
    memory: int = 0
    alone: bool = False
    extracting: bool = False
    loads: Sequence[Load] = ()
    notices: Sequence[Notice] = ()

    def share(self, part: Part) -> Share:
        """The work of a part of a job array: (2, 4) for the second of four."""
        own = own_jobs(self.loads, part, lambda load: load.cost, lambda load: load.shared)
        left, all_left = ([load.cost for load in of if load.left] for of in (own, self.loads))
        seconds = self.probing + (self.extraction if self.extracting else 0.0)
        return Share(len(own), len(left), seconds * sum(left) / sum(all_left) if sum(all_left) else 0.0)

    def to_frame(self) -> "pd.DataFrame":
        """One row per part."""
        import pandas as pd

        return pd.DataFrame([dict(part) for part in self.parts])

    def __repr__(self) -> str:
        return f"Plan({self.title!r}: {len(self.parts)} parts, {self.jobs_left} of {self.jobs} jobs to do)"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame())


class Stepping(Protocol):
    """Called with the number of every step of a long computation, and a detail such as its loss."""

    def __call__(self, step: int, detail: str = "") -> None: ...


class Watch(Protocol):
    """Receives the progress of a study, which commands print and notebooks show as bars.

    It may be pickled for processes that run jobs, which only call `tell`.
    """

    def planned(self, plan: Plan) -> None:
        """Called with the plan before the work starts."""

    def tell(self, sentence: str) -> None:
        """Called with a message for the user."""

    def extracting(self, domain: str, split: str) -> "Callable[[Progress], None]":
        """A function to call with the progress of the extraction of a split."""

    def stepping(self, what: str, total: int) -> Stepping:
        """A function to call with the number of every step of a long computation, such as a training."""

    def started(self, left: int, jobs: int, seconds: float) -> None:
        """Called with the number of missing jobs, of all jobs, and the estimated seconds."""

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        """Yields items when they are done; `total` is their number, if known."""


class Silent:
    """A watch that shows nothing."""

    def planned(self, plan: Plan) -> None:
        pass

    def tell(self, sentence: str) -> None:
        pass

    def extracting(self, domain: str, split: str) -> "Callable[[Progress], None]":
        return lambda progress: None

    def stepping(self, what: str, total: int) -> Stepping:
        return lambda step, detail="": None

    def started(self, left: int, jobs: int, seconds: float) -> None:
        pass

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        yield from items


@dataclass(frozen=True)
class Prepared:
    """A study with its features.

    Attributes:
        run: the record of the run, without its scores.
        jobs: all jobs, including those with a result.
        work: takes jobs, the folder of results and the hardware, runs the missing jobs and yields each when it is done.
        seconds: takes the same, and estimates the seconds of the missing jobs.
        write_beside: writes additional files into the folder of the run, which is locked meanwhile.
        records_itself: whether `work` writes the run, job by job, since a job replaces an earlier one. Other runs are
            written after the first result, so that a folder is not bound to settings that give none.
        replaces: whether the run replaces a run in its folder with other features or another protocol, instead of being
            refused; it is added to a run with the same ones.
        cost: relative cost of a job, to divide jobs fairly into parts of a job array.
        shared: what a job shares with others that should be in the same part.
    """

    run: RunData
    jobs: Sequence[Job]
    work: Callable[[Sequence[Job], Path, Means], Iterator[Job]]
    seconds: Callable[[Sequence[Job], Path, Means], float]
    write_beside: Callable[[Path], None] = lambda folder: None
    records_itself: bool = False
    replaces: bool = False
    cost: Callable[[Job], float] = even
    shared: Callable[[Job], Hashable] = same_features


class Request(Protocol):
    """A request for a study; every study has its own frozen dataclass."""

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work in a folder; a folder with another run is refused."""

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """Extract the missing features, or open existing ones."""


def plan_study(request: Request, out: Path, *, means: Means = ALONE) -> Plan:
    """Plan a study without running anything."""
    check_writable(out)
    return request.plan(out, means)


def plan_of_run(folder: Path) -> Plan:
    """The finished and missing jobs of a run: one part per backbone, domain and probe, with its finished jobs."""
    data, keys = read_record(folder)
    results = read_all(folder / RESULTS, keys)
    firsts = (next(result_scores(result, data), None) for result in results)
    done = Counter((score.backbone, score.domain, score.probe) for score in firsts if score)
    parts: list[dict[str, Cell]] = [
        {"backbone": backbone, "domain": domain, "probe": probe, "jobs done": number}
        for (backbone, domain, probe), number in done.items()
    ]
    return Plan(data.title, parts, len(keys), len(keys) - len(results))


def run_study(
    request: Request,
    out: Path,
    *,
    means: Means = ALONE,
    watch: Watch | None = None,
    ignore_disk: bool = False,
    part: Part = WHOLE,
) -> RunData:
    """Run the missing work of a study in a folder, and return the whole run with its scores.

    An interrupted call resumes when it is repeated; a request for another part of the same study is added to the run.

    Args:
        ignore_disk: start even if the disk seems too small.
        part: the part of the jobs to run if other calls run the rest; the run is recorded as a whole.
    """
    told = watch or Silent()
    check_writable(out)
    plan = request.plan(out, means)
    told.planned(plan)
    refuse_full_disk(out, plan.disk, ignore=ignore_disk)
    return run_prepared(request.prepare(out, means, told), out, means=means, watch=told, plan=plan, part=part)


def run_prepared(
    found: Prepared,
    out: Path,
    *,
    means: Means = ALONE,
    watch: Watch | None = None,
    plan: Plan | None = None,
    part: Part = WHOLE,
) -> RunData:
    """Run the missing jobs of a run, write its record with the first result, and return the run with its scores.

    Args:
        plan: the plan of the run, if there is one; its estimate is used if the number of missing jobs is the same.
        part: as in `run_study`.
    """
    told, results = watch or Silent(), out / RESULTS
    remove_unfinished(out)
    jobs = own_jobs(found.jobs, part, found.cost, found.shared)
    left = len(missing(jobs, results))
    waiting = len(missing(found.jobs, results)) == len(found.jobs) > 0
    if not waiting and not found.records_itself:
        _record(found, out, told)
    if left:
        same = plan is not None and plan.jobs_left == left
        seconds = plan.probing if plan and same else found.seconds(jobs, results, means)
        told.started(left, len(jobs), seconds)
    failures: JobsError | None = None
    try:
        for _ in told.track(found.work(jobs, results, means), "jobs done", left):
            if waiting and not found.records_itself:
                _record(found, out, told)
            waiting = False
    except JobsError as error:
        failures = JobsError(error.failures, error.done + len(jobs) - left)
    if (out / RUN).is_file():
        note_failures(out, failures.failures if failures else ())
    if failures:
        raise failures
    if part != WHOLE and not (out / RUN).is_file():
        raise OtherPartsError(f"part {part[0]} of {part[1]} has done its share, but the others have no results yet")
    if found.replaces:  # by its own jobs' keys: another may have taken its place meanwhile
        return with_scores(out, found.run, [job.key for job in found.jobs])
    return read_run(out)


def _record(found: Prepared, out: Path, told: Watch) -> None:
    with folder_lock(out):
        there = (out / RUN).is_file()
        other = found.replaces and there and not _is_same(read_record(out)[0], found.run)
        if other:
            told.tell(f"{out}: replaces a run of other features or another protocol; to keep both, use another folder")
        write = write_run if other else extend_run
        write(out, found.run, [job.key for job in found.jobs])
        found.write_beside(out)


def _is_same(run: RunData, other: RunData) -> bool:
    """Whether two runs have the same features and protocols, so that they may differ only in seeds and shots."""
    first, second = (plain(each, MEASURED) for each in (run, other))
    return all(
        first[name] == second[name] for name in ("study", "title", "backbones", "features", "protocols", "levels")
    )
