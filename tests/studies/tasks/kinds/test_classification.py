"""Classification in the task study: its jobs, and what planning knows of its features."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unseen.backbones.backbone import Spec
from unseen.images.arrays import array_images
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset
from unseen.images.registry import DATASETS
from unseen.images.rows import SPLITS
from unseen.images.source import Entry
from unseen.images.transform import Transform
from unseen.probes.by_name.centroids import FewShotJob
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.many_shot import ERICSSON_2021
from unseen.studies.tasks.features import TaskFeatures, find_task_features
from unseen.studies.tasks.kinds.classification import expected_features, possible_shots, skipped_episodes, task_jobs


def features(name: str, fewest: int = 100, classes: int = 10) -> TaskFeatures:
    splits = ("train", "val", "test") if DATASETS[name].test else ("all",)
    hashes = {split: f"hash of {split}" for split in splits}
    return TaskFeatures("b", DATASETS[name], hashes, {}, dict.fromkeys(splits, 50), classes, fewest, 8)


def test_jobs_of_each_kind_of_data_set() -> None:
    names = ("cifar10", "eurosat", "voc2007")
    jobs = [job for name in names for job in task_jobs(features(name), ERICSSON_2021)]
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
    [found] = skipped_episodes(features("flowers", 40))
    assert skipped_episodes(features("cifar10", 6000)) == skipped_episodes(features("voc2007", 1)) == []
    assert "no 50-shot episodes" in found.sentence
    assert "a class with 40 images, but 65 are needed" in found.sentence
    [found] = skipped_episodes(features("eurosat", 500, classes=4))
    assert "4 classes, but episodes need 5" in found.sentence


def own(folder: Path, **labels: list[str]) -> None:
    """Files of splits with these labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, words in labels.items():
        names = sorted(set(words))
        y = np.array([names.index(word) for word in words])
        np.savez(folder / f"{split}.npz", X=np.eye(8)[y], y=y, classes=np.array(names))


def test_classes_are_counted_one_by_one_where_images_show_several(tmp_path: Path) -> None:
    words = ["p", "q", "p+q", "none", "p+q?", "r+q"]
    own(tmp_path / "voc2007", train=words, val=words, test=words)
    [found] = find_task_features(tmp_path, [], ["mine"]).features
    assert (found.classes, found.fewest) == (3, 3)  # r is in one image of each split
    entries = [Entry(f"{split}/{number}", word) for split in SPLITS for number, word in enumerate(words)]
    manifest = Manifest(entries, [split for split in SPLITS for _ in words])
    source = array_images(np.zeros((len(entries), 4, 4), np.uint8), [entry.label for entry in entries])
    spec = Spec("b", "w", "penultimate", "none", 8, 1, Transform(size=4, resize=4))
    expected = expected_features(OpenDataset(DATASETS["voc2007"], source, manifest), spec, "b")
    assert (expected.classes, expected.fewest) == (3, 3)


def test_a_setting_changes_jobs_but_not_those_it_does_not_concern() -> None:
    jobs = task_jobs(features("cifar10"), ERICSSON_2021)
    other = task_jobs(features("cifar10"), replace(ERICSSON_2021, max_iterations=100))
    assert jobs[0] != other[0]
    assert jobs[1:] == other[1:]
