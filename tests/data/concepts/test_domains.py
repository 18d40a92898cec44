"""The images of domains: each concept split as the draw says, whatever the source, and nothing silently left out."""

import random
from pathlib import Path

import pytest

from tiny_imagenet import IMAGES, LEVELS, SEEN, TEST, TRAIN, TinyImageNet, make_tiny_imagenet
from unseen.data.concepts.domains import DRAWN_BY, SOMEBODY_ELSE, US, level_domains, seen_domain
from unseen.data.core.folder import folder_images
from unseen.data.core.listing import list_images
from unseen.data.core.manifest import Manifest, drawn
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.splits import ClassSplit, SplitRule, Splits, draw_splits
from unseen.data.sources.imagenet_1k import imagenet_1k
from unseen.data.sources.list_file import listed_images
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError

WANTED = {f"l{level}": tuple(concepts) for level, concepts in LEVELS.items()}
RULE = SplitRule(TEST, 2, TRAIN)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def rows(domain: OpenDataset) -> set[tuple[str, str, str]]:
    return images(domain.part("train")[1])


def images(manifest: Manifest) -> set[tuple[str, str, str]]:
    return {(entry.id, entry.label, word) for entry, word in zip(manifest.entries, manifest.splits, strict=True)}


def test_levels_are_split_as_one_class_at_a_time(tiny: TinyImageNet) -> None:
    source = open_images(tiny.imagenet_21k)
    domains, lost = level_domains(source, WANTED, "tiny", rule=RULE)
    assert not lost
    assert [domain.name for domain in domains] == ["l1", "l2"]
    for domain in domains:
        splits = draw_splits(list_images(tiny.imagenet_21k), WANTED[domain.name], source="x", rule=RULE)
        manifest = drawn(source, splits)  # the plain way, over the source once for each level
        expected = {
            (entry.id, entry.label, word) for entry, word in zip(manifest.entries, manifest.splits, strict=True)
        }
        assert rows(domain) == expected
        assert domain.rows == {"train": 3 * TRAIN, "test": 3 * TEST}
        assert domain.classes == tuple(sorted(WANTED[domain.name]))


def test_who_drew_the_images_is_told(tiny: TinyImageNet) -> None:
    source = open_images(tiny.imagenet_21k)
    level_domains(source, WANTED, "tiny", rule=RULE)
    assert source.about[DRAWN_BY] == US
    ours = Splits.read(tiny.splits)
    level_domains(source, WANTED, "tiny", splits=ours)
    assert source.about[DRAWN_BY] == US
    level_domains(source, WANTED, "tiny", splits=Splits(ours.classes, "the authors"))
    assert source.about[DRAWN_BY] == SOMEBODY_ELSE


def test_a_shuffled_list_gives_the_same_images(tiny: TinyImageNet, tmp_path: Path) -> None:
    by_tar, _ = level_domains(open_images(tiny.imagenet_21k), WANTED, "tiny", rule=RULE)
    lines = [f"{wnid}/{name},{wnid}" for wnid, names in list_images(tiny.imagenet_21k) for name in names]
    random.Random(0).shuffle(lines)
    first = tmp_path / lines[0].partition(",")[0]  # the one that is looked for when a list is opened
    first.parent.mkdir()
    first.touch()
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *lines]))
    by_list, _ = level_domains(listed_images(tmp_path / "list.csv"), WANTED, "list", rule=RULE)
    assert [rows(domain) for domain in by_list] == [rows(domain) for domain in by_tar]


def test_a_concept_in_two_levels_is_in_both_with_the_same_images(tiny: TinyImageNet) -> None:
    shared = "n02121808"
    wanted = {"random1": (shared, "n02124623"), "random2": (shared, "n04285008")}
    domains, _ = level_domains(open_images(tiny.imagenet_21k), wanted, "tiny", rule=RULE)
    first, second = ({row for row in rows(domain) if row[1] == shared} for domain in domains)
    assert first == second
    assert len(first) == TEST + TRAIN


def test_class_balanced_images_are_among_the_others(tiny: TinyImageNet) -> None:
    source = open_images(tiny.imagenet_21k)
    [plain, _], [balanced, _] = (
        level_domains(source, WANTED, "tiny", rule=SplitRule(TEST, 4, most))[0] for most in (TRAIN, 4)
    )
    assert balanced.rows == {"train": 3 * 4, "test": 3 * TEST}
    assert rows(balanced) < rows(plain)


def test_what_is_missing_is_named_all_at_once(tiny: TinyImageNet) -> None:
    wanted = {"l1": (*WANTED["l1"], "n99999998", "n99999999")}
    source = open_images(tiny.imagenet_21k)
    with pytest.raises(UserError, match="no images of 2 of 5 concepts \\(n99999998, n99999999\\); do this"):
        level_domains(source, wanted, "tiny", rule=RULE, advice="do this")
    with pytest.raises(UserError, match=f"fewer than 23 images of 3 of 3 concepts \\(n02121808 has {IMAGES}"):
        level_domains(source, {"l1": WANTED["l1"]}, "tiny", rule=SplitRule(3, 20, 20))
    [domain], lost = level_domains(source, wanted, "tiny", rule=RULE, on_missing="report")
    assert domain.classes == tuple(sorted(WANTED["l1"]))
    assert lost.absent == ("n99999998", "n99999999")
    with pytest.raises(UserError, match="0 concepts of l1 have enough images"):
        level_domains(source, {"l1": WANTED["l1"]}, "tiny", rule=SplitRule(3, 20, 20), on_missing="report")


def test_splits_of_somebody_else_must_fit(tiny: TinyImageNet) -> None:
    source = open_images(tiny.imagenet_21k)
    splits = Splits.read(tiny.splits)
    [domain, _], _ = level_domains(source, WANTED, "tiny", splits=splits)
    assert domain.rows == {"train": 3 * TRAIN, "test": 3 * TEST}
    fewer = Splits({wnid: split for wnid, split in splits.classes.items() if wnid != "n02121808"}, "theirs")
    with pytest.raises(UserError, match="the splits of theirs: no images of 1 of 6 concepts \\(n02121808\\)"):
        level_domains(source, WANTED, "tiny", splits=fewer)
    wrong = dict(splits.classes)
    wrong["n02121808"] = ClassSplit((*wrong["n02121808"].train, "gone.JPEG"), wrong["n02121808"].test)
    with pytest.raises(UserError, match="1 images of n02121808 are in the splits but missing, gone.JPEG"):
        level_domains(source, WANTED, "tiny", splits=Splits(wrong, "theirs"))


def test_imagenet_1k_trains_on_one_set_and_tests_on_the_other(tiny: TinyImageNet) -> None:
    train, test = (imagenet_1k(tiny.imagenet_1k, split=split) for split in ("train", "val"))
    domain = seen_domain(train, test, list(SEEN), "tiny")
    assert (domain.name, domain.rows) == ("in1k", {"train": 3 * IMAGES, "test": 3 * TEST})
    assert domain.classes == tuple(sorted(SEEN))
    assert {entry.id.rpartition("/")[2][:15] for entry in domain.part("test")[1].entries} == {"ILSVRC2012_val_"}
    with pytest.raises(UserError, match="different classes: 1 occur only in seen \\(n00000001\\)"):
        seen_domain(train, test, [*SEEN, "n00000001"], "tiny")


def test_classes_that_only_training_has_are_named(tmp_path: Path) -> None:
    for place in ("train/a", "train/b", "val/a"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "1.jpg").write_bytes(b"")
    train, val = (folder_images(tmp_path / split) for split in ("train", "val"))
    with pytest.raises(UserError, match="different classes: 1 occur only in training \\(b\\)"):
        seen_domain(train, val, None, "here")
