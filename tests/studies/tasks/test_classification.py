"""Data sets of classes in the task study: their jobs, and what planning knows of their features."""

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
from unseen.probes.job import Job
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol
from unseen.probes.samples import ClassCounts
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.tasks.features import expected_features, find_task_features
from unseen.studies.tasks.plan import TaskProbes, possible_shots, skipped_episodes, task_probes


def features(name: str, fewest: int = 100, classes: int = 10) -> ProbedFeatures:
    dataset = DATASETS[name]
    splits = ("train", "val", "test") if dataset.test else ("all",)
    return ProbedFeatures(
        "b",
        name,
        dict.fromkeys(splits, 50),
        classes,
        8,
        {split: f"hash of {split}" for split in splits},
        counts=ClassCounts((fewest,) * classes, (0,) * classes),
        target="classes" if dataset.multi_label else "class",
        metric=dataset.metric,
        order="sorted",
    )


def jobs_of(*each: ProbedFeatures, protocol: ManyShotProtocol = ERICSSON_2021) -> list[Job]:
    return TaskProbes(protocol).jobs(each, DATASETS)


def test_jobs_of_each_kind_of_data_set() -> None:
    jobs = jobs_of(*map(features, ("cifar10", "eurosat", "voc2007")))
    many = [job for job in jobs if job.probe == "linear"]
    few = [(job.dataset, job.shots) for job in jobs if job.probe == "centroids"]
    assert [(job.dataset, job.settings["metric"]) for job in many] == [("cifar10", "top1"), ("voc2007", "map-11-point")]
    assert few == [(name, shots) for name in ("cifar10", "eurosat") for shots in (5, 20, 50)]
    reads = next(job.reads for job in jobs if job.probe == "centroids" and job.dataset == "eurosat")
    assert reads["all"] == "hash of all"
    assert "train" not in reads


def test_further_probes_have_jobs_where_labels_and_splits_suit_them() -> None:
    probes = task_probes(ERICSSON_2021, ["knn", "linear", "knn"], [], lambda _: None)
    jobs = probes.jobs([*map(features, ("cifar10", "eurosat", "voc2007"))], DATASETS)
    assert {job.dataset for job in jobs if job.probe == "knn"} == {"cifar10"}
    assert sum(job.probe == "linear" for job in jobs) == 2  # once, though it was named too


@pytest.mark.parametrize(
    ("fewest", "expected"), [(65, (5, 20, 50)), (64, (5, 20)), (35, (5, 20)), (31, (5,)), (19, ())]
)
def test_shots_that_every_class_has_images_for(fewest: int, expected: tuple[int, ...]) -> None:
    assert possible_shots(features("flowers", fewest), DATASETS["flowers"]) == expected


def test_what_is_left_out_is_said() -> None:
    [found] = skipped_episodes(features("flowers", 40), DATASETS["flowers"])
    assert skipped_episodes(features("cifar10", 6000), DATASETS["cifar10"]) == []
    assert skipped_episodes(features("voc2007", 1), DATASETS["voc2007"]) == []
    assert "no 50-shot episodes" in found.sentence
    assert "a class with 40 images, but 65 are needed" in found.sentence
    [found] = skipped_episodes(features("eurosat", 500, classes=4), DATASETS["eurosat"])
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
    entries = [Entry(f"{split}/{number}", word) for split in SPLITS for number, word in enumerate(words)]
    manifest = Manifest(entries, [split for split in SPLITS for _ in words])
    source = array_images(np.zeros((len(entries), 4, 4), np.uint8), [entry.label for entry in entries])
    spec = Spec("b", "w", "penultimate", "none", 8, 1, Transform(size=4, resize=4))
    expected = expected_features(OpenDataset(DATASETS["voc2007"], source, manifest), spec, "b")
    for each in (found, expected):
        assert each.counts is not None
        assert (each.classes, min(each.counts.together)) == (3, 3)  # r is in one image of each split
    assert found.counts == expected.counts
    assert found.samples == expected.samples


def test_a_setting_changes_jobs_but_not_those_it_does_not_concern() -> None:
    jobs = jobs_of(features("cifar10"))
    other = jobs_of(features("cifar10"), protocol=replace(ERICSSON_2021, max_iterations=100))
    assert jobs[0] != other[0]
    assert jobs[1:] == other[1:]
