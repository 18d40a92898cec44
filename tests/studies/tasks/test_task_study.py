"""Planning the task study and finding its features."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unseen.backbones.backbone import Spec
from unseen.errors import UserError
from unseen.features.store import write_store
from unseen.images.arrays import array_images
from unseen.images.datasets.listing import SPLITS
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.images.datasets.registry import DATASETS
from unseen.images.manifest import Manifest
from unseen.images.source import Entry
from unseen.images.transform import Transform
from unseen.probes.by_name.centroids import FewShotJob
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.many_shot import ERICSSON_2021
from unseen.runs.job import job_key
from unseen.runs.results import read_result
from unseen.runs.task_work import TaskJob
from unseen.studies.tasks import plan as task_plan
from unseen.studies.tasks import study as tasks
from unseen.studies.tasks.features import TaskFeatures, expected_features, find_task_features
from unseen.studies.tasks.plan import by_size, left_out, possible_shots, probing_seconds, task_jobs


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
    [found] = left_out([features("flowers", 40), features("cifar10", 6000), features("voc2007", 1)])
    assert "no 50-shot episodes" in found.sentence
    assert "a class with 40 images, and 65 are needed" in found.sentence
    [found] = left_out([features("eurosat", 500, classes=4)])
    assert "4 classes, and episodes have 5" in found.sentence


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
    found, _ = find_task_features(tmp_path, ["digits"], [])
    assert [(each.backbone, each.dataset.name) for each in found] == [("timm:x", "digits"), ("timm:y", "digits")]
    assert list(found[0].rows.items()) == [("train", 20), ("val", 20), ("test", 20)]
    assert (found[0].classes, found[0].fewest, found[0].dimension) == (5, 12, 4)
    [other] = find_task_features(tmp_path, ["eurosat"], ["timm:x"]).features
    assert list(other.hashes) == ["all"]
    [digits], [fault] = find_task_features(tmp_path, [], ["timm:y"])
    assert (digits.backbone, digits.dataset.name) == ("timm:y", "digits")
    assert fault.domain == "eurosat"
    assert "no all features of timm:y; extract them, or leave the data set out" in fault.sentence


def own(folder: Path, **labels: list[str]) -> None:
    """Files of splits with these labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, words in labels.items():
        names = sorted(set(words))
        y = np.array([names.index(word) for word in words])
        np.savez(folder / f"{split}.npz", X=np.eye(8)[y], y=y, classes=np.array(names))


def test_features_that_cannot_be_used_do_not_stop_the_others(tmp_path: Path) -> None:
    own(tmp_path / "dtd", train=["p", "q"], val=["p", "p"], test=["p", "q"])
    own(tmp_path / "pets", train=["p", "q"], val=["p", "q"], test=["p", "q"])
    own(tmp_path / "food101", train=["p"], val=["p"], test=["p"])
    own(tmp_path / "eurosat", all=["p", "p"])
    own(tmp_path / "cars", train=["p", "q"], test=["p", "q"])
    own(tmp_path / "flowers", train=["p", "q"], val=["p", "q"])
    (tmp_path / "flowers/test.npz").write_bytes(b"PK")
    found, faults = find_task_features(tmp_path, [], ["mine"])
    assert [task.dataset.name for task in found] == ["pets"]
    by_name = {fault.domain: fault.sentence for fault in faults}
    assert list(by_name) == ["cars", "dtd", "flowers", "food101", "eurosat"]
    assert by_name["dtd"] == "dtd: features by mine: no validation image of q; every class needs one."
    assert "all images are of one class (p); two at least are needed" in by_name["food101"]
    assert "all images are of one class (p)" in by_name["eurosat"]
    assert "no val; each split needs its own" in by_name["cars"]
    assert "test.npz" in by_name["flowers"]
    [fault] = find_task_features(tmp_path, ["pets", "sun397"], []).faults
    assert fault.sentence.startswith("sun397: no features of this data set below")
    with pytest.raises(UserError, match=r"^dtd: .*no validation image of q.*\(and 1 more that cannot be used\)"):
        find_task_features(tmp_path, ["dtd", "food101"], [])


def test_classes_are_counted_one_by_one_where_images_show_several(tmp_path: Path) -> None:
    words = ["p", "q", "p+q", "none", "p+q?", "r+q"]
    own(tmp_path / "voc2007", train=words, val=words, test=words)
    [found] = find_task_features(tmp_path, [], ["mine"]).features
    assert (found.classes, found.fewest) == (3, 3)  # r is in one image of each split
    entries = [Entry(f"{split}/{number}", word) for split in SPLITS for number, word in enumerate(words)]
    manifest = Manifest(entries, [split for split in SPLITS for _ in words])
    source = array_images(np.zeros((len(entries), 4, 4), np.uint8), [entry.label for entry in entries])
    spec = Spec("b", "w", "penultimate", "none", 8, 1, Transform(size=4, resize=4))
    expected = expected_features(OpenDataset(DATASETS["voc2007"], source, manifest), spec)
    assert (expected.classes, expected.fewest) == (3, 3)


def test_own_files(tmp_path: Path) -> None:
    (tmp_path / "pets").mkdir()
    for split in ("train", "val", "test"):
        np.savez(tmp_path / "pets" / f"{split}.npz", X=np.eye(4), y=np.arange(4))
    [found] = find_task_features(tmp_path, [], ["mine"]).features
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
    with pytest.raises(UserError, match=r"digit: no features of this data set.*did you mean digits"):
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


def test_a_large_job_gets_all_threads_and_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "features/pets").mkdir(parents=True)
    for split, images in (("train", 40), ("val", 20), ("test", 20)):
        y = np.arange(6).repeat(images)
        np.savez(tmp_path / f"features/pets/{split}.npz", X=np.eye(6)[y] + 0.6 * rng.normal(size=(len(y), 6)), y=y)
    found = find_task_features(tmp_path / "features", [], ["mine"]).features
    jobs = task_jobs(found, ERICSSON_2021)
    assert by_size(jobs, found) == (jobs, [])
    real_sizes = replace(found[0], rows={"train": 40_000, "val": 10_000, "test": 10_000}, classes=100, dimension=2048)
    assert by_size(jobs, [real_sizes]) == (jobs[1:], jobs[:1])

    for module in (tasks, task_plan):
        monkeypatch.setattr(module, "on_gpu", lambda: False)
    threads: dict[float, list[int]] = {}
    for large in (task_plan.LARGE, 1e6):
        monkeypatch.setattr(task_plan, "LARGE", large)
        seen = threads.setdefault(large, [])
        work = tasks.run_task_job

        def noted(job: TaskJob, seen: list[int] = seen, work: Any = work, **given: Any) -> dict[str, Any]:
            seen.append(torch.get_num_threads())
            return work(job, **given)

        with monkeypatch.context() as patch:
            patch.setattr(tasks, "run_task_job", noted)
            assert set(tasks.run_tasks(jobs[:1], found, tmp_path / str(large), workers=2)) == set(jobs[:1])
    assert threads == {5e12: [1], 1e6: [2]}
    one, two = (read_result(tmp_path / str(large), job_key(jobs[0])) for large in threads)
    assert one is not None
    assert two is not None
    assert two.values["mean-per-class"] == pytest.approx(one.values["mean-per-class"])
    assert two.values["ece"] == pytest.approx(one.values["ece"], rel=1e-4)
    monkeypatch.setattr(task_plan, "LARGE", 0.0)
    monkeypatch.setattr(task_plan, "product_rate", lambda _: 1e6)
    assert 0 < probing_seconds(jobs, found, tmp_path / "none", 2) < probing_seconds(jobs, found, tmp_path / "none", 1)
