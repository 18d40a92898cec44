"""The order of images in TensorFlow Datasets, whose first images are the samples of VTAB-1k.

TensorFlow Datasets stores the examples of a split in the order of MD5(split ‖ key), where a key is the number of an
image in its file, or its file name. The Visual Task Adaptation Benchmark (Zhai et al. 2019) takes slices of that order,
so the same images are found in the original files, without TensorFlow.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from unseen.data.core.chosen import choose_images
from unseen.data.core.rows import ALL, Listing, Row

STORED_AS = {"train": "train", ALL: "train", "val": "validation", "test": "test"}
"""Part of the authors → name of the split in TensorFlow Datasets."""
Key = Callable[[Row], str]


@dataclass(frozen=True)
class Cut:
    """A slice of a split of TensorFlow Datasets, from one percentage of its images to another."""

    split: str
    first: int = 0
    last: int = 100

    def of(self, ordered: Sequence[int]) -> Sequence[int]:
        """The images of the slice among those of the split."""
        count = len(ordered)
        return ordered[self.first * count // 100 : self.last * count // 100]


Cuts = Mapping[str, Cut]
"""Part → the images that it consists of."""
AUTHORS: Cuts = {"train": Cut("train"), "val": Cut("validation"), "test": Cut("test")}


def held_out(percent: int, test: str = "test") -> Cuts:
    """The last images of the training split become validation images."""
    return {"train": Cut("train", 0, 100 - percent), "val": Cut("train", 100 - percent, 100), "test": Cut(test)}


def drawn(train: int, val: int) -> Cuts:
    """One split, divided by percentages; the rest is for testing."""
    return {
        "train": Cut("train", 0, train), "val": Cut("train", train, train + val), "test": Cut("train", train + val),
    }  # fmt: skip


def by_number(row: Row) -> str:
    """The key of an image that is identified by its number: of `train/00000012`, it is 12."""
    return str(int(row.id.rpartition("/")[2]))


def by_name(row: Row) -> str:
    """The key of an image that is identified by the name of its file."""
    return row.id.rpartition("/")[2]


def hashed_order(split: str, keys: Sequence[str]) -> list[int]:
    """The positions of keys in the order in which TensorFlow Datasets stores their images."""
    salted = hashlib.md5(split.encode(), usedforsecurity=False)

    def place(number: int) -> bytes:
        digest = salted.copy()
        digest.update(keys[number].encode())
        return digest.digest()

    return sorted(range(len(keys)), key=place)


def divided(listing: Listing, cuts: Cuts, key: Key) -> Listing:
    """The images in parts of the benchmark, in its order.

    Args:
        listing: with the parts of the authors.
        key: the key of an image in TensorFlow Datasets.
    """
    splits = dict[str, list[int]]()
    for number, row in enumerate(listing.rows):
        splits.setdefault(STORED_AS[row.part], []).append(number)
    ordered = {
        split: [numbers[place] for place in hashed_order(split, [key(listing.rows[number]) for number in numbers])]
        for split, numbers in splits.items()
    }
    return _chosen(
        listing, [(number, part) for part, cut in cuts.items() for number in cut.of(ordered.get(cut.split, []))]
    )


def first_images(listing: Listing, most: Mapping[str, int]) -> Listing:
    """At most so many images of each part, from the first on; parts that are not named are whole."""
    left, kept = dict(most), list[tuple[int, str]]()
    for number, row in enumerate(listing.rows):
        if left.get(row.part, 1) > 0:
            kept.append((number, row.part))
            if row.part in left:
                left[row.part] -= 1
    return _chosen(listing, kept)


def _chosen(listing: Listing, kept: Sequence[tuple[int, str]]) -> Listing:
    rows = [listing.rows[number]._replace(part=part) for number, part in kept]
    numbers, labels = [number for number, _ in kept], [row.label for row in rows]
    return Listing(
        rows, lambda: choose_images(listing.open(), numbers, labels, "the benchmark's images"), listing.missing
    )
