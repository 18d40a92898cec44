"""The best step, the steps that are not resolved from it, and the page of both."""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from small_training import SIDE, pictures, small, study_of

import unseen
from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS
from unseen.monitoring.best import best, curves
from unseen.monitoring.records import SCORES, Records
from unseen.monitoring.scores import Check, StepScore
from unseen.probes.units import hit_units
from unseen.report.core.export import page_figures
from unseen.report.monitoring.page import monitor_page
from unseen.report.of_runs import report_on
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore

IMAGES = 400


def score(step: int, share: float, dataset: str = "a", probe: str = "knn-20", seed: int = 0) -> StepScore:
    """A score of which so many images are right: the first ones."""
    hits = np.arange(IMAGES) < round(share * IMAGES)
    units = hit_units(hits).in_details
    return StepScore(step, dataset, probe, "top1", float(hits.mean()), seed=seed, first=True, units=units)


def checks(*shares: float, **of: object) -> dict[int, Check]:
    return {10 * n: Check(10 * n, [score(10 * n, share, **of)]) for n, share in enumerate(shares)}  # type: ignore[arg-type]


def test_best_step_and_its_ties() -> None:
    found = best(checks(0.2, 0.5, 0.55, 0.545, 0.3))
    assert found is not None
    assert (found.step, found.value, found.since) == (20, 0.55, 2)
    assert found.ties == (30,)  # 2 images of 400 differ, against 20 and more
    assert best(checks(0.5, 0.5)).step == 0  # type: ignore[union-attr]
    assert best({}) is None


def test_resolution_is_that_of_a_paired_test() -> None:
    """The ties are those of the paired t-test, with many differing images."""
    shares = np.linspace(0.3, 0.6, 31).tolist()
    found = best(checks(*shares))
    assert found is not None
    [curve] = curves(checks(*shares).values())
    for step in range(0, 300, 10):
        one, other = curve.hits(found.step), curve.hits(step)
        assert one is not None
        assert other is not None
        p = stats.ttest_rel(one[0], other[0]).pvalue
        if not 0.02 < p < 0.1:  # pseudo-units widen intervals of few images
            assert (step in found.ties) == (p > 0.05), (step, p)


def test_mean_over_data_sets_and_seeds() -> None:
    every = {
        step: Check(step, [score(step, a, "a"), score(step, a, "a", seed=1), score(step, b, "b")])
        for step, a, b in ((0, 0.4, 0.2), (5, 0.2, 0.8), (10, 0.9, 0.0))
    }
    every[15] = Check(15, [score(15, 1.0, "a")])  # without a score on b
    found = best(every)
    assert found is not None
    assert (found.step, found.value, found.since) == (5, 0.5, 1)
    assert best(every, dataset="a").step == 15  # type: ignore[union-attr]
    for wrong in ({"dataset": "c"}, {"probe": "ridge"}, {"metric": "top5"}):
        with pytest.raises(UserError):
            best(every, **wrong)


def test_lower_is_better() -> None:
    every = {
        step: Check(step, [StepScore(step, "a", "p", "ece", value, first=True)])
        for step, value in ((0, 0.3), (1, 0.1), (2, 0.2))
    }
    found = best(every)
    assert found is not None
    assert (found.step, found.ties, found.compared) == (1, (), False)
    without = {0: Check(0, [StepScore(0, "a", "p", "rankme", 3.0, first=True)])}
    with pytest.raises(UserError, match="direction"):
        best(without)


def test_page(tmp_path: Path) -> None:
    every = checks(0.2, 0.5, 0.55, 0.545)
    page = monitor_page(tmp_path, every, METRICS)
    assert "20" in page.findings[0]
    assert "30" in page.findings[0]
    [figure] = page_figures(page).values()
    [series] = figure.series
    assert [*series.x] == [0, 10, 20, 30]
    assert [*series.y] == pytest.approx([20, 50, 55, 54.5])
    half = 100 * stats.t.ppf(0.975, IMAGES - 1) * np.std(np.arange(IMAGES) < 200, ddof=1) / np.sqrt(IMAGES)
    assert series.low[1] == pytest.approx(50 - half, abs=1e-6)
    assert series.high[1] == pytest.approx(50 + half, abs=1e-6)
    [table] = page.sections[0].tables
    [row] = table.rows
    assert row.cells[5].values == [0.55, 20]
    assert row.cells[7].values[0] == pytest.approx(-0.005)
    with pytest.raises(UserError, match="no scores"):
        monitor_page(tmp_path, {}, METRICS)


def test_page_of_a_folder_names_what_failed(tmp_path: Path) -> None:
    monitor = unseen.Monitor(study_of(pictures(tmp_path / "data")), every=1, out=tmp_path / "out", transform=SIDE)
    for step in range(3):
        if step == 1:
            with pytest.warns(RuntimeWarning, match="is not a torch"):
                monitor(step, 3)
        else:
            monitor(step, small().encoder)
    assert unseen.report(tmp_path / "out", tmp_path / "page.html") == tmp_path / "page.html"
    page = report_on([tmp_path / "out"]).page
    assert [each for each in page.notices if "step 1:" in each and "is not a torch" in each]
    assert page.title.endswith(": out")
    facts = page.sections[-1].facts
    assert f"{SIDE} pixels" in facts["Images"]
    assert f"{SIDE} × {SIDE}" in facts["Images"]
    assert (facts["Folder"], facts["Features"]) == ("out", "the output of the network")
    assert (facts["Seeds"], facts["Training samples per class"]) == ("1", "all")
    assert facts["Probes"].startswith("knn (k 20")
    assert facts["Images used"] == "all images"
    assert "ericsson-2021" in facts["Study"]
    assert facts["Began"].startswith("20")
    with pytest.raises(UserError, match="page of their own"):
        unseen.report(tmp_path / "out", tmp_path / "page.html", axes=True)


class Kept:
    """A tracker that keeps what it receives, or fails."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.plans, self.scores, self.ends = list[LoggedPlan](), list[LoggedScore](), list[LoggedEnd]()

    def on_plan(self, plan: LoggedPlan) -> None:
        self.plans.append(plan)

    def on_score(self, score: LoggedScore) -> None:
        if self.fails:
            raise ConnectionError("no network")
        self.scores.append(score)

    def on_end(self, end: LoggedEnd) -> None:
        self.ends.append(end)


def test_trackers_get_scores_with_steps(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept, broken = Kept(), Kept(fails=True)
    study = study_of(pictures(tmp_path / "data"), "knn", seeds=2, shots=2)
    monitor = unseen.Monitor(
        study, every=10, out=tmp_path / "out", transform=SIDE, features="encoder",
        progress=[kept, broken, f"jsonl:{tmp_path / 'log.jsonl'}"],
    )  # fmt: skip
    with monitor:
        check = monitor(10, small())
        assert monitor(11, small()) is None
        monitor(20, small())
    assert check is not None
    assert [each.step for each in kept.scores] == [10] * 4 + [20] * 4
    assert {each.name: each.plotted for each in kept.scores[:4]} == check.means
    assert [each.seeds for each in kept.scores if each.metric == "top1"][:2] == [1, 2]
    [plan], [end] = kept.plans, kept.ends
    assert plan.folder == tmp_path / "out"
    assert (end.status, end.scores) == ("finished", 8)
    assert "no network" in caplog.text
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert sum(each.get("step") == 20 for each in lines) == 4
    page = monitor.report(tmp_path / "page.html")
    assert "Scores of a network in training" in page.read_text()
    assert repr(monitor).endswith("every 10 steps, 2 checks, the last at step 20)")


def test_a_continued_training_logs_each_score_once(tmp_path: Path) -> None:
    study, out = study_of(pictures(tmp_path / "data"), "knn", "ridge"), tmp_path / "out"

    def made(*progress: object) -> unseen.Monitor:
        return unseen.Monitor(
            study, every=1, out=out, transform=SIDE, features="encoder", progress=[*progress] or False
        )  # fmt: skip

    made()(0, small())  # without a tracker
    first = made("jsonl")
    first(1, small())  # and killed
    kept = Kept()
    with made("jsonl", kept) as again:
        again(1, small())
        again(2, small())
    assert {each.step for each in kept.scores} == {2}  # an object receives those of its own training
    lines = [json.loads(line) for line in (out / "tracker.jsonl").read_text().splitlines()]
    logged = [(each["name"], each["seed"], each["step"]) for each in lines if each["event"] == "score"]
    assert len(set(logged)) == len(logged) == len(again.scores())
    assert [each["status"] for each in lines if each["event"] == "end"] == ["finished"]


@pytest.mark.parametrize(
    ("error", "status"), [(None, "failed"), (ValueError("no"), "failed"), (KeyboardInterrupt(), "interrupted")]
)
def test_trackers_know_how_a_training_ended(tmp_path: Path, error: BaseException | None, status: str) -> None:
    kept, study = Kept(), study_of(pictures(tmp_path / "data"))
    monitor = unseen.Monitor(study, every=1, out=tmp_path / "out", transform=SIDE, progress=kept)
    with pytest.raises(type(error)) if error else nullcontext(), monitor:
        if error:
            monitor(0, small().encoder)
            raise error
        with pytest.warns(RuntimeWarning, match="is not a torch"):
            monitor(0, 3)
    [end] = kept.ends
    assert end.status == status
    assert len(end.failures) == 1


def test_names_that_are_one_curve_are_refused(tmp_path: Path) -> None:
    one, other = pictures(tmp_path / "a-b"), pictures(tmp_path / "a_b")
    study = study_of(one).replace(datasets=[str(one), str(other)])
    with pytest.raises(UserError, match="a-b and a_b"):
        unseen.Monitor(study, every=1, out=tmp_path / "out", transform=SIDE)


def test_lines_of_a_killed_check_are_passed_over(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.add(Check(0, [score(0, 0.5)]))
    records.write()
    whole = (tmp_path / SCORES).read_bytes()
    records.add(Check(10, [score(10, 0.5), score(10, 0.6, "b")]))
    records.write()
    text = (tmp_path / SCORES).read_bytes()
    for end in (*range(len(whole), len(text) - 1, 23), len(text) - 1):
        (tmp_path / SCORES).write_bytes(text[:end])
        read = Records.read(tmp_path)
        ended = end == len(text) - 1  # only the line end is lacking
        assert [*read.checks] == ([0, 10] if ended else [0]), end
    (tmp_path / SCORES).write_bytes(text[: len(text) - 9])
    again = Records.read(tmp_path)
    again.add(Check(10, [score(10, 0.7)]))
    again.write()
    assert [each.value for each in Records.read(tmp_path).checks[10].scores] == [0.7]
