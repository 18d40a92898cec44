"""The one shape of a study: request → plan → features → jobs → scores.

A request says what is asked. It can tell what is to be done and what that takes (`Plan`), and make ready what jobs work
on (`Prepared`). Everything else is here, once for all studies: the run on disk, the jobs that are missing, resuming.
The command line and the Python API call the same functions and differ in how they `Watch`.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from unseen.errors import OtherPartsError
from unseen.features.disk import refuse_full_disk
from unseen.files import check_writable, remove_unfinished
from unseen.notebook import table_html
from unseen.reading.json_records import plain
from unseen.runs.data import RunData
from unseen.runs.execute import even
from unseen.runs.job import job_key
from unseen.runs.lock import folder_lock
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice
from unseen.runs.parts import WHOLE, Part, own_jobs, same_features
from unseen.runs.record import MEASURED, RUN, extend_run, read_record, read_run, with_scores, write_run
from unseen.runs.results import RESULTS, missing, read_all
from unseen.runs.scores import result_scores

if TYPE_CHECKING:
    import pandas as pd

    from unseen.features.progress import Progress

J = TypeVar("J")
T = TypeVar("T")
Cell = str | int | float
Unit = Literal["bytes", "share"]


@dataclass(frozen=True)
class Plan:
    """What a study will do, and what that takes.

    Attributes:
        title: of the study.
        parts: one for each domain, data set or training: column → name or number. All have the same columns.
        units: of columns whose numbers are bytes, or shares of 1.
        counting: how the jobs come about, such as "2 backbones × 3 domains = 6 regressions".
        jobs: all of the study, and `jobs_left` those without a result.
        extraction: seconds that the features that are missing should take, and `probing` the jobs that are missing.
        disk: bytes that are still to be written, and `free` those that the disk has; 0 where nothing is extracted.
        memory: bytes while the largest part is worked on; 0 where that was not estimated.
        notices: what cannot be done as asked.
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
    notices: Sequence[Notice] = ()

    def to_frame(self) -> "pd.DataFrame":
        """One row per part."""
        import pandas as pd

        return pd.DataFrame([dict(part) for part in self.parts])

    def __repr__(self) -> str:
        return f"Plan({self.title!r}: {len(self.parts)} parts, {self.jobs_left} of {self.jobs} jobs to do)"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame())


class Stepping(Protocol):
    """Told the number of every step of a long piece of work, and how it stands, such as its loss."""

    def __call__(self, step: int, detail: str = "") -> None: ...


class Watch(Protocol):
    """Told how a study goes on: commands print it, notebooks show bars.

    It may be sent to processes that run jobs, where it is only asked to `tell`.
    """

    def planned(self, plan: Plan) -> None:
        """What will be done, before it starts."""

    def tell(self, sentence: str) -> None:
        """Something that the user should know now."""

    def extracting(self, domain: str, split: str) -> "Callable[[Progress], None]":
        """Called as the features of a split are extracted."""

    def stepping(self, what: str, total: int) -> Stepping:
        """Called with the number of every step of a long piece of work, such as a training."""

    def started(self, left: int, jobs: int, seconds: float) -> None:
        """So many of all jobs are to do, and should take so long."""

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        """Passes items on as they are done; `total` is how many there are, where that is known."""


class Silent:
    """A watch that says nothing."""

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
class Prepared(Generic[J]):
    """A study whose features are there.

    Attributes:
        run: what is written of it, without its scores.
        jobs: all of them, those that have a result already among them.
        work: given the jobs, the folder of results and what to run them with, runs those that are missing and passes
            on each as it is done.
        seconds: given the same, what the missing ones should take.
        write_beside: writes further files of the run into its folder, which is locked meanwhile.
        recorded: when the run is written: "planned", before its jobs start; "begun", when the first of them has a
            result, where that may fail for the way it was asked for, as a training that diverges, so that the run is
            not bound to that way; "work", by `work` itself, job by job, where one may fail without the others or takes
            the place of an earlier one.
        replaces: whether the run takes the place of one that its folder has of other features or another protocol,
            instead of being refused; to one of the same it is added.
        cost: of a job compared with others, to divide them fairly into parts of a job array.
        shared: what a job has in common with others that had better be in the same part.
    """

    run: RunData
    jobs: Sequence[J]
    work: Callable[[Sequence[J], Path, Means], Iterator[J]]
    seconds: Callable[[Sequence[J], Path, Means], float]
    write_beside: Callable[[Path], None] = lambda folder: None
    recorded: Literal["planned", "begun", "work"] = "planned"
    replaces: bool = False
    cost: Callable[[J], float] = even
    shared: Callable[[J], Hashable] = same_features


class Request(Protocol[J]):
    """What is asked of a study; a frozen dataclass for each study."""

    def plan(self, out: Path, means: Means) -> Plan:
        """What is to be done in a folder; the folder of another run is refused."""

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared[J]:
        """Extract the features that are missing, or open those that are there."""


def plan_study(request: Request[J], out: Path, *, means: Means = ALONE) -> Plan:
    """What a study would do, without doing any of it."""
    check_writable(out)
    return request.plan(out, means)


def plan_of_run(folder: Path) -> Plan:
    """What a run has and what is left to do: one part per backbone, domain and probe, with its jobs that are done."""
    data, keys = read_record(folder)
    results = read_all(folder / RESULTS, keys)
    firsts = (next(result_scores(result), None) for result in results)
    done = Counter((score.backbone, score.domain, score.probe) for score in firsts if score)
    parts: list[dict[str, Cell]] = [
        {"backbone": backbone, "domain": domain, "probe": probe, "jobs done": number}
        for (backbone, domain, probe), number in done.items()
    ]
    return Plan(data.title, parts, len(keys), len(keys) - len(results))


def run_study(
    request: Request[J],
    out: Path,
    *,
    means: Means = ALONE,
    watch: Watch | None = None,
    ignore_disk: bool = False,
    part: Part = WHOLE,
) -> RunData:
    """Do what is missing of a study in a folder, and return the whole run with its scores.

    A call that was stopped continues when it is repeated; one that asks for another part of the same study adds it.

    Args:
        ignore_disk: start although the disk seems too small.
        part: which jobs to do, where others do the rest; the run is recorded as a whole.
    """
    told = watch or Silent()
    check_writable(out)
    plan = request.plan(out, means)
    told.planned(plan)
    refuse_full_disk(out, plan.disk, ignore=ignore_disk)
    return run_prepared(request.prepare(out, means, told), out, means=means, watch=told, plan=plan, part=part)


def run_prepared(
    found: Prepared[J],
    out: Path,
    *,
    means: Means = ALONE,
    watch: Watch | None = None,
    plan: Plan | None = None,
    part: Part = WHOLE,
) -> RunData:
    """Write down what a run is, do its missing jobs, and return the run with its scores.

    Args:
        plan: its plan, where there is one: its estimate holds where it is of as many jobs as are left.
        part: as of `run_study`.
    """
    told, results = watch or Silent(), out / RESULTS
    remove_unfinished(out)
    jobs = own_jobs(found.jobs, part, found.cost, found.shared)
    left = len(missing(jobs, results))
    waiting = found.recorded == "begun" and len(missing(found.jobs, results)) == len(found.jobs) > 0
    if not waiting and found.recorded != "work":
        _record(found, out)
    if left:
        same = plan is not None and plan.jobs_left == left
        seconds = plan.probing if plan and same else found.seconds(jobs, results, means)
        told.started(left, len(jobs), seconds)
    for _ in told.track(found.work(jobs, results, means), "jobs done", left):
        if waiting:
            _record(found, out)
            waiting = False
    if part != WHOLE and not (out / RUN).is_file():
        raise OtherPartsError(f"part {part[0]} of {part[1]} has done its share, and the others have nothing yet")
    if found.replaces:  # by its own jobs' keys: another may have taken its place meanwhile
        return with_scores(out, found.run, [job_key(job) for job in found.jobs])
    return read_run(out)


def _record(found: Prepared[J], out: Path) -> None:
    with folder_lock(out):
        there = (out / RUN).is_file()
        write = write_run if found.replaces and there and not _is_same(read_record(out)[0], found.run) else extend_run
        write(out, found.run, [job_key(job) for job in found.jobs])
        found.write_beside(out)


def _is_same(run: RunData, other: RunData) -> bool:
    """Whether two runs are of the same features and protocols, so that they can differ in seeds and shots alone."""
    first, second = (plain(each, MEASURED) for each in (run, other))
    return all(
        first[name] == second[name] for name in ("study", "title", "backbones", "features", "protocols", "levels")
    )
