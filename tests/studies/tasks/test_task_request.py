"""A request of the task study knows nothing of labels or of the shape of features: a made-up kind goes all the way."""

import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from part_shares import planned_and_prepared

from unseen.backbones.load import load_backbone
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.images.registry import DATASETS, task_sets
from unseen.probes.many_shot import ERICSSON_2021
from unseen.runs.means import Means
from unseen.studies.study import plan_study
from unseen.studies.tasks import plan as task_plan
from unseen.studies.tasks.features import Found, TaskFeatures
from unseen.studies.tasks.kinds import kind_of
from unseen.studies.tasks.kinds.classification import KIND
from unseen.studies.tasks.request import TaskRequest, request_of_images, tell_fits, top1_shares


def test_a_kind_decides_jobs_and_what_they_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps of 49 vectors per image and no classes: one job, of a cost of its own."""
    dataset = replace(DATASETS["digits"], target="map")
    maps = replace(KIND, jobs=lambda task, protocol: KIND.jobs(task, protocol)[:1], skipped=lambda task: [],
                   flops=lambda job, task: 1e6 * task.vectors, product=lambda task: (64, 8, 40))  # fmt: skip
    monkeypatch.setattr(task_plan, "kind_of", lambda of: {"map": maps}.get(of.target, KIND))
    monkeypatch.setattr(task_plan, "product_rate", lambda product: 1e6 if product == (64, 8, 40) else 1e12)
    monkeypatch.setattr(task_plan, "on_gpu", lambda: False)
    task_plan._rate.cache_clear()
    rows = {"train": 60, "val": 20, "test": 20}
    hashes = {split: f"of {split}" for split in rows}
    task = TaskFeatures("b", dataset, hashes, {}, rows, 0, 0, 8, vectors=49)
    plan = plan_study(TaskRequest(Found([task], [])), tmp_path)
    assert (plan.jobs, plan.jobs_left, list(plan.notices)) == (1, 1, [])
    assert plan.probing == pytest.approx(49 * task_plan.OTHER_WORK + 0.1)
    task_plan._rate.cache_clear()


def test_the_plan_counts_the_splits_that_exist(tmp_path: Path) -> None:
    [part] = plan_study(TaskRequest(Found([_digits()], [])), tmp_path).parts
    assert list(part) == ["data set", "backbone", "classes", "train", "val", "test", "metric", "extracted"]


def test_a_part_is_planned_as_it_is_done(tmp_path: Path) -> None:
    backbones = [load_backbone(f"demo:{name}") for name in ("supervised", "simclr", "untrained")]
    request = request_of_images(["digits"], None, lambda: backbones, Settings(workers=0), ERICSSON_2021, limit=8)
    planned, done = planned_and_prepared(request, tmp_path, 2)
    assert planned == done
    assert sum(done) == 6


def test_a_data_set_names_its_kind() -> None:
    assert kind_of(DATASETS["digits"]) is KIND
    assert {kind_of(dataset) is KIND for dataset in task_sets().values()} == {True}
    assert [job.domain for job in KIND.jobs(_digits(), ERICSSON_2021)] == ["digits"]


def _digits() -> TaskFeatures:
    rows = {"train": 60, "val": 20, "test": 20}
    return TaskFeatures("b", DATASETS["digits"], {split: split for split in rows}, {}, rows, 10, 6, 8)


def test_what_tells_of_fits_can_be_sent_to_processes() -> None:
    assert pickle.loads(pickle.dumps(partial(tell_fits, CommandWatch(Means(2))))).args == (CommandWatch(Means(2)),)


def test_accuracy_on_imagenet_is_in_percent() -> None:
    assert top1_shares(["a", "b"], [75, 80.5]) == {"a": 0.75, "b": 0.805}
    assert top1_shares(["a"], []) == {}
    for percents in ([75.0], [75.0, 0.8], [75.0, 100.0]):
        with pytest.raises(UserError, match="imagenet_top1"):
            top1_shares(["a", "b"], percents)
