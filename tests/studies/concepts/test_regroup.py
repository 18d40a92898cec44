"""Features of other levels, out of those that are there: the rows of an extraction of those levels themselves."""

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import numpy as np
import pytest

from tiny_imagenet import LEVELS, TEST, TinyImageNet, make_tiny_imagenet
from unseen.backbones.load import load_backbone
from unseen.data.concepts.domains import level_domains
from unseen.data.core.splits import SplitRule
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.features.store import write_store
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.means import ALONE
from unseen.studies.concepts.regroup import grouped
from unseen.studies.stored_features import Place

Levels = Mapping[str, Collection[str]]
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
        passes = [
            Pass(*domain.part(split), split, folder / domain.name) for domain in domains for split in ("train", "test")
        ]
        list(extract_passes(ALONE, passes, [backbone], Settings(workers=0)))
        return folder

    return run


def regroup(folder: Path, backbone: str, levels: Levels, out: Path, most: int | None = None) -> dict[str, list[Place]]:
    """The training and test features of each domain, written where they are missing."""
    made = {each.domain: each.written() for each in grouped(folder, backbone, levels, out, most=most)}
    return {domain: [places["train"], places["test"]] for domain, places in made.items()}


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
    with pytest.raises(UserError, match="regrouped into another folder"):
        regroup(base, tiny.backbone, wanted, tmp_path / "out" / ".." / "base")
    assert sorted(base.rglob("*")) == before


def test_an_unfinished_split_is_named(tiny: TinyImageNet, extract: Callable[..., Path], tmp_path: Path) -> None:
    base = extract(tmp_path / "base", {"l1": tuple(LEVELS[1])})
    [store] = (base / "l1").glob("*-test-*")
    (store / "manifest.json").unlink()
    with pytest.raises(UserError, match="no finished test features to regroup; finish the extraction"):
        regroup(base, tiny.backbone, {"a": tuple(LEVELS[1])[:2]}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def features_of(
    folder: Path, split: str, classes: str, each: int, *, backbone: str = "", ids: str = "", width: int = 3
) -> None:
    """Features of classes named by letters; a store of a backbone if there is one, otherwise a file.

    A row has the number of its class, its own number and the number of its split.
    """
    y = np.repeat(np.arange(len(classes)), each)
    number = ["train", "val", "test", "all"].index(split)
    X = np.zeros((len(y), width), np.float32)
    X[:, :3] = np.column_stack([y, np.arange(len(y)), np.full(len(y), number)])
    names = [f"{classes[label]}/{ids or split}{n}.jpg" for n, label in enumerate(y)]
    if backbone:
        about = {"backbone": {"id": backbone}, "split": split}
        write_store(folder / f"{ids}{split}-of-{backbone}", [(X, y)], list(classes), provenance=about, ids=names)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        more = {"ids": np.array(names)} if ids else {}
        np.savez(folder / f"{split}.npz", X=X, y=np.array(list(classes))[y], **more)


@pytest.mark.parametrize("backbone", ["", "b"])
@pytest.mark.parametrize("most", [None, 4])
def test_validation_features_are_for_training(backbone: str, most: int | None, tmp_path: Path) -> None:
    for split, each in (("train", 5), ("val", 2), ("test", 3)):
        features_of(tmp_path / "mine", split, "abcd", each, backbone=backbone)
    levels = {"l1": ("a", "c"), "l2": ("b", "d"), "l3": tuple("abcd")}
    made = regroup(tmp_path / "mine", backbone or "yours", levels, tmp_path / "out", most=most)
    for domain, concepts in levels.items():
        train, test = (read_features(place.path) for place in made[domain])
        assert np.bincount(train.y).tolist() == [most or 7] * len(concepts)
        assert np.bincount(test.y).tolist() == [3] * len(concepts)
        assert {tuple(row) for row in test.X[:]} == {
            ("abcd".index(name), 3.0 * "abcd".index(name) + n, 2) for name in concepts for n in range(3)
        }
        if most is None:
            assert {tuple(row) for row in train.X[:]} == {
                ("abcd".index(name), each * "abcd".index(name) + n, split)
                for name in concepts
                for split, each in ((0, 5), (1, 2))
                for n in range(each)
            }
    [planned] = grouped(tmp_path / "mine", backbone or "yours", {"l3": "abcd"}, tmp_path / "x", most=most)
    assert planned.counts == ([most or 7] * 4, [3] * 4)


def test_unsplit_features_are_refused(tmp_path: Path) -> None:
    for split in ("train", "test", "all"):
        features_of(tmp_path / "mine", split, "ab", 3, backbone="b")
    with pytest.raises(UserError, match="all-of-b"):
        regroup(tmp_path / "mine", "b", {"l1": ("a", "b")}, tmp_path / "out")
    features_of(tmp_path / "others", "all", "cd", 3, backbone="b")
    (tmp_path / "mine/all-of-b").rename(tmp_path / "unused")
    (tmp_path / "others").rename(tmp_path / "mine/others")  # of other classes
    assert list(regroup(tmp_path / "mine", "b", {"l1": ("a", "b")}, tmp_path / "out")) == ["l1"]


@pytest.mark.parametrize("classes", ["ab", "cd"])
def test_features_of_two_places_are_not_mixed(classes: str, tmp_path: Path) -> None:
    """Beside `train` and `test` of all classes, those of a domain may be of another backbone, and nothing tells."""
    for split in ("train", "test"):
        features_of(tmp_path / "mine", split, "abef", 3)
        features_of(tmp_path / "mine/known", split, classes, 3)
    levels = {"l1": ("a", "b", *classes)}
    with pytest.raises(UserError, match=r"known"):
        regroup(tmp_path / "mine", "yours", levels, tmp_path / "out")
    with pytest.raises(UserError, match=r"known"):
        list(grouped(tmp_path / "mine", "yours", levels, tmp_path / "out"))
    # Features that are not used do not matter.
    assert regroup(tmp_path / "mine", "yours", {"l1": ("e", "f")}, tmp_path / "out")


def test_a_class_with_features_of_other_images_is_refused(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for domain, ids in (("l1", "one"), ("l2", "one"), ("l3", "other")):
            features_of(tmp_path / f"mine/{domain}", split, f"a{domain[1]}", 3, backbone="b", ids=ids + split)
    with pytest.raises(UserError, match="^a: .*l1.*l3"):
        regroup(tmp_path / "mine", "b", {"l1": ("a", "1", "2")}, tmp_path / "out")
    (tmp_path / "mine/l3").rename(tmp_path / "l3")
    [(train, _)] = regroup(tmp_path / "mine", "b", {"l1": ("a", "1", "2")}, tmp_path / "out").values()
    assert len(read_features(train.path)) == 9


def test_an_image_for_training_and_validation_is_refused(tmp_path: Path) -> None:
    for split, ids in (("train", "same"), ("val", "same"), ("test", "other")):
        features_of(tmp_path / "mine", split, "ab", 3, ids=ids)
    with pytest.raises(UserError, match=r"val.npz.*train.npz.*a/same0.jpg"):
        regroup(tmp_path / "mine", "yours", {"l1": ("a", "b")}, tmp_path / "out")


def test_features_of_other_dimensions_are_refused(tmp_path: Path) -> None:
    for split in ("train", "test"):
        features_of(tmp_path / "mine/x", split, "ab", 3)
        features_of(tmp_path / "mine/y", split, "cd", 3, width=4)
    with pytest.raises(UserError, match="4 dimensions"):
        regroup(tmp_path / "mine", "yours", {"l1": ("a", "c")}, tmp_path / "out")


def test_a_domain_of_one_class_is_refused(tmp_path: Path) -> None:
    for split in ("train", "test"):
        features_of(tmp_path / "mine", split, "abc", 3)
    with pytest.raises(UserError, match="l2"):
        list(grouped(tmp_path / "mine", "yours", {"l1": ("a", "b"), "l2": ("c",)}, tmp_path / "out"))


def test_features_that_exist_are_known_before_others_are_written(tmp_path: Path) -> None:
    for split in ("train", "test"):
        features_of(tmp_path / "mine", split, "abcd", 3)
    levels = {"l1": ("a", "b"), "l2": ("c", "d")}
    regroup(tmp_path / "mine", "yours", {"l1": levels["l1"]}, tmp_path / "out")
    first, second = grouped(tmp_path / "mine", "yours", levels, tmp_path / "out")
    assert set(first.places or ()) == {"train", "test"}
    assert second.places is None
