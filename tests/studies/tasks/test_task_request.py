"""Requests of the task study: their plan, and what they take from the command line."""

import pickle
from functools import partial
from pathlib import Path

import pytest
from part_shares import planned_and_prepared

from unseen.backbones.load import load_backbone
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.images.registry import DATASETS
from unseen.probes.samples import ClassCounts
from unseen.runs.means import Means
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.study import plan_study
from unseen.studies.tasks.features import Found
from unseen.studies.tasks.plan import TaskProbes
from unseen.studies.tasks.request import TaskRequest, request_of_images, tell_fits, top1_shares


def test_the_plan_counts_the_splits_that_exist(tmp_path: Path) -> None:
    [part] = plan_study(TaskRequest(Found([_digits()], [], DATASETS)), tmp_path).parts
    assert list(part) == ["data set", "backbone", "classes", "train", "val", "test", "metric", "extracted"]


def test_a_part_is_planned_as_it_is_done(tmp_path: Path) -> None:
    backbones = [load_backbone(f"demo:{name}") for name in ("supervised", "simclr", "untrained")]
    request = request_of_images(["digits"], None, lambda: backbones, Settings(workers=0), TaskProbes(), limit=8)
    planned, done = planned_and_prepared(request, tmp_path, 2)
    assert planned == done
    assert sum(done) == 6


def _digits() -> ProbedFeatures:
    rows = {"train": 60, "val": 20, "test": 20}
    counts = ClassCounts((8,) * 10, (2,) * 10)
    return ProbedFeatures("b", "digits", rows, 10, 8, {split: split for split in rows}, counts=counts, order="sorted")


def test_what_tells_of_fits_can_be_sent_to_processes() -> None:
    assert pickle.loads(pickle.dumps(partial(tell_fits, CommandWatch(Means(2))))).args == (CommandWatch(Means(2)),)


def test_accuracy_on_imagenet_is_in_percent() -> None:
    assert top1_shares(["a", "b"], [75, 80.5]) == {"a": 0.75, "b": 0.805}
    assert top1_shares(["a"], []) == {}
    for percents in ([75.0], [75.0, 0.8], [75.0, 100.0]):
        with pytest.raises(UserError, match="imagenet_top1"):
            top1_shares(["a", "b"], percents)
