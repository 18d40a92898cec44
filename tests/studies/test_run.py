"""The one way in which studies are run: what is written, what is run, and what a second call leaves alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from run_folders import logistic_job

from unseen.errors import JobsError, OtherPartsError, UserError
from unseen.probes.job import Fit, Job, fits_kept
from unseen.runs.data import Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.means import Means
from unseen.runs.parts import Part
from unseen.runs.record import read_run
from unseen.runs.results import write_result
from unseen.runs.setup import ProtocolUsed
from unseen.studies import run as engine
from unseen.studies.given import Given
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage
from unseen.studies.opened import OpenedData
from unseen.studies.plan import Plan, plan_of_run
from unseen.studies.record import Described, Measured
from unseen.studies.run import plan_study, run_study
from unseen.studies.study import Study
from unseen.studies.study_file import KeptStudy
from unseen.studies.watch import Silent, Watch

STUDY = Study(name="constant")


@dataclass(frozen=True)
class Constant(Stage):
    """A stage whose jobs give 0.5, on features that take no time."""

    first_failing: ClassVar[int] = 1
    seeds: int
    fails: bool = False
    protocol: str = "cog-v2"
    domain: str = "l1"
    faults: tuple[str, ...] = ()
    study: Study = field(default=STUDY, kw_only=True)
    opened: OpenedData = field(default=OpenedData(), kw_only=True)

    def cells(self) -> Cells:
        jobs = [logistic_job("a", self.domain, 1, seed) for seed in range(self.seeds)]
        return Cells(jobs, lambda left: len(left) / 2)

    def measured(self) -> Measured:
        protocols, domains = [ProtocolUsed("logistic", self.protocol)], [Domain(self.domain, self.domain.upper())]
        return Measured(backbones=[Described("a")], protocols=protocols, domains=domains, remarks={"p": "1"})

    def planned(self, out: Path, means: Means) -> Planned:
        return Planned(self.cells(), [{"domain": self.domain}])

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        watch.tell("prepared")

        def beside(folder: Path) -> None:
            (folder / "beside").touch()

        work = partial(self.work, folder=out / "results")
        return Prepared(self.cells(), self.recorded(self.measured()), work, beside, self.faults)

    def work(self, jobs: Sequence[Job], folder: Path) -> Iterator[Job]:
        def half(job: Job) -> dict[str, Any]:
            if self.fails and job.seed == self.first_failing:
                raise KeyboardInterrupt
            return fits_kept([Fit("logistic", job.shots, job.seed, [("top1", 0.5), ("top5", 1.0)])])

        yield from run_here(jobs, folder, half)


class Notes(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def planned(self, plan: Plan) -> None:
        self.said.append(plan.jobs_left)

    def tell(self, sentence: str) -> None:
        self.said.append(sentence)

    def started(self, left: int, jobs: int, seconds: float) -> None:
        self.said.append((left, jobs, seconds))

    def stage_started(self, left: int, seconds: float) -> None:
        self.said.append((left, seconds))


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[Stage]:
    """The stages that the next studies consist of."""
    found: list[Stage] = []

    def opened(study: Study, given: Given, means: Means, watch: Watch, part: Part) -> Any:
        nothing = SimpleNamespace(entries=[]), SimpleNamespace(data=[])
        parts = {"study": study, "given": given, "backbones": nothing[0], "opened": nothing[1]}
        return SimpleNamespace(stages=list(found), means=means, watch=watch, part=part, **parts)

    monkeypatch.setattr(engine, "open_study", opened)
    monkeypatch.setattr(engine, "kept_study", lambda opened, out: KeptStudy(STUDY, {}))
    return found


@dataclass
class Running:
    """Plans and runs stages in the folder of a test."""

    out: Path
    stages: list[Stage]

    def plan(self, *stages: Stage) -> Plan:
        self.stages[:] = stages
        return plan_study(STUDY, Given(), self.out)

    def run(self, *stages: Stage, **more: Any) -> RunData:
        self.stages[:] = stages
        return run_study(STUDY, Given(), self.out, **more)


@pytest.fixture
def running(stages: list[Stage], tmp_path: Path) -> Running:
    return Running(tmp_path / "run", stages)


def test_a_plan_does_nothing(running: Running) -> None:
    plan = running.plan(Constant(2))
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    assert not running.out.exists()
    assert "2 of 2" in repr(plan)
    assert plan.to_frame()["domain"].tolist() == ["l1"]
    assert "<table" in plan._repr_html_()


def test_a_run_is_told_written_and_scored(running: Running) -> None:
    notes = Notes()
    data = running.run(Constant(2), watch=notes)
    assert notes.said == [2, "prepared", (2, 2, 1.0)]
    assert [score.value for score in data.scores if score.metric == "top1"] == [0.5, 0.5]
    assert read_run(running.out).scores == data.scores
    assert (running.out / "beside").exists()
    assert (running.out / "study.toml").exists()


def test_stages_are_planned_together_and_run_one_after_the_other(running: Running) -> None:
    both = Constant(2), Constant(3, domain="l2")
    plan = running.plan(*both)
    assert (plan.jobs, plan.jobs_left, [part["domain"] for part in plan.parts]) == (5, 5, ["l1", "l2"])
    notes = Notes()
    data = running.run(*both, watch=notes)
    assert notes.said == [5, (5, 5, 2.5), "prepared", (2, 1.0), "prepared", (3, 1.5)]
    again = Notes()
    running.run(*both, watch=again)
    assert again.said == [0, "prepared", "prepared"]
    assert [domain.name for domain in data.domains] == ["l1", "l2"]
    assert len(data.scores) == 10
    assert running.plan(*both).jobs_left == 0


def test_a_run_says_what_it_has_and_what_is_left(running: Running) -> None:
    with pytest.raises(KeyboardInterrupt):
        running.run(Constant(3, fails=True))
    plan = plan_of_run(running.out)
    assert (plan.jobs, plan.jobs_left) == (3, 2)
    assert plan.to_frame().to_dict("records") == [
        {"backbone": "a", "domain": "l1", "probe": "logistic", "jobs done": 1}
    ]


def test_stopped_it_goes_on_and_more_is_added(running: Running) -> None:
    with pytest.raises(KeyboardInterrupt):
        running.run(Constant(3, fails=True))
    assert [notice.code for notice in read_run(running.out).told] == ["unfinished"]
    kept = {path: path.stat().st_mtime_ns for path in running.out.glob("results/*.json")}
    notes = Notes()
    running.run(Constant(3), watch=notes)
    assert (2, 3, 1.0) in notes.said
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in running.out.glob("results/*.json")}.items()
    assert len(running.run(Constant(4)).scores) == 8
    assert len(running.run(Constant(1), watch=notes).scores) == 8  # a part of it: nothing to do, nothing lost
    assert notes.said[-2:] == [0, "prepared"]


def test_a_run_is_written_when_its_first_job_is_done(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Constant, "first_failing", 0)
    with pytest.raises(KeyboardInterrupt):
        running.run(Constant(2, fails=True))
    assert not (running.out / "run.json").exists()
    monkeypatch.setattr(Constant, "first_failing", 1)
    with pytest.raises(KeyboardInterrupt):
        running.run(Constant(2, fails=True))
    assert [notice.code for notice in read_run(running.out).told] == ["unfinished"]
    assert len(running.run(Constant(2)).scores) == 4


def test_results_that_were_not_recorded_are_recorded_by_the_next_call(running: Running) -> None:
    """As after a kill between a result and the record."""
    job = Constant(1).cells().jobs[0]
    write_result(running.out / "results", job, fits_kept([Fit("logistic", 1, 0, [("top1", 0.25)])]), 0.1)
    assert [score.value for score in running.run(Constant(1)).scores] == [0.25]


def test_another_run_is_refused_or_takes_the_place_of_the_first(running: Running) -> None:
    running.run(Constant(3))
    other = Constant(2, protocol="other")
    with pytest.raises(UserError, match="differs in the key logistic.protocol .cog-v2, not other."):
        running.plan(other)
    with pytest.raises(UserError, match="differs in the key logistic.protocol"):
        running.run(other)
    assert len(read_run(running.out).scores) == 6
    watch = Notes()
    data = running.run(other, watch=watch, replacing=True)
    assert any("replaces" in str(sentence) for sentence in watch.said)
    assert [protocol.name for protocol in data.protocols] == ["other"]
    assert len(data.scores) == 4
    assert not data.notice
    assert len(list(running.out.glob("results/*.json"))) == 3  # results are kept


def test_what_takes_the_place_of_an_unfinished_run_is_not_unfinished(running: Running) -> None:
    with pytest.raises(KeyboardInterrupt):
        running.run(Constant(5, fails=True))
    data = running.run(Constant(1, protocol="other"), replacing=True)
    assert (len(data.scores), data.notice) == (2, "")
    assert plan_of_run(running.out).jobs_left == 0


def test_a_job_that_fails_is_named_and_the_others_go_on(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Constant.work

    def half(self: Constant, jobs: Sequence[Job], folder: Path) -> Iterator[Job]:
        def values(job: Job) -> dict[str, Any]:
            if job.seed == 1 and self.domain == "l1":
                raise UserError("seed 1 is unlucky.")
            return fits_kept([Fit("logistic", job.shots, job.seed, [("top1", 0.5)])])

        yield from run_here(jobs, folder, values)

    monkeypatch.setattr(Constant, "work", half)
    with pytest.raises(JobsError, match="seed 1 is unlucky") as raised:
        running.run(Constant(3), Constant(2, domain="l2"))
    assert raised.value.done == 4
    run = read_run(running.out)
    assert [(score.domain, score.seed) for score in run.scores] == [("l1", 0), ("l1", 2), ("l2", 0), ("l2", 1)]
    assert [(each.code, each.sentence) for each in run.told] == [
        ("failed", "Failed: logistic of a on l1: seed 1 is unlucky."),
        ("unfinished", "This run is not finished: 1 of 5 jobs have no result yet."),
    ]
    with pytest.raises(JobsError, match="seed 1 is unlucky"):  # still named, once
        running.run(Constant(3))
    assert [each.code for each in read_run(running.out).told] == ["failed", "unfinished"]
    monkeypatch.setattr(Constant, "work", work)
    assert not running.run(Constant(3)).told


def test_a_stage_that_cannot_be_prepared_does_not_stop_the_others(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Constant.prepare

    def prepare(self: Constant, out: Path, means: Means, watch: Watch) -> Prepared:
        if self.domain == "l1":
            raise UserError("l1: damaged.")
        return usual(self, out, means, watch)

    monkeypatch.setattr(Constant, "prepare", prepare)
    with pytest.raises(JobsError, match="l1: damaged"):
        running.run(Constant(1), Constant(1, domain="l2"))
    run = read_run(running.out)
    assert {score.domain for score in run.scores} == {"l2"}
    assert [each.code for each in run.told] == ["failed"]
    with pytest.raises(UserError, match=r"^l1: damaged\.$"):  # alone, it is the error itself
        running.run(Constant(1))


def test_cells_that_cannot_be_computed_are_named_when_the_others_are_done(running: Running) -> None:
    with pytest.raises(JobsError, match="net: cannot be loaded") as raised:
        running.run(Constant(2, faults=("net: cannot be loaded.",)))
    assert raised.value.done == 2
    assert [each.code for each in read_run(running.out).told] == ["failed"]


def test_a_part_runs_its_share_and_the_record_is_of_the_whole(running: Running) -> None:
    with pytest.raises(OtherPartsError, match="part 3 of 3 has done its share"):
        running.run(Constant(2), part=(3, 3))
    first = running.run(Constant(2), part=(1, 3))
    assert "1 of 2 jobs have no result yet" in first.notice
    assert len(running.run(Constant(2), part=(2, 3)).scores) == 4


def test_a_full_disk_stops_it_before_it_starts(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Constant.plan
    monkeypatch.setattr(Constant, "plan", lambda *given: replace(plan(*given), disk=2**60))
    with pytest.raises(UserError, match="UNSEEN_IGNORE_DISK"):
        running.run(Constant(1))
    assert not running.out.exists()
    monkeypatch.setenv("UNSEEN_IGNORE_DISK", "1")
    assert running.run(Constant(1)).scores
