"""Splits: the right numbers, independent of order, and a manifest that can be trusted."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.data.core.name_codec import pack_names, unpack_names
from unseen.data.core.splits import COG, COG_BALANCED, SplitRule, Splits, draw_splits
from unseen.errors import UserError


def images(name: str, count: int) -> list[str]:
    return [f"{name}_{i * 7 + 1}.JPEG" for i in range(count)]


CLASSES = {f"n0000000{i}": images(f"n0000000{i}", count) for i, count in enumerate([782, 1349, 1350, 2000])}


@pytest.fixture(scope="module")
def splits() -> Splits:
    return draw_splits(CLASSES.items(), CLASSES, source="test", seed=0)


def test_cog_takes_50_for_test_and_at_most_1300_for_training(splits: Splits) -> None:
    assert [(len(s.train), len(s.test)) for s in splits.classes.values()] == [
        (732, 50),
        (1299, 50),
        (1300, 50),
        (1300, 50),
    ]
    for name, split in splits.classes.items():
        assert not set(split.train) & set(split.test)
        assert {*split.train, *split.test} <= set(CLASSES[name])
        assert list(split.train) == sorted(split.train)


def test_the_balanced_variant_is_a_part_of_it(splits: Splits) -> None:
    balanced = draw_splits(CLASSES.items(), CLASSES, source="test", rule=COG_BALANCED)
    for name, split in balanced.classes.items():
        assert len(split.train) == 732
        assert split.test == splits.classes[name].test
        assert set(split.train) <= set(splits.classes[name].train)


def test_order_of_files_and_classes_does_not_matter(splits: Splits) -> None:
    rng = random.Random(0)
    shuffled = [(name, rng.sample(names, len(names))) for name, names in reversed(CLASSES.items())]
    assert draw_splits(shuffled, reversed(CLASSES), source="test") == splits
    alone = draw_splits([("n00000003", CLASSES["n00000003"])], ["n00000003"], source="test")
    assert alone.classes["n00000003"] == splits.classes["n00000003"]


def test_another_seed_draws_other_images_and_has_another_hash(splits: Splits) -> None:
    other = draw_splits(CLASSES.items(), CLASSES, source="test", seed=1)
    shared = set(other.classes["n00000003"].test) & set(splits.classes["n00000003"].test)
    assert len(shared) < 10
    assert other.content_hash != splits.content_hash


def test_every_image_is_as_likely_to_test() -> None:
    """Over 400 seeds each of 20 images should test 100 times; the deviation is 8.7, so 5 of them is far out."""
    names = images("n1", 20)
    rule = SplitRule(test=5, min_train=1, max_train=15)
    drawn = [draw_splits([("n1", names)], ["n1"], source="", rule=rule, seed=s).classes["n1"].test for s in range(400)]
    counts = [sum(name in test for test in drawn) for name in names]
    assert max(abs(count - 100) for count in counts) < 5 * 8.7


def test_the_manifest_survives_and_is_small(splits: Splits, tmp_path: Path) -> None:
    path = tmp_path / "splits.npz"
    splits.write(path)
    assert Splits.read(path) == splits
    assert path.stat().st_size < 3 * sum(len(s.train) + len(s.test) for s in splits.classes.values()) + 2000


def test_a_changed_manifest_is_refused(splits: Splits, tmp_path: Path) -> None:
    path = tmp_path / "splits.npz"
    splits.write(path)
    with np.load(path) as file:
        arrays = dict(file.items())
    arrays["test_gap"] = arrays["test_gap"].copy()
    arrays["test_gap"][3] += 1
    np.savez(path, **arrays)
    with pytest.raises(UserError, match="does not match its hash"):
        Splits.read(path)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(UserError, match="not a splits manifest"):
        Splits.read(tmp_path / "bad.npz")


def test_too_few_images_and_missing_classes_are_named() -> None:
    with pytest.raises(UserError, match="n1 has 781 images, but 50 \\+ 732 are needed"):
        draw_splits([("n1", images("n1", 781))], ["n1"], source="x")
    with pytest.raises(UserError, match="x: no images of n2 and 1 more concepts"):
        draw_splits([("n1", images("n1", 800))], ["n1", "n2", "n3"], source="x")
    with pytest.raises(UserError, match="two images of the same name"):
        draw_splits([("n1", ["a.jpg"] * 800)], ["n1"], source="x")
    with pytest.raises(UserError, match="min_train ≤ max_train"):
        draw_splits([], [], source="x", rule=SplitRule(50, 800, 700))


def test_rules_of_the_paper() -> None:
    assert (COG.test, COG.min_train, COG.max_train) == (50, 732, 1300)
    assert (COG_BALANCED.min_train, COG_BALANCED.max_train) == (732, 732)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), min_size=1, max_size=12)
NUMBERED = st.integers(0, 10**12).map(lambda number: f"n01440764_{number}.JPEG")
FOREIGN = st.integers(0, 9).map(lambda number: f"img1{chr(0x660 + number)}.jpg")
PADDED = st.integers(0, 999).map(lambda number: f"img{number:05d}.png")


@given(
    st.lists(
        st.lists(NAMES, unique=True)
        | st.lists(NUMBERED, unique=True)
        | st.lists(PADDED, unique=True)
        | st.lists(FOREIGN, unique=True)
    )
)
def test_names_survive_packing(groups: list[list[str]]) -> None:
    assert unpack_names(pack_names(groups)) == [tuple(sorted(group)) for group in groups]


def test_a_name_with_a_line_end_is_refused() -> None:
    with pytest.raises(ValueError, match="line end"):
        pack_names([["a\nb"]])
