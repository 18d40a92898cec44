"""Releases of ImageNet, known by their counts."""

from pathlib import Path

import pytest

from unseen.data.core.releases import provenance, recognise
from unseen.ontology.wordnet import wordnet

IN_1K = wordnet().members("imagenet-1k")
FALL = wordnet().members("imagenet-21k")


@pytest.mark.parametrize(
    ("classes", "images", "name"),
    [
        (FALL, 14_197_122, "ImageNet-21K, Fall 2011"),
        (FALL, 14_197_114, "ImageNet-21K, Fall 2011"),
        (FALL[:19_167], 13_153_500, "ImageNet-21K, Winter 2021"),
        (IN_1K, 1_281_167, "ImageNet-1K, training"),
        (IN_1K, 50_000, "ImageNet-1K, validation"),
        (IN_1K, 1_281_066, "ImageNet-1K with blurred faces, training"),
        (IN_1K, 49_997, "ImageNet-1K with blurred faces, validation"),
        (IN_1K, 49_999, None),
        (IN_1K[1:], 50_000, None),
        (FALL[:1000], 50_000, None),
        ([str(i) for i in range(1000)], 50_000, None),
    ],
)
def test_recognised_by_counts_and_classes(classes: list[str], images: int, name: str | None) -> None:
    assert recognise(classes, images) == name
    assert provenance("k", classes, images).get("release") == name


def test_the_fall_2011_count_is_that_of_the_counts_table(counts_file: Path) -> None:
    lines = counts_file.read_text().splitlines()[1:]
    counts = {line.split(",")[0]: int(line.split(",")[1]) for line in lines}
    assert recognise(counts, sum(counts.values())) == "ImageNet-21K, Fall 2011"
