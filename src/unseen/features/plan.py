"""The images that an extraction processes, and their division into shards."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.manifest import Manifest
from unseen.data.core.source import ImageSource
from unseen.errors import UserError, did_you_mean


@dataclass(frozen=True, eq=False)
class Plan:
    """The images of a split, as columns: a million images take 16 MB.

    The division into shards depends only on the positions of the images here, not on who works on them nor on which
    images turn out to be damaged.

    Attributes:
        numbers: (n,) index of each image in its source.
        labels: (n,) class indices into `classes`.
        classes: all classes of the manifest, sorted, so that its splits agree.
    """

    numbers: NDArray[np.int64]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    shard_rows: int

    @property
    def shards(self) -> int:
        return -(-len(self.numbers) // self.shard_rows)

    def images(self, shard: int) -> range:
        """The positions of a shard's images."""
        return range(shard * self.shard_rows, min((shard + 1) * self.shard_rows, len(self.numbers)))


def plan(source: ImageSource, manifest: Manifest, split: str, shard_rows: int) -> Plan:
    """Find the images of a split; an image that the source lacks, or a split without images, is an error."""
    codes: dict[str, int] = {}
    places, found = array("q"), array("q")
    for place, (entry, word) in enumerate(zip(manifest.entries, manifest.splits, strict=True)):
        code = codes.setdefault(entry.label, len(codes))
        if word == split:
            if "\n" in entry.id or "\r" in entry.id:
                raise UserError(f"{entry.id!r}: the name of an image cannot have a line end in it; rename it")
            places.append(place)
            found.append(code)
    if not places:
        there = sorted(set(manifest.splits))
        hint = did_you_mean(split, there)
        raise UserError(f"no images of split '{split}' in the manifest, only of {', '.join(there)}{hint}")
    classes = tuple(sorted(codes))
    rank = np.empty(len(classes), dtype=np.int64)
    rank[[codes[name] for name in classes]] = np.arange(len(classes))
    labels = rank[np.frombuffer(found, dtype=np.int64)]
    return Plan(_numbers(source, manifest, split, np.array(places, dtype=np.int64)), labels, classes, shard_rows)


def _numbers(source: ImageSource, manifest: Manifest, split: str, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices in the source of the images at some positions of the manifest.

    A manifest usually has the order of its source: both are traversed side by side, and a table of ids, which takes
    hundreds of bytes per image, is only built if that does not find all images.
    """
    if manifest.entries is source.entries:
        return places
    numbers = np.fromiter(_side_by_side(source, manifest, split), dtype=np.int64)
    return numbers if len(numbers) == len(places) else np.array(manifest.numbers(source, split), dtype=np.int64)


def _side_by_side(source: ImageSource, manifest: Manifest, split: str) -> Iterator[int]:
    rows = zip(manifest.entries, manifest.splits, strict=True)
    wanted = (entry for entry, word in rows if word == split)
    entry = next(wanted, None)
    for number, candidate in enumerate(source.entries):
        if entry is None:
            return
        if candidate == entry:
            yield number
            entry = next(wanted, None)
