"""The folder of a monitor: what is its own, what is odd in it, and what other commands say about it."""

import json
from pathlib import Path

import pytest
from small_training import SIDE, pictures, small, study_of

import unseen
from unseen.errors import UserError
from unseen.exchange.export import results_of_runs
from unseen.monitoring.records import SCORES, Records
from unseen.report.of_runs import report_on
from unseen.runs.record import MONITOR
from unseen.studies.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_of(pictures(tmp_path_factory.mktemp("pictures")))


def made(study: Study, out: Path, **options: object) -> unseen.Monitor:
    return unseen.Monitor(study, **{"every": 1, "out": out, "transform": SIDE, "features": "encoder", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [SCORES, "run.json", MONITOR])
@pytest.mark.parametrize("replace", [False, True])
def test_folder_of_something_else_is_refused(tmp_path: Path, study: Study, name: str, replace: bool) -> None:
    (tmp_path / name).write_text("{}\n")
    with pytest.raises(UserError):
        made(study, tmp_path, replace=replace)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "{}\n")]


def test_replace_removes_only_what_a_monitor_wrote(tmp_path: Path, study: Study) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("mine/scores.jsonl", "checkpoint.pt"):
        (tmp_path / name).write_text("mine")
    with made(study, tmp_path, progress="jsonl") as monitor:
        monitor(0, small())
    logged = (tmp_path / "tracker.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in logged] == ["plan", *["score"] * len(monitor.scores()), "end"]
    assert len((tmp_path / SCORES).read_text().splitlines()) == len(monitor.scores()) + 1
    again = made(study, tmp_path, progress="jsonl", replace=True)
    assert not again.checks
    assert (tmp_path / "mine/scores.jsonl").read_text() == (tmp_path / "checkpoint.pt").read_text() == "mine"
    again(0, small())
    assert sum('"score"' in line for line in (tmp_path / "tracker.jsonl").read_text().splitlines()) == 2 * (
        len(logged) - 2
    )


ODD = [
    {"step": 5, "check": 3},
    {"step": 5, "check": {"scores": "a", "failures": 0, "extraction": 0.0, "seconds": 0.0}},
    {"step": 5, "check": {"scores": -1, "failures": 0, "extraction": 0.0, "seconds": 0.0}, "scores": "a"},
    {"step": "5", "dataset": "a", "probe": "knn-20", "metric": "top1", "value": 0.5},
    {"step": 5, "dataset": "a", "probe": "knn-20", "metric": "top1", "value": "high"},
    {"step": 5, "dataset": "a", "probe": "knn-20", "metric": "top1", "value": 0.5, "units": {"correct": "x"}},
    {"step": 5, "failed": 3},
    {"nothing": None},
]


def test_odd_lines_are_passed_over(tmp_path: Path, study: Study, caplog: pytest.LogCaptureFixture) -> None:
    first = made(study, tmp_path)
    first(0, small())
    with (tmp_path / SCORES).open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in ODD)
    again = made(study, tmp_path)
    assert again.checks == first.checks
    assert Records.read(tmp_path).odd == len(ODD) - 1  # the one that counts −1 scores is an end, of no check
    assert caplog.text.count("passed over") == 1
    again(1, small())
    assert [*Records.read(tmp_path).checks] == [0, 1]
    assert any("passed over" in notice for notice in report_on([tmp_path]).page.notices)


def test_unknown_metric_is_without_direction(tmp_path: Path, study: Study) -> None:
    monitor = made(study, tmp_path)
    monitor(0, small())
    lines = [json.loads(line) for line in (tmp_path / SCORES).read_text().splitlines()]
    score = {**lines[0], "metric": "of-a-plug-in", "step": 1}
    end = {**lines[-1], "step": 1, "check": {**lines[-1]["check"], "scores": 1}}
    with (tmp_path / SCORES).open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in (score, end))
    again = made(study, tmp_path)
    best = again.best()
    assert best is not None
    assert best.step == 0
    assert again.report(tmp_path / "page.html").is_file()
    with pytest.raises(UserError, match="direction"):
        again.best(metric="of-a-plug-in")


def test_other_commands_name_the_folder(tmp_path: Path, study: Study) -> None:
    made(study, tmp_path)
    for act in (
        lambda: report_on([tmp_path, tmp_path]),
        lambda: unseen.study(tmp_path),
        lambda: results_of_runs([tmp_path]),
    ):
        with pytest.raises(UserError, match=r"unseen\.Monitor"):
            act()
