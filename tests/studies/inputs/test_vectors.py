"""Probes of feature vectors on the data sets of a study: their jobs, and what planning knows of the features."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from part_shares import planned_and_prepared

from studies import plan_of, study_of
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.cli.watching import CommandWatch
from unseen.data.core.arrays import array_images
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import SPLITS
from unseen.data.core.source import Entry
from unseen.data.registry import DATASETS
from unseen.probes.job import Job
from unseen.probes.samples import ClassCounts
from unseen.runs.means import Means
from unseen.runs.results import missing
from unseen.runs.work import VectorWork
from unseen.studies import probing
from unseen.studies.inputs.image_features import expected_features
from unseen.studies.inputs.stage import without_result
from unseen.studies.inputs.vectors import tell_fits
from unseen.studies.opened import StudyData
from unseen.studies.probed_features import ProbedFeatures, features_of_task
from unseen.studies.probes import StudyProbes, study_probes
from unseen.studies.probing import by_size, estimate, run

SMALL = {"train": 240, "val": 120, "test": 120}
REAL = {"train": 40_000, "val": 10_000, "test": 10_000}


def probes(**keys: Any) -> StudyProbes:
    """The probes of the study of Ericsson et al., or of one like it."""
    return study_probes(study_of("ericsson-2021", **keys), lambda _: None)


def features(name: str, fewest: int = 100, classes: int = 10, backbone: str = "b") -> ProbedFeatures:
    dataset = DATASETS[name]
    splits = ("train", "val", "test") if dataset.test else ("all",)
    return ProbedFeatures(
        backbone,
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


def sized(backbone: str = "mine", rows: dict[str, int] = SMALL, classes: int = 6) -> ProbedFeatures:
    return ProbedFeatures(
        backbone,
        "pets",
        rows,
        classes,
        8 if rows is SMALL else 2048,
        {split: f"hash of {split}" for split in rows},
        dict.fromkeys(rows, "nowhere"),
        counts=ClassCounts((80,) * classes, (0,) * classes),
        metric=DATASETS["pets"].metric,
        order="sorted",
    )


def jobs_of(*each: ProbedFeatures, **keys: Any) -> list[Job]:
    return [job for of in each for probe in probes(**keys).every for job in probe.vector_jobs(of)]


def shots_of(of: ProbedFeatures) -> list[int | None]:
    return [job.shots for job in jobs_of(of) if job.probe == "centroids"]


def said(of: ProbedFeatures) -> list[str]:
    return [each.sentence for probe in probes().every for each in probe.shot_notices(of, of.dataset)]


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
    jobs = jobs_of(*map(features, ("cifar10", "eurosat", "voc2007")), probes=["knn", "linear"])
    assert {job.dataset for job in jobs if job.probe == "knn"} == {"cifar10"}
    assert {job.dataset for job in jobs if job.probe == "linear"} == {"cifar10", "voc2007"}


@pytest.mark.parametrize(("fewest", "expected"), [(65, [5, 20, 50]), (64, [5, 20]), (35, [5, 20]), (31, [5]), (19, [])])
def test_shots_that_every_class_has_images_for(fewest: int, expected: list[int]) -> None:
    assert shots_of(features("flowers", fewest)) == expected


def test_what_is_left_out_is_said() -> None:
    [found] = said(features("flowers", 40))
    assert "50-shot episodes are skipped on flowers" in found
    assert "65 samples, and 0 of 10 classes have as many" in found
    uneven = replace(features("flowers", 100), counts=ClassCounts((100,) * 9 + (40,), (0,) * 10))
    [found] = said(uneven)  # none of episodes that are drawn from nine classes: they are skipped
    assert "65 samples, and 9 of 10 classes have as many" in found
    assert shots_of(uneven) == [5, 20]
    assert said(features("cifar10", 6000)) == []
    assert said(features("voc2007", 1)) == []
    assert any("need 5 classes" in each and "4 of 4" in each for each in said(features("eurosat", 500, classes=4)))


def own(folder: Path, **labels: list[str]) -> dict[str, Path]:
    """Files of splits with these labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, words in labels.items():
        names = sorted(set(words))
        y = np.array([names.index(word) for word in words])
        np.savez(folder / f"{split}.npz", X=np.eye(8)[y], y=y, classes=np.array(names))
    return {split: folder / f"{split}.npz" for split in labels}


def test_classes_are_counted_one_by_one_where_images_show_several(tmp_path: Path) -> None:
    words = ["p", "q", "p+q", "none", "p+q?", "r+q"]
    found = features_of_task("b", DATASETS["voc2007"], own(tmp_path, train=words, val=words, test=words))
    entries = [Entry(f"{split}/{number}", word) for split in SPLITS for number, word in enumerate(words)]
    manifest = Manifest(entries, [split for split in SPLITS for _ in words])
    source = array_images(np.zeros((len(entries), 4, 4), np.uint8), [entry.label for entry in entries])
    net = Backbone(Spec("b", "w", "penultimate", "none", 8, 1, Transform(size=4, resize=4)), torch.nn.Identity())
    opened = OpenDataset(DATASETS["voc2007"], source, manifest)
    expected = expected_features(StudyData(opened.dataset, opened), net)
    for each in (found, expected):
        assert each.counts is not None
        assert (each.classes, min(each.counts.together)) == (3, 3)  # r is in one image of each split
    assert found.counts == expected.counts
    assert found.samples == expected.samples


def test_a_setting_changes_jobs_but_not_those_it_does_not_concern() -> None:
    jobs = jobs_of(features("cifar10"))
    other = jobs_of(features("cifar10"), linear={"protocol": "ericsson-2021-exact"})
    assert jobs[0] != other[0]
    assert jobs[1:] == other[1:]


def test_only_large_jobs_get_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, real = sized(), sized("real", REAL, classes=100)
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
    task = sized()
    jobs = jobs_of(task)[:1]  # the large one
    one, two = (estimate(jobs, [task], Means(workers)) for workers in (1, 2))
    assert one == pytest.approx(2 * two)  # one job on all cores
    assert one - 0.1 == pytest.approx(jobs[0].fitted.flops(task.size(jobs[0].fitted), jobs[0].setting) / 1e6 * 3)
    assert timed == [(6, 16_384, 1024)]  # once for both
    probing._rate.cache_clear()
    assert estimate([], [task], Means()) == 0


def test_jobs_on_features_that_are_not_there_have_no_results(tmp_path: Path) -> None:
    jobs = jobs_of(replace(sized(), hashes={}))
    assert without_result(jobs, tmp_path) == jobs


def test_a_part_is_planned_as_it_is_done(tmp_path: Path) -> None:
    study = study_of("ericsson-2021", datasets="digits", limit=8, preprocessing="own")
    backbones = [load_backbone(f"demo:{name}") for name in ("supervised", "simclr", "untrained")]
    planned, done = planned_and_prepared(study, tmp_path, 2, backbones=backbones)
    assert planned == done
    assert sum(done) == 6


def test_the_plan_counts_the_splits_that_exist(tmp_path: Path) -> None:
    words = [each for each in "abcdefgh" for _ in range(30)]
    own(tmp_path / "features/pets", train=words, val=words, test=words)
    [part] = plan_of(study_of("ericsson-2021"), tmp_path / "a", ["b"], features=tmp_path / "features").parts
    assert list(part) == ["data set", "backbone", "classes", "train", "val", "test", "dimensions", "extracted"]
    own(tmp_path / "features/eurosat", all=words)
    study = study_of("ericsson-2021", datasets="eurosat")
    [part] = plan_of(study, tmp_path / "b", ["b"], features=tmp_path / "features").parts
    assert (part["no split"], "train" in part) == (240, False)


def test_what_is_skipped_is_said_once_for_all_backbones(tmp_path: Path) -> None:
    study = study_of("ericsson-2021", datasets="digits", limit=8, preprocessing="own")
    plan = plan_of(study, tmp_path, [load_backbone(f"demo:{name}") for name in ("supervised", "simclr")])
    codes = [(each.code, dict(each.arguments)["shots"]) for each in plan.notices]
    assert codes == [("skipped-episodes", "20"), ("skipped-episodes", "50")]


def test_what_tells_of_fits_can_be_sent_to_processes() -> None:
    assert pickle.loads(pickle.dumps(partial(tell_fits, CommandWatch(Means(2))))).args == (CommandWatch(Means(2)),)
