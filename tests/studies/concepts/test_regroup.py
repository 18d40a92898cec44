"""Features of other levels, out of those that are there: the rows of an extraction of those levels themselves."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tiny_imagenet import LEVELS, TEST, TinyImageNet, make_tiny_imagenet
from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.features.store import write_store
from unseen.images.domains import level_domains
from unseen.images.open_source import open_images
from unseen.images.splits import SplitRule
from unseen.studies.concepts.features import extract_domains
from unseen.studies.concepts.regroup import regroup

OTHER = {"random1": ("n02121808", "n04285008"), "random2": ("n02121808", "n02125081", "n03930630")}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


@pytest.fixture(scope="module")
def extract(tiny: TinyImageNet) -> Callable[..., Path]:
    """Extract the features of some levels by their own rule."""

    def run(folder: Path, levels: dict[str, tuple[str, ...]], most: int = 8) -> Path:
        rule = SplitRule(TEST, 4, most)
        domains, _ = level_domains(open_images(tiny.imagenet_21k), levels, "tiny", rule=rule)
        backbone = load_backbone(tiny.backbone)
        list(extract_domains(domains, [backbone], folder, Settings(workers=0), lambda *_: lambda _: None))
        return folder

    return run


def rows(place: Path) -> dict[tuple[str, str], tuple[float, ...]]:
    features = read_features(place)
    names = [features.classes[label] for label in features.y]
    return {key: tuple(row) for key, row in zip(zip(features.ids, names, strict=True), features.X[:], strict=True)}


@pytest.mark.parametrize("most", [None, 4])
def test_regrouped_rows_are_those_of_an_extraction(
    most: int | None, tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path
) -> None:
    base = extract(tmp_path / "base", {f"l{level}": tuple(concepts) for level, concepts in LEVELS.items()})
    direct = extract(tmp_path / "direct", OTHER, most or 8)
    made = regroup(base, tiny.backbone, OTHER, tmp_path / "out", most=most)
    for domain, concepts in OTHER.items():
        for split, place in zip(("train", "test"), made[domain], strict=True):
            [expected] = (direct / domain).glob(f"*-{split}-*")
            found, wanted = rows(place.path), rows(expected)
            assert found.keys() == wanted.keys()
            assert all(np.allclose(found[key], wanted[key], atol=1e-6) for key in wanted)
            assert read_features(place.path).classes == tuple(sorted(concepts))


def test_a_domain_that_is_there_is_taken_as_it_is(
    tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path
) -> None:
    base = extract(tmp_path / "base", {"l1": tuple(LEVELS[1])})
    [(train, test)] = regroup(base, tiny.backbone, {"l1": tuple(LEVELS[1])}, tmp_path / "out").values()
    assert {train.path.parent, test.path.parent} == {base / "l1"}
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_not_made_again(tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path) -> None:
    base = extract(tmp_path / "base", {"l1": tuple(LEVELS[1])})
    wanted = {"a": tuple(LEVELS[1])[:2]}
    [(train, _)] = regroup(base, tiny.backbone, wanted, tmp_path / "out").values()
    before = {file: file.stat().st_mtime_ns for file in train.path.iterdir()}
    [(again, _)] = regroup(base, tiny.backbone, wanted, tmp_path / "out").values()
    assert {file: file.stat().st_mtime_ns for file in again.path.iterdir()} == before
    [(fewer, _)] = regroup(base, tiny.backbone, wanted, tmp_path / "out", most=2).values()
    assert fewer.path != train.path


def test_concepts_that_are_nowhere_are_named(tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path) -> None:
    base = extract(tmp_path / "base", {"l1": tuple(LEVELS[1])})
    with pytest.raises(UserError, match="no train features of 1 of 2 concepts .n04285008.$"):
        regroup(base, tiny.backbone, {"random1": OTHER["random1"]}, tmp_path / "out")
    with pytest.raises(UserError, match="no features of timm:x"):
        regroup(base, "timm:x", OTHER, tmp_path / "out")


def own_files(folder: Path, *, named: bool, ids: bool) -> Path:
    """A user's own features of the levels, in files, each row the number of its concept and its own."""
    names = sorted(name for concepts in LEVELS.values() for name in concepts)
    for level, concepts in LEVELS.items():
        (folder / f"l{level}").mkdir(parents=True)
        for split, each in (("train", 6), ("test", 2)):
            labels = np.array(sorted(concepts)).repeat(each)
            X = np.array([[names.index(name), number + (split == "test")] for number, name in enumerate(labels)])
            y = labels if named else np.unique(labels, return_inverse=True)[1]
            more = {"ids": np.array([f"{name}/{n}.jpg" for n, name in enumerate(labels)])} if ids else {}
            np.savez(folder / f"l{level}/{split}.npz", X=X.astype(float), y=y, **more)
    return folder


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("most", [None, 4])
def test_files_are_regrouped_too(most: int | None, ids: bool, tmp_path: Path) -> None:
    base = own_files(tmp_path / "mine", named=True, ids=ids)
    names = sorted(name for concepts in LEVELS.values() for name in concepts)
    made = regroup(base, "mine", OTHER, tmp_path / "out", most=most)
    for domain, concepts in OTHER.items():
        for place, each in zip(made[domain], (most or 6, 2), strict=True):
            found = read_features(place.path)
            assert found.classes == tuple(sorted(concepts))
            assert np.bincount(found.y).tolist() == [each] * len(concepts)
            assert [names[int(row[0])] for row in found.X[:]] == [found.classes[label] for label in found.y]
            assert bool(found.ids) == ids
            assert (place.backbone, place.split) == ("mine", place.path.name.split("-")[1])
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*")}
    regroup(base, "mine", OTHER, tmp_path / "out", most=most)
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*")} == before


def test_numbered_classes_cannot_be_regrouped(tmp_path: Path) -> None:
    base = own_files(tmp_path / "mine", named=False, ids=True)
    with pytest.raises(UserError, match=r"l1/train.npz are only numbered"):
        regroup(base, "mine", OTHER, tmp_path / "out")


def test_stores_that_say_little_are_regrouped(tmp_path: Path) -> None:
    """As the demo writes them: called `train` and `test`, with a name for the backbone and no key."""
    for level, concepts in LEVELS.items():
        for split in ("train", "test"):
            y, names = np.arange(12) % 3, sorted(concepts)
            provenance = {"backbone": {"name": "tiny", "transform": "pixels / 255"}, "source": {"split": split}}
            X = np.random.default_rng(level).random((12, 4)) + (split == "test")
            write_store(tmp_path / f"base/l{level}/{split}", [(X, y)], names, provenance=provenance)
    made = regroup(tmp_path / "base", "tiny", OTHER, tmp_path / "out")
    assert [[place.backbone for place in sides] for sides in made.values()] == [["tiny", "tiny"]] * 2
    with pytest.raises(UserError, match="no features of other"):
        regroup(tmp_path / "base", "other", OTHER, tmp_path / "out")


def test_regrouped_stores_tell_which_images_were_left_out(
    tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path
) -> None:
    base = extract(tmp_path / "base", {f"l{level}": tuple(concepts) for level, concepts in LEVELS.items()})
    for level, label in ((1, "n02121808"), (2, "n04037443"), (2, "n04285008")):
        [store] = (base / f"l{level}").glob("*-train-*")
        manifest = json.loads((store / "manifest.json").read_text())
        manifest["provenance"]["damaged"].append({"id": f"{label}/0.jpg", "reason": "damaged", "label": label})
        (store / "manifest.json").write_text(json.dumps(manifest))
    made = regroup(base, tiny.backbone, OTHER, tmp_path / "out")
    left_out = {name: [image.label for image in train.known.damaged] for name, (train, _) in made.items()}
    assert left_out == {"random1": ["n02121808", "n04285008"], "random2": ["n02121808"]}


def test_regrouped_features_are_no_sources(tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path) -> None:
    base = extract(tmp_path / "base", {"l1": tuple(LEVELS[1])})
    wanted = {"a": tuple(LEVELS[1])[:2]}
    regroup(base, tiny.backbone, wanted, tmp_path / "out", most=2)
    with pytest.raises(UserError, match="no features of"):
        regroup(tmp_path / "out", tiny.backbone, wanted, tmp_path / "again")
    before = sorted(base.rglob("*"))
    with pytest.raises(UserError, match="must be regrouped into another folder"):
        regroup(base, tiny.backbone, wanted, tmp_path / "out" / ".." / "base")
    assert sorted(base.rglob("*")) == before


def test_an_unfinished_split_is_named(tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path) -> None:
    base = extract(tmp_path / "base", {"l1": tuple(LEVELS[1])})
    [store] = (base / "l1").glob("*-test-*")
    (store / "manifest.json").unlink()
    with pytest.raises(UserError, match="no finished test features to regroup; finish the extraction"):
        regroup(base, tiny.backbone, {"a": tuple(LEVELS[1])[:2]}, tmp_path / "out")
    assert not (tmp_path / "out").exists()
