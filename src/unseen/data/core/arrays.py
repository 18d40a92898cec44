"""Images in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.entries import EntryTable
from unseen.data.core.releases import provenance
from unseen.errors import UserError


@dataclass(frozen=True, eq=False)
class ArrayImages:
    """Images held in memory as one array of pixels, (n, h, w) or (n, h, w, 3)."""

    pixels: NDArray[np.uint8] = field(repr=False)
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> NDArray[np.uint8]:
        image: NDArray[np.uint8] = self.pixels[number]
        return image


def array_images(pixels: NDArray[Any], labels: Sequence[Any], ids: Sequence[str] = ()) -> ArrayImages:
    """Images from a uint8 array, grey (n, h, w) or RGB (n, h, w, 3).

    Args:
        labels: (n,) classes, as names or numbers.
        ids: names of the images; by default their indices in the array.
    """
    channels = pixels.shape[3:]
    if pixels.dtype != np.uint8 or pixels.ndim not in {3, 4} or channels not in {(), (3,)} or 0 in pixels.shape:
        kind = f"{pixels.dtype} {tuple(pixels.shape)}"
        raise UserError(f"images must be uint8 of shape (n, h, w) or (n, h, w, 3) with values 0 … 255, not {kind}")
    if len(labels) != len(pixels) or (len(ids) and len(ids) != len(pixels)):
        raise UserError(f"{len(pixels)} images but {len(labels)} labels and {len(ids)} ids")
    names = ids if len(ids) else [f"{number:08d}" for number in range(len(pixels))]
    rows = zip((str(name) for name in names), (str(label) for label in labels), strict=True)
    entries = EntryTable.of(rows, "the array of images")
    return ArrayImages(pixels, entries, provenance("array", entries.classes, len(entries)))
