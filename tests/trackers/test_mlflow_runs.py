"""Runs in a local store, read back by MLflow's client."""

import re
from pathlib import Path
from socket import socket
from time import monotonic
from typing import Any

import pytest
from tracked_runs import tracked_run

from unseen.errors import UserError
from unseen.runs.record import read_run
from unseen.trackers.by_name.mlflow import MLflow
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore

pytestmark = [pytest.mark.long_suite, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)


def read(database: Path) -> list[tuple[str, Any, dict[str, list[tuple[int, float]]]]]:
    """Of each run: its experiment, the run, and name → (step, value)."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{database}")
    return [
        (
            experiment.name,
            run,
            {
                name: [(each.step, each.value) for each in client.get_metric_history(run.info.run_id, name)]
                for name in run.data.metrics
            },
        )
        for experiment in client.search_experiments()
        for run in client.search_runs([experiment.experiment_id])
    ]


def test_scores_are_read_back_and_a_second_call_goes_on_with_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    tracked_run(out, "mlflow")
    [(experiment, run, curves)] = read(out / "mlflow.db")
    assert (experiment, run.info.run_name, run.info.status) == ("test", "net", "FINISHED")
    assert (run.data.params["knn.k"], run.data.params["backbone"]) == ("20", "net")
    few = [each.value for each in read_run(out).scores if (each.shots, each.metric) == (2, "top1")]
    assert curves["set/knn_20/2_shot/top1"] == [(1, few[0]), (2, pytest.approx(sum(few) / 2))]
    tracked_run(out, "mlflow", seeds=3)
    [(_, again, curves)] = read(out / "mlflow.db")
    assert again.info.run_id == run.info.run_id
    assert [step for step, _ in curves["set/knn_20/2_shot/top1"]] == [1, 2, 3]
    # MLflow's tables show the value at the largest step: the mean over all seeds.
    assert again.data.metrics["set/knn_20/2_shot/top1"] == curves["set/knn_20/2_shot/top1"][-1][1]


def test_hostile_names_are_taken(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    tracked_run(tmp_path / "run", f"mlflow:{database}", names=("<b>'; --", "../a b\n数据"), shots="all", seeds=1)
    [(_, run, curves)] = read(database)
    assert run.info.run_name == "<b>'; --"
    assert len(curves) == len(read_run(tmp_path / "run").scores)


def test_a_monitor_logs_into_the_run_of_the_training_loop(tmp_path: Path) -> None:
    import mlflow

    database = tmp_path / "runs.db"
    mlflow.set_tracking_uri(f"sqlite:///{database}")
    try:
        with mlflow.start_run(run_name="training"):
            tracker = MLflow()
            tracker.on_plan(LoggedPlan("cog-v2", "A training", tmp_path))
            for step in (100, 200):
                tracker.on_score(LoggedScore("set", "knn", "top1", step / 1000, step=step))
            tracker.on_end(LoggedEnd("finished"))
            assert mlflow.active_run().info.status == "RUNNING"
    finally:
        mlflow.set_tracking_uri(None)
    found = {run.info.run_name: curves for _, run, curves in read(database)}
    assert found == {"training": {"set/knn/top1": [(100, 0.1), (200, 0.2)]}}


def test_a_wrong_address_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="^MLflow: "):
        tracked_run(tmp_path / "run", "mlflow:nonsense://there")
    assert not (tmp_path / "run" / "results").exists()


def test_what_cannot_be_reached_is_named_at_once(tmp_path: Path) -> None:
    """MLflow itself retries for minutes and prints the warnings of SQLAlchemy."""
    text = tmp_path / "notes.txt"
    text.write_text("This is no database.")
    with socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        start = monotonic()
        for where in (str(text), str(text / "x.db"), str(tmp_path), f"sqlite:///{text}", nobody):
            with pytest.raises(UserError, match=re.escape(where.removeprefix("sqlite:///"))):
                tracked_run(tmp_path / "run", f"mlflow:{where}")
    assert monotonic() - start < 20
    assert not (tmp_path / "run" / "results").exists()
