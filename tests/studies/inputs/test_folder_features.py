"""Feature vectors of task data sets in a folder: what is found there, and what is wrong with the rest."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from studies import given_of, plan_of, run_of, study_of
from unseen.errors import UserError
from unseen.features.store import write_store
from unseen.runs.means import ALONE
from unseen.runs.notices import notice
from unseen.studies.inputs.vector_features import FoundFeatures
from unseen.studies.inputs.vectors import VectorStage
from unseen.studies.stages import open_study
from unseen.studies.watch import Silent


def find(folder: Path, datasets: Sequence[str] = ("all",), backbones: Sequence[str] = ()) -> FoundFeatures:
    """The features that a study of tasks uses."""
    study, given = given_of(study_of("ericsson-2021", datasets=datasets), backbones, features=folder)
    [stage] = open_study(study, given, ALONE, Silent()).stages
    assert isinstance(stage, VectorStage)
    return stage.source.found(folder / "out", ALONE, Silent())


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
    found = find(tmp_path, ["digits"]).features
    assert [(each.backbone, each.dataset) for each in found] == [("timm:x", "digits"), ("timm:y", "digits")]
    assert list(found[0].rows.items()) == [("train", 20), ("val", 20), ("test", 20)]
    assert found[0].counts is not None
    assert (found[0].classes, min(found[0].counts.together), found[0].dimension) == (5, 12, 4)
    [other] = find(tmp_path, ["eurosat"], ["timm:x"]).features
    assert list(other.hashes) == ["all"]
    both = find(tmp_path, backbones=["timm:y"])
    assert [(each.backbone, each.dataset) for each in both.features] == [("timm:y", "digits")]
    [fault] = both.faults
    assert fault.domain == "eurosat"
    assert "no all features of timm:y" in fault.sentence
    assert "extract them, or leave the data set out" in fault.sentence


def test_a_network_with_random_weights_is_reported(tmp_path: Path) -> None:
    for backbone, weights in (("timm:x", "random, seed 0"), ("timm:y", "x.a1_in1k")):
        for split in ("train", "val", "test"):
            store(tmp_path / "features/digits", split, backbone, rows=100, weights=weights)
    study = study_of("ericsson-2021", probes="knn")
    told = run_of(study, tmp_path / "run", features=tmp_path / "features").told
    assert [each for each in told if each.code == "random-weights"] == [notice("random-weights", backbone="timm:x")]


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
    found = find(tmp_path, backbones=["mine"])
    assert [task.dataset for task in found.features] == ["pets"]
    by_name = {fault.domain: fault.sentence for fault in found.faults}
    assert list(by_name) == ["cars", "dtd", "flowers", "food101", "eurosat"]
    assert by_name["dtd"] == "Left out: dtd: features by mine: no validation image of q; every class needs one."
    assert "all images are of one class (p); at least two are needed" in by_name["food101"]
    assert "all images are of one class (p)" in by_name["eurosat"]
    assert "no val" in by_name["cars"]
    assert "test.npz" in by_name["flowers"]
    [fault] = find(tmp_path, ["pets", "sun397"]).faults
    assert fault.domain == "sun397"
    assert "no features of sun397" in fault.sentence
    plan = plan_of(study_of("ericsson-2021", datasets=["pets", "dtd"]), tmp_path / "out", ["mine"], features=tmp_path)
    assert [each.domain for each in plan.notices if each.code == "left-out"] == ["dtd"]
    with pytest.raises(UserError, match=r"^dtd: .*no validation image of q.*\(and 1 more that cannot be used\)"):
        find(tmp_path, ["dtd", "food101"])


def test_own_files(tmp_path: Path) -> None:
    (tmp_path / "pets").mkdir()
    for split in ("train", "val", "test"):
        np.savez(tmp_path / "pets" / f"{split}.npz", X=np.eye(4), y=np.arange(4))
    [found] = find(tmp_path, backbones=["mine"]).features
    assert (found.backbone, found.dataset, found.classes) == ("mine", "pets", 4)
    with pytest.raises(UserError, match="features of one backbone"):
        find(tmp_path, backbones=["mine", "other"])
    (tmp_path / "pets/val.npz").unlink()
    with pytest.raises(UserError, match="pets: features of train, test, but no val; each split needs its own"):
        find(tmp_path)


def test_features_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        find(tmp_path / "nothing")
    with pytest.raises(UserError, match="no features of any data set"):
        find(tmp_path)
    for split in ("train", "test"):
        store(tmp_path / "digits", split)
    with pytest.raises(UserError, match="no val features of timm:x"):
        find(tmp_path)
    with pytest.raises(UserError, match=r"no features of digit; did you mean digits"):
        find(tmp_path, ["digit"])
    store(tmp_path / "digits", "val")
    (tmp_path / "digits/timm-x-val").rename(tmp_path / "digits/first")
    store(tmp_path / "digits", "val", rows=25)
    with pytest.raises(UserError, match="with several settings"):
        find(tmp_path)
