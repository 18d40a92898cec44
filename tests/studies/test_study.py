"""The one shape of a study: what is written, what is run, and what a second call leaves alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from run_folders import logistic_job

from unseen.errors import JobsError, UserError
from unseen.probes.job import Fit, Job, fits_kept
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.means import ALONE, Means
from unseen.runs.record import read_run
from unseen.runs.results import missing
from unseen.studies.study import Plan, Prepared, Silent, Watch, plan_of_run, plan_study, run_prepared, run_study


@dataclass(frozen=True)
class Constant:
    """A study whose jobs give 0.5, on features that take no time."""

    first_failing: ClassVar[int] = 1
    seeds: int
    fails: bool = False

    def jobs(self) -> list[Job]:
        return [logistic_job("a", "l1", 1, seed) for seed in range(self.seeds)]

    def plan(self, out: Path, means: Means) -> Plan:
        left = len(missing(self.jobs(), out / "results"))
        return Plan("constant", [{"domain": "l1"}], self.seeds, left, probing=left / 2)

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        run = RunData("constant", (), [Domain("l1", "L1")], [Backbone("a", "yours")], "a", remarks={"p": "1"})
        watch.tell("prepared")
        return Prepared(run, self.jobs(), self.work, lambda *_: 7.0, lambda folder: (folder / "beside").touch())

    def work(self, jobs: Sequence[Job], folder: Path, means: Means) -> Iterator[Job]:
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


def test_a_plan_does_nothing(tmp_path: Path) -> None:
    plan = plan_study(Constant(2), tmp_path / "run")
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    assert not (tmp_path / "run").exists()
    assert "2 of 2" in repr(plan)
    assert plan.to_frame()["domain"].tolist() == ["l1"]
    assert "<table" in plan._repr_html_()


def test_a_run_is_told_written_and_scored(tmp_path: Path) -> None:
    notes = Notes()
    data = run_study(Constant(2), tmp_path, watch=notes)
    assert notes.said == [2, "prepared", (2, 2, 1.0)]
    assert [score.value for score in data.scores if score.metric == "top1"] == [0.5, 0.5]
    assert read_run(tmp_path).scores == data.scores
    assert (tmp_path / "beside").exists()


def test_a_run_says_what_it_has_and_what_is_left(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_study(Constant(3, fails=True), tmp_path)
    plan = plan_of_run(tmp_path)
    assert (plan.jobs, plan.jobs_left) == (3, 2)
    assert plan.to_frame().to_dict("records") == [
        {"backbone": "a", "domain": "l1", "probe": "logistic", "jobs done": 1}
    ]


def test_stopped_it_goes_on_and_more_is_added(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_study(Constant(3, fails=True), tmp_path)
    assert [notice.code for notice in read_run(tmp_path).told] == ["unfinished"]
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/*.json")}
    notes = Notes()
    run_study(Constant(3), tmp_path, watch=notes)
    assert (2, 3, 1.0) in notes.said
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/*.json")}.items()
    assert len(run_study(Constant(4), tmp_path).scores) == 8
    assert len(run_study(Constant(1), tmp_path, watch=notes).scores) == 8  # a part of it: nothing to do, nothing lost
    assert notes.said[-2:] == [0, "prepared"]


def test_an_estimate_of_other_jobs_than_are_left_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, notes = Constant.plan, Notes()
    monkeypatch.setattr(Constant, "plan", lambda *given: replace(plan(*given), jobs_left=9))
    run_study(Constant(2), tmp_path, watch=notes)
    assert notes.said[-1] == (2, 2, 7.0)


def test_a_run_is_written_when_its_first_job_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Constant, "first_failing", 0)
    with pytest.raises(KeyboardInterrupt):
        run_study(Constant(2, fails=True), tmp_path)
    assert not (tmp_path / "run.json").exists()
    monkeypatch.setattr(Constant, "first_failing", 1)
    with pytest.raises(KeyboardInterrupt):
        run_study(Constant(2, fails=True), tmp_path)
    assert [notice.code for notice in read_run(tmp_path).told] == ["unfinished"]
    assert len(run_study(Constant(2), tmp_path).scores) == 4


def test_a_run_may_take_the_place_of_another(tmp_path: Path) -> None:
    prepared = Constant(3).prepare(tmp_path, ALONE, Silent())
    run_prepared(prepared, tmp_path)
    titled = replace(prepared.run, title="other")
    other = replace(Constant(2).prepare(tmp_path, ALONE, Silent()), run=titled, replaces=True)
    watch = Notes()
    data = run_prepared(other, tmp_path, watch=watch)
    assert any("replaces a run" in str(sentence) for sentence in watch.said)
    assert (data.title, len(data.scores)) == ("other", 4)
    assert len(read_run(tmp_path).scores) == 4
    assert len(list(tmp_path.glob("results/*.json"))) == 3  # results are kept


def test_a_job_that_fails_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Constant.work

    def half(self: Constant, jobs: Sequence[Job], folder: Path, means: Means) -> Iterator[Job]:
        def values(job: Job) -> dict[str, Any]:
            if job.seed == 1:
                raise UserError("seed 1 is unlucky.")
            return fits_kept([Fit("logistic", job.shots, job.seed, [("top1", 0.5)])])

        yield from run_here(jobs, folder, values)

    monkeypatch.setattr(Constant, "work", half)
    with pytest.raises(JobsError, match="seed 1 is unlucky") as raised:
        run_study(Constant(3), tmp_path)
    assert raised.value.done == 2
    run = read_run(tmp_path)
    assert [score.seed for score in run.scores] == [0, 2]
    assert [(each.code, each.sentence) for each in run.told] == [
        ("failed", "Failed: seed 1 is unlucky."),
        ("unfinished", "This run is not finished: 1 of 3 jobs have no result yet."),
    ]
    with pytest.raises(JobsError, match="seed 1 is unlucky"):  # still named, once
        run_study(Constant(3), tmp_path)
    assert [each.code for each in read_run(tmp_path).told] == ["failed", "unfinished"]
    monkeypatch.setattr(Constant, "work", work)
    assert not run_study(Constant(3), tmp_path).told


def test_a_full_disk_stops_it_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Constant, out: Path, means: Means) -> Plan:
        return replace(plan(self, out, means), disk=2**60)

    plan = Constant.plan
    monkeypatch.setattr(Constant, "plan", full)
    with pytest.raises(UserError, match="ignore_disk=True"):
        run_study(Constant(1), tmp_path)
    assert not list(tmp_path.iterdir())
    assert run_study(Constant(1), tmp_path, ignore_disk=True).scores
