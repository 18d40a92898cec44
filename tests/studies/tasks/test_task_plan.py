"""Planning the task study: which jobs are large, and what they take."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unseen.images.registry import DATASETS
from unseen.probes.job import Job
from unseen.probes.samples import ClassCounts
from unseen.runs.means import Means
from unseen.runs.results import missing
from unseen.runs.work import VectorWork
from unseen.studies import probing
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probing import by_size, estimate, run, without_result
from unseen.studies.tasks.plan import TaskProbes

SMALL = {"train": 240, "val": 120, "test": 120}
REAL = {"train": 40_000, "val": 10_000, "test": 10_000}


def features(
    backbone: str = "mine", rows: dict[str, int] = SMALL, classes: int = 6, fewest: int = 80
) -> ProbedFeatures:
    return ProbedFeatures(
        backbone,
        "pets",
        rows,
        classes,
        8 if rows is SMALL else 2048,
        {split: f"hash of {split}" for split in rows},
        dict.fromkeys(rows, "nowhere"),
        counts=ClassCounts((fewest,) * classes, (0,) * classes),
        metric=DATASETS["pets"].metric,
        order="sorted",
    )


def jobs_of(*each: ProbedFeatures) -> list[Job]:
    return TaskProbes().jobs(each, DATASETS)


def test_only_large_jobs_get_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, real = features(), features("real", REAL, classes=100)
    jobs, others = jobs_of(small), jobs_of(real)
    assert by_size([*jobs, *others], [small, real]) == ([*jobs, *others[1:]], others[:1])
    monkeypatch.setattr(probing, "on_gpu", lambda: False)
    threads: dict[Job, int] = {}

    def noted(_: VectorWork, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        for job in jobs:
            threads[job] = torch.get_num_threads()
            yield job, {}

    monkeypatch.setattr(VectorWork, "__call__", noted)
    monkeypatch.setenv("UNSEEN_EXECUTOR", "here")
    chosen = [jobs[0], others[0]]
    assert set(run(chosen, [small, real], tmp_path, Means(2))) == set(chosen)
    assert threads == {jobs[0]: 1, others[0]: 2}
    assert missing(chosen, tmp_path) == []


def test_seconds_are_those_of_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[tuple[int, int, int]] = []

    def rate(product: tuple[int, int, int], numbers: str) -> float:
        timed.append(product)
        return 1e6

    monkeypatch.setattr(probing, "on_gpu", lambda: False)
    monkeypatch.setattr(probing, "product_rate", rate)
    monkeypatch.setattr(probing, "LARGE", 0.0)
    probing._rate.cache_clear()
    task = features()
    jobs = jobs_of(task)[:1]  # the large one
    one, two = (estimate(jobs, [task], tmp_path, Means(workers)) for workers in (1, 2))
    assert one == pytest.approx(2 * two)  # one job on all cores
    assert one - 0.1 == pytest.approx(jobs[0].fitted.flops(task.size(jobs[0].fitted), jobs[0].setting) / 1e6 * 3)
    assert timed == [(6, 16_384, 1024)]  # once for both
    probing._rate.cache_clear()
    assert estimate([], [task], tmp_path, Means()) == 0


def test_jobs_on_features_that_are_not_there_have_no_results(tmp_path: Path) -> None:
    jobs = jobs_of(replace(features(), hashes={}))
    assert without_result(jobs, tmp_path) == jobs


def test_what_is_skipped_is_said_once_for_all_backbones() -> None:
    few = [features(name, fewest=40) for name in ("a", "b")]
    assert [each.code for each in TaskProbes().skipped(few, DATASETS)] == ["no-episodes"]
