"""Event files, read back by TensorBoard."""

from pathlib import Path

import pytest
from tracked_runs import tracked_run

from unseen.runs.means import Means
from unseen.runs.record import read_run
from unseen.trackers.by_name.tensorboard import TensorBoard
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore

pytestmark = [pytest.mark.long_suite, pytest.mark.filterwarnings("ignore")]


def read(folder: Path) -> tuple[dict[str, list[tuple[int, float]]], str]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    tags = events.Tags()
    texts = events.Tensors("study")[0].tensor_proto.string_val if "study" in tags["tensors"] else [b""]
    return {tag: [(each.step, each.value) for each in events.Scalars(tag)] for tag in tags["scalars"]}, texts[
        0
    ].decode()


def test_scores_are_read_back_also_from_processes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    tracked_run(out, "tensorboard", names=("timm:net", "set"), means=Means(workers=2))
    curves, text = read(out / "tensorboard" / "timm-net")
    few = [each.value for each in read_run(out).scores if (each.shots, each.metric) == (2, "top1")]
    assert curves["set/knn_20/2_shot/top1"][-1] == (2, pytest.approx(sum(few) / 2))
    assert len(list((out / "tensorboard").rglob("*tfevents*"))) == 1  # only this process has written
    assert "knn.k = 20" in text
    tracked_run(out, "tensorboard", names=("timm:net", "set"), seeds=3)
    assert [step for step, _ in read(out / "tensorboard" / "timm-net")[0]["set/knn_20/2_shot/top1"]][-1] == 3


def test_a_given_folder_has_one_for_each_run_folder(tmp_path: Path) -> None:
    for name in ("first", "second"):
        tracked_run(tmp_path / name, f"tensorboard:{tmp_path / 'logs'}", shots="all", seeds=1)
    assert {path.parent.relative_to(tmp_path / "logs").as_posix() for path in tmp_path.rglob("*tfevents*")} == {
        "first/net", "second/net",
    }  # fmt: skip


def test_training_steps_are_the_horizontal_axis(tmp_path: Path) -> None:
    tracker = TensorBoard(str(tmp_path / "logs"))
    tracker.on_plan(LoggedPlan("cog-v2", "A training", tmp_path))
    for step in (100, 200):
        tracker.on_score(LoggedScore("set", "knn", "top1", step / 1000, step=step))
        assert read(tmp_path / "logs")[0]["set/knn/top1"][-1] == (step, pytest.approx(step / 1000))  # at once
    tracker.on_end(LoggedEnd("finished"))
