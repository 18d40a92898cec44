"""Finding the features of the task study."""

from pathlib import Path

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.features.store import write_store
from unseen.images.registry import DATASETS
from unseen.runs.notices import notice
from unseen.studies.tasks.features import features_in, find_task_features
from unseen.studies.tasks.plan import TaskProbes
from unseen.studies.tasks.study import task_run


def store(folder: Path, split: str, backbone: str = "timm:x", rows: int = 20, weights: str = "w") -> None:
    X = np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)
    y = np.arange(rows) % 5
    about = {"backbone": {"id": backbone, "weights": weights}, "split": split, "key": f"{split}{backbone}"}
    write_store(folder / f"{backbone.replace(':', '-')}-{split}", [(X, y)], list("abcde"), provenance=about)


def test_features_of_several_backbones_are_found(tmp_path: Path) -> None:
    for backbone in ("timm:x", "timm:y"):
        for split in ("train", "val", "test"):
            store(tmp_path / "digits", split, backbone)
    store(tmp_path / "eurosat", "all")
    (tmp_path / "notes").mkdir()
    found = find_task_features(tmp_path, ["digits"], []).features
    assert [(each.backbone, each.dataset) for each in found] == [("timm:x", "digits"), ("timm:y", "digits")]
    assert list(found[0].rows.items()) == [("train", 20), ("val", 20), ("test", 20)]
    assert found[0].counts is not None
    assert (found[0].classes, min(found[0].counts.together), found[0].dimension) == (5, 12, 4)
    [other] = find_task_features(tmp_path, ["eurosat"], ["timm:x"]).features
    assert list(other.hashes) == ["all"]
    [digits], [fault], *_ = find_task_features(tmp_path, [], ["timm:y"])
    assert (digits.backbone, digits.dataset) == ("timm:y", "digits")
    assert fault.domain == "eurosat"
    assert "no all features of timm:y; extract them, or leave the data set out" in fault.sentence
    assert [each.backbone for each in features_in(tmp_path / "digits", DATASETS["digits"], ["timm:y"])] == ["timm:y"]
    assert features_in(tmp_path / "digits", DATASETS["digits"], ["timm:y", "timm:z"]) == []


def test_a_network_with_random_weights_is_reported(tmp_path: Path) -> None:
    for backbone, weights in (("timm:x", "random, seed 0"), ("timm:y", "x.a1_in1k")):
        for split in ("train", "val", "test"):
            store(tmp_path / "digits", split, backbone, weights=weights)
    found = find_task_features(tmp_path, ["digits"], []).features
    told = [each for each in task_run(found, DATASETS, TaskProbes(), top1={}).told if each.code == "random-weights"]
    assert told == [notice("random-weights", backbone="timm:x")]


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
    found, faults, *_ = find_task_features(tmp_path, [], ["mine"])
    assert [task.dataset for task in found] == ["pets"]
    by_name = {fault.domain: fault.sentence for fault in faults}
    assert list(by_name) == ["cars", "dtd", "flowers", "food101", "eurosat"]
    assert by_name["dtd"] == "Left out: dtd: features by mine: no validation image of q; every class needs one."
    assert "all images are of one class (p); at least two are needed" in by_name["food101"]
    assert "all images are of one class (p)" in by_name["eurosat"]
    assert "no val; each split needs its own" in by_name["cars"]
    assert "test.npz" in by_name["flowers"]
    [fault] = find_task_features(tmp_path, ["pets", "sun397"], []).faults
    assert fault.sentence.startswith("Left out: sun397: no features of this data set in")
    with pytest.raises(UserError, match=r"^dtd: .*no validation image of q.*\(and 1 more that cannot be used\)"):
        find_task_features(tmp_path, ["dtd", "food101"], [])


def test_own_files(tmp_path: Path) -> None:
    (tmp_path / "pets").mkdir()
    for split in ("train", "val", "test"):
        np.savez(tmp_path / "pets" / f"{split}.npz", X=np.eye(4), y=np.arange(4))
    [found] = find_task_features(tmp_path, [], ["mine"]).features
    assert (found.backbone, found.dataset, found.classes) == ("mine", "pets", 4)
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
    with pytest.raises(UserError, match="with several settings"):
        find_task_features(tmp_path, [], [])
