"""The one way in which a study is planned, extracted, run, recorded and resumed, whatever its probes and data sets are.

A study is the matrix of its backbones, data sets and probes. The cells of one input of probes (feature vectors,
patches, outputs of classifiers, images) are a stage: it knows what they read and how they are computed. Everything else
is here.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path

from unseen.errors import JobsError, OtherPartsError, UserError
from unseen.features.disk import refuse_full_disk
from unseen.files import check_writable, remove_unfinished
from unseen.probes.image_cell import CHECKPOINTS, PIXELS
from unseen.runs.data import RunData
from unseen.runs.lock import folder_lock
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import WHOLE, Part, own_jobs
from unseen.runs.record import RUN, extend_run, note_failures, read_run, refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.studies.given import Given
from unseen.studies.inputs.stage import Prepared
from unseen.studies.plan import Plan
from unseen.studies.stages import OpenedStudy, open_study
from unseen.studies.study import Study
from unseen.studies.study_file import KeptStudy, kept_study, refuse_changed_files
from unseen.studies.tracked import logged_plan, tracked
from unseen.studies.watch import Silent, Watch
from unseen.trackers.scores_of_jobs import ScoresOfJobs
from unseen.trackers.trackers import Trackers


def plan_study(
    study: Study,
    given: Given,
    out: Path,
    *,
    means: Means = ALONE,
    watch: Watch | None = None,
    part: Part = WHOLE,
    replacing: bool = False,
) -> Plan:
    """Plan a study without running anything; arguments as in `run_study`."""
    return _opened(study, given, out, means, watch or Silent(), part, replacing=replacing).plan


def run_study(
    study: Study,
    given: Given,
    out: Path,
    *,
    means: Means = ALONE,
    watch: Watch | None = None,
    part: Part = WHOLE,
    replacing: bool = False,
    trackers: Trackers | None = None,
) -> RunData:
    """Run the missing work of a study in a folder, and return the whole run with its scores.

    An interrupted call resumes when it is repeated. A cell that fails is named in the run, and the others go on. A call
    with other backbones, data sets or probes adds them to the run.

    Args:
        part: the part of the jobs to run if other calls run the rest; the run is recorded as a whole.
        replacing: let this call take the place of what the folder has in another way, instead of being refused.
        trackers: receive the scores while they are measured.
    """
    runner = _opened(study, given, out, means, watch or Silent(), part, replacing=replacing)
    runner.opened.watch.planned(runner.plan)
    refuse_full_disk(out, runner.plan.disk)
    remove_unfinished(out)
    runner.trackers = trackers or runner.trackers
    with tracked(runner.trackers, out):
        if runner.trackers.chosen:
            runner.trackers.begin(logged_plan(runner.kept.study, runner.plan, out, part), runner.opened.watch.tell)
        runner.run()
    return read_run(out)


def _opened(
    study: Study, given: Given, out: Path, means: Means, watch: Watch, part: Part, *, replacing: bool
) -> "Runner":
    """Open and plan a study; a folder with another run is refused before any work."""
    check_writable(out)
    refuse_changed_files(study)
    opened = open_study(study, given, means, watch, part)
    if not replacing:
        for stage in opened.stages:
            refuse_other_run(out, stage.setup())
    plan = reduce(Plan.together, [stage.plan(out, means) for stage in opened.stages])
    return Runner(opened, out, plan, replacing)


@dataclass
class Runner:
    """Runs the stages of a study in a folder, one after the other.

    Attributes:
        plan: the work of all stages.
        failures: sentences about cells that failed.
        waiting: errors about work that other parts of a job array have to do first.
        done: number of jobs with results.
        announced: whether missing jobs have been announced.
        unfinished: whether a stage has jobs without a result, which other parts of a job array may be running.
        trackers: receive the scores.
    """

    opened: OpenedStudy
    out: Path
    plan: Plan
    replacing: bool = False
    failures: list[str] = field(default_factory=list)
    waiting: list[OtherPartsError] = field(default_factory=list)
    done: int = 0
    announced: bool = False
    unfinished: bool = False
    trackers: Trackers = field(default_factory=Trackers)

    def run(self) -> None:
        """Run the missing jobs of all stages; what failed is named in the run and raised at the end."""
        if len(self.opened.stages) > 1 and self.opened.part == WHOLE and self.plan.jobs_left:
            self._tell_started(self.plan.jobs_left, self.plan.jobs, self.plan.probing)
        for stage in self.opened.stages:
            try:
                prepared = stage.prepare(self.out, self.opened.means, self.opened.watch)
            except OtherPartsError as error:
                self.waiting.append(error)
                continue
            except UserError as error:
                if len(self.opened.stages) == 1:
                    raise
                self.failures.append(str(error))
                continue
            try:
                self._run(prepared)
            except OtherPartsError as error:
                self.waiting.append(error)
            except UserError as error:
                self.failures += error.failures if isinstance(error, JobsError) else [str(error)]
            self.failures += prepared.failures
        if (self.out / RUN).is_file():
            note_failures(self.out, self.failures)
        if self.failures:
            alone = len(self.failures) == 1 and not self.done
            raise UserError(self.failures[0]) if alone else JobsError(self.failures, self.done)
        if self.waiting:
            raise self.waiting[0]
        self._remove_empty()
        part = self.opened.part
        if part != WHOLE and not (self.out / RUN).is_file():
            raise OtherPartsError(f"part {part[0]} of {part[1]} has done its share, but the others have no results yet")

    def _remove_empty(self) -> None:
        """Remove the folders that only trainings need, if they are empty and all jobs have results."""
        if not self.unfinished:
            for name in (CHECKPOINTS, PIXELS):
                with suppress(OSError):  # not there, or not empty
                    (self.out / name).rmdir()

    def _tell_started(self, left: int, jobs: int, seconds: float) -> None:
        """Announce jobs: those of all stages, or of the first one with work, and then those of each stage."""
        if self.announced:
            self.opened.watch.stage_started(left, seconds)
        else:
            self.opened.watch.started(left, jobs, seconds)
        self.announced = True

    def _run(self, prepared: Prepared) -> None:
        """Run the missing jobs of a stage; its record is written with the first result."""
        cells, results, watch = prepared.cells, self.out / RESULTS, self.opened.watch
        every = cells.expanded(cells.jobs, results)
        jobs = own_jobs(every, self.opened.part, cells.cost, cells.shared)
        left = missing(jobs, results)
        recorded = len(missing(every, results)) < len(every)
        if recorded:
            self._record(prepared)
        if left and not recorded and not self.replacing:
            refuse_other_run(self.out, prepared.run.setup, cells.jobs)  # before jobs that cannot be recorded
        scores = ScoresOfJobs(prepared.run, cells.jobs, results)
        self.trackers.catch_up(scores)
        if left:
            self._tell_started(len(left), len(jobs), cells.seconds(left))
        try:
            for job in watch.track(prepared.work(jobs), "jobs done", len(left)):
                if not recorded:
                    self._record(prepared)
                    recorded = True
                self.trackers.measured(scores, job.key)
        finally:
            self.done += len(jobs) - len(missing(jobs, results))
            self.unfinished |= bool(missing(every, results))

    def _record(self, prepared: Prepared) -> None:
        jobs = prepared.cells.jobs
        with folder_lock(self.out):
            replaced = extend_run(self.out, prepared.run, jobs, replacing=self.replacing)
            if replaced:
                self.opened.watch.tell(replaced)
            self.kept.write(self.out, [job.key for job in jobs])
            prepared.write_beside(self.out)

    @cached_property
    def kept(self) -> KeptStudy:
        """The study as the folder of the run keeps it."""
        return kept_study(self.opened, self.out)
