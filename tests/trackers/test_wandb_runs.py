"""Runs of Weights & Biases without a network, read back from their files."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tracked_runs import tracked_run
from wandb_files import records

from unseen.errors import UserError
from unseen.runs.record import read_run
from unseen.trackers.by_name import wandb as module
from unseen.trackers.by_name.wandb import WeightsAndBiases
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore

pytestmark = [pytest.mark.long_suite, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("WANDB_API_KEY", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_MODE", "offline")
    yield
    _finish_writing()


def _finish_writing() -> None:
    """W&B writes in a process of its own, which is ended."""
    import wandb

    wandb.teardown()


def read(folder: Path) -> list[tuple[Any, dict[str, list[tuple[float, float]]]]]:
    """Of each file: the run, and name → (step, value) of its scores."""
    _finish_writing()
    found = []
    for path in sorted(folder.rglob("*.wandb")):
        every = list(records(path))
        [run] = [each.run for each in every if each.WhichOneof("record_type") == "run"][:1]
        curves: dict[str, list[tuple[float, float]]] = {}
        for each in every:
            if each.WhichOneof("record_type") == "history":
                items = {
                    "/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in each.history.item
                }
                step = items.get("unseen_seeds", items.get("unseen_step"))
                for name, value in items.items():
                    if "/" in name:
                        curves.setdefault(name, []).append((step, value))
        found.append((run, curves))
    return found


def test_scores_are_read_back_and_a_second_call_goes_on_with_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    tracked_run(out, "wandb:my-team/my-project")
    [(run, curves)] = read(out)
    assert (run.entity, run.project, run.display_name, run.run_group) == ("my-team", "my-project", "net", "run")
    settings = {each.key: json.loads(each.value_json) for each in run.config.update}
    assert (settings["knn.k"], settings["backbone"]) == (20, "net")
    few = [each.value for each in read_run(out).scores if (each.shots, each.metric) == (2, "top1")]
    assert curves["set/knn_20/2_shot/top1"] == [(1, few[0]), (2, pytest.approx(sum(few) / 2))]
    assert set(curves) == {f"set/knn_20/{shots}top{k}" for shots in ("", "2_shot/") for k in (1, 5)}

    tracked_run(out, "wandb:my-team/my-project")
    assert len(read(out)) == 1
    tracked_run(out, "wandb:my-team/my-project", seeds=3)
    both = read(out)
    assert len(both) == 2
    assert {each.run_id for each, _ in both} == {run.run_id}
    [after] = [curves for _, curves in both if curves["set/knn_20/2_shot/top1"][0][0] == 3]
    assert set(after) == {"set/knn_20/2_shot/top1", "set/knn_20/2_shot/top5"}


def test_a_monitor_logs_into_the_run_of_the_training_loop(tmp_path: Path) -> None:
    import wandb

    with wandb.init(project="p", dir=tmp_path, settings=wandb.Settings(console="off")) as run:
        run.log({"loss": 1.0})
        tracker = WeightsAndBiases()
        tracker.on_plan(LoggedPlan("cog-v2", "A training", tmp_path))
        for step in (100, 50):  # W&B drops what is logged at a smaller step of its own
            tracker.on_score(LoggedScore("set", "knn", "top1", step / 1000, step=step))
        tracker.on_end(LoggedEnd("finished"))
        run.log({"loss": 0.5})
    [(_, curves)] = read(tmp_path)
    assert curves == {"set/knn/top1": [(100, 0.1), (50, 0.05)]}


def test_without_a_login_it_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_MODE")
    with pytest.raises(UserError, match="WANDB_MODE=offline"):
        tracked_run(tmp_path / "run", "wandb")
    assert not (tmp_path / "run" / "results").exists()


def test_an_upload_without_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck:
        def finish(self, exit_code: int) -> None:
            ended.wait()

    ended, tracker = Event(), WeightsAndBiases()
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    tracker._runs["net"] = Stuck()  # type: ignore[assignment]
    with pytest.raises(TimeoutError):
        tracker.on_end(LoggedEnd("finished"))
    ended.set()
