"""A subset of the images of a source, with labels that may differ from the source's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.entries import EntryTable
from unseen.data.core.source import Image, ImageSource


@dataclass(frozen=True, eq=False)
class ChosenImages:
    """Images at given positions of a source; `entries` has the same ids and the new labels."""

    source: ImageSource
    numbers: NDArray[np.int64]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> Image:
        return self.source.read(int(self.numbers[number]))


def choose_images(source: ImageSource, numbers: Sequence[int], labels: Sequence[str], where: str) -> ChosenImages:
    """The images at the given positions of a source, each with the given label."""
    entries = source.entries
    rows = ((entries[number].id, label) for number, label in zip(numbers, labels, strict=True))
    return ChosenImages(source, np.array(numbers, dtype=np.int64), EntryTable.of(rows, where), source.about)
