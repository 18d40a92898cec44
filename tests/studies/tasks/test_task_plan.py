"""Planning the task study: which jobs are large, and what they take."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unseen.images.registry import DATASETS
from unseen.probes.many_shot import ERICSSON_2021
from unseen.runs.means import Means
from unseen.runs.results import missing
from unseen.runs.task_work import TaskJob
from unseen.studies.tasks import plan as task_plan
from unseen.studies.tasks import study as tasks
from unseen.studies.tasks.features import TaskFeatures
from unseen.studies.tasks.plan import by_size, probing_seconds, skipped, task_jobs, without_result

SMALL = {"train": 240, "val": 120, "test": 120}
REAL = {"train": 40_000, "val": 10_000, "test": 10_000}


def features(backbone: str = "mine", rows: dict[str, int] = SMALL, classes: int = 6) -> TaskFeatures:
    hashes = {split: f"hash of {split}" for split in rows}
    return TaskFeatures(backbone, DATASETS["pets"], hashes, {}, rows, classes, 80, 8 if rows is SMALL else 2048)


def test_only_large_jobs_get_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, real = features(), features("real", REAL, classes=100)
    jobs, others = task_jobs([small], ERICSSON_2021), task_jobs([real], ERICSSON_2021)
    assert by_size([*jobs, *others], [small, real]) == ([*jobs, *others[1:]], others[:1])
    for module in (tasks, task_plan):
        monkeypatch.setattr(module, "on_gpu", lambda: False)
    threads: dict[TaskJob, int] = {}

    def noted(job: TaskJob, **_: Any) -> dict[str, Any]:
        threads[job] = torch.get_num_threads()
        return {}

    monkeypatch.setattr(tasks, "run_task_job", noted)
    monkeypatch.setenv("UNSEEN_EXECUTOR", "here")
    run = [jobs[0], others[0]]
    assert set(tasks.run_tasks(run, [small, real], tmp_path, Means(2))) == set(run)
    assert threads == {jobs[0]: 1, others[0]: 2}
    assert missing(run, tmp_path) == []


def test_seconds_are_those_of_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[tuple[int, int, int]] = []

    def rate(product: tuple[int, int, int]) -> float:
        timed.append(product)
        return 1e6

    monkeypatch.setattr(task_plan, "on_gpu", lambda: False)
    monkeypatch.setattr(task_plan, "product_rate", rate)
    monkeypatch.setattr(task_plan, "LARGE", 0.0)
    task_plan._rate.cache_clear()
    task = features()
    jobs = task_jobs([task], ERICSSON_2021)
    one, two = (probing_seconds(jobs, [task], tmp_path, Means(workers)) for workers in (1, 2))
    assert one - 0.1 * len(jobs) == pytest.approx(2 * (two - 0.1 * len(jobs)))  # all of it is divided, but overhead
    assert timed == [(6, 16_384, 1024)]  # once for both
    task_plan._rate.cache_clear()
    assert probing_seconds([], [task], tmp_path, Means()) == 0


def test_jobs_on_features_that_are_not_there_have_no_results(tmp_path: Path) -> None:
    expected = replace(features(), hashes={})
    jobs = task_jobs([expected], ERICSSON_2021)
    assert without_result(jobs, tmp_path) == jobs


def test_what_is_skipped_is_said_once_for_all_backbones() -> None:
    few = [replace(features(name), fewest=40) for name in ("a", "b")]
    assert [each.code for each in skipped(few)] == ["no-episodes"]
