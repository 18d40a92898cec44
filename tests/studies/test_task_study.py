"""Planning the task study and finding its features."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.features.store import write_store
from unseen.images.datasets.registry import DATASETS
from unseen.jobs.few_shot_job import FewShotJob
from unseen.jobs.many_shot_job import ManyShotJob
from unseen.probes.many_shot import ERICSSON_2021
from unseen.studies.task_features import TaskFeatures, find_task_features
from unseen.studies.task_plan import left_out, possible_shots, task_jobs


def features(name: str, fewest: int = 100, classes: int = 10) -> TaskFeatures:
    splits = ("train", "val", "test") if DATASETS[name].test else ("all",)
    hashes = {split: f"hash of {split}" for split in splits}
    return TaskFeatures("b", DATASETS[name], hashes, {}, dict.fromkeys(splits, 50), classes, fewest, 8)


def test_jobs_of_each_kind_of_data_set() -> None:
    jobs = task_jobs([features("cifar10"), features("eurosat"), features("voc2007")], ERICSSON_2021)
    many = [job for job in jobs if isinstance(job, ManyShotJob)]
    few = [(job.domain, job.shots) for job in jobs if isinstance(job, FewShotJob)]
    assert [(job.domain, job.metric) for job in many] == [("cifar10", "top1"), ("voc2007", "map-11-point")]
    assert few == [(name, shots) for name in ("cifar10", "eurosat") for shots in (5, 20, 50)]
    assert next(job.features for job in jobs if isinstance(job, FewShotJob) and job.domain == "eurosat") == (
        "hash of all",
    )


@pytest.mark.parametrize(
    ("fewest", "expected"), [(65, (5, 20, 50)), (64, (5, 20)), (35, (5, 20)), (31, (5,)), (19, ())]
)
def test_shots_that_every_class_has_images_for(fewest: int, expected: tuple[int, ...]) -> None:
    assert possible_shots(features("flowers", fewest)) == expected


def test_what_is_left_out_is_said() -> None:
    [sentence] = left_out([features("flowers", 40), features("cifar10", 6000), features("voc2007", 1)])
    assert "no 50-shot episodes" in sentence
    assert "a class with 40 images, and 65 are needed" in sentence
    [sentence] = left_out([features("eurosat", 500, classes=4)])
    assert "4 classes, and episodes have 5" in sentence


def store(folder: Path, split: str, backbone: str = "timm:x", rows: int = 20) -> None:
    X = np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)
    y = np.arange(rows) % 5
    about = {"backbone": {"id": backbone}, "split": split, "key": f"{split}{backbone}"}
    write_store(folder / f"{backbone.replace(':', '-')}-{split}", [(X, y)], list("abcde"), provenance=about)


def test_features_of_several_backbones_are_found(tmp_path: Path) -> None:
    for backbone in ("timm:x", "timm:y"):
        for split in ("train", "val", "test"):
            store(tmp_path / "digits", split, backbone)
    store(tmp_path / "eurosat", "all")
    (tmp_path / "notes").mkdir()
    found = find_task_features(tmp_path, ["digits"], [])
    assert [(each.backbone, each.dataset.name) for each in found] == [("timm:x", "digits"), ("timm:y", "digits")]
    assert list(found[0].rows.items()) == [("train", 20), ("val", 20), ("test", 20)]
    assert (found[0].classes, found[0].fewest, found[0].dimension) == (5, 12, 4)
    [other] = find_task_features(tmp_path, ["eurosat"], ["timm:x"])
    assert list(other.hashes) == ["all"]
    with pytest.raises(UserError, match="eurosat: no all features of timm:y"):
        find_task_features(tmp_path, [], ["timm:y"])


def test_own_files(tmp_path: Path) -> None:
    (tmp_path / "pets").mkdir()
    for split in ("train", "val", "test"):
        np.savez(tmp_path / "pets" / f"{split}.npz", X=np.eye(4), y=np.arange(4))
    [found] = find_task_features(tmp_path, [], ["mine"])
    assert (found.backbone, found.dataset.name, found.classes) == ("mine", "pets", 4)
    with pytest.raises(UserError, match="features of one backbone"):
        find_task_features(tmp_path, [], ["mine", "other"])
    (tmp_path / "pets/val.npz").unlink()
    with pytest.raises(UserError, match="pets: features of train, test, but no val; each split needs its own"):
        find_task_features(tmp_path, [], [])


def test_features_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        find_task_features(tmp_path / "nothing", [], [])
    with pytest.raises(UserError, match="no features of any data set"):
        find_task_features(tmp_path, [], [])
    for split in ("train", "test"):
        store(tmp_path / "digits", split)
    with pytest.raises(UserError, match="no val features of timm:x"):
        find_task_features(tmp_path, [], [])
    with pytest.raises(UserError, match=r"no features of the data set digit.*did you mean digits"):
        find_task_features(tmp_path, ["digit"], [])
    store(tmp_path / "digits", "val")
    (tmp_path / "digits/timm-x-val").rename(tmp_path / "digits/first")
    store(tmp_path / "digits", "val", rows=25)
    with pytest.raises(UserError, match="made in several ways"):
        find_task_features(tmp_path, [], [])


def test_a_setting_changes_jobs_but_not_those_it_does_not_concern() -> None:
    jobs = task_jobs([features("cifar10")], ERICSSON_2021)
    other = task_jobs([features("cifar10")], replace(ERICSSON_2021, max_iterations=100))
    assert jobs[0] != other[0]
    assert jobs[1:] == other[1:]
