"""The images that a network in training is measured on: decoded once, then read from memory or disk at every check."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.decoding.transform import Transform
from unseen.features.device_memory import sent
from unseen.features.pixels import BLOCK, Pixels, decode_pixels
from unseen.features.plan import Plan, plan
from unseen.studies.inputs.vector_features import splits_of
from unseen.studies.opened import StudyData

SHARD_ROWS = 10_000


@dataclass(eq=False)
class SplitImages:
    """The images of a split of a data set, of which this process takes every n-th batch.

    Attributes:
        folder: where decoded images are stored; it may be deleted at any time.
        workers: number of processes that decode.
        share: (place, number) of this process among those that share the work.
    """

    data: StudyData
    split: str
    transform: Transform
    folder: Path
    batch: int
    exif: bool = False
    workers: int = 0
    share: tuple[int, int] = (0, 1)
    _pixels: Pixels | None = field(default=None, init=False, repr=False)

    @cached_property
    def plan(self) -> Plan:
        """All images of the split, with their labels."""
        return plan(*self.data.images.part(self.split), self.split, SHARD_ROWS)

    @cached_property
    def starts(self) -> list[int]:
        """The first image of each batch of this process."""
        place, number = self.share
        return [*range(0, len(self.plan.numbers), self.batch)][place::number]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The images of this process, by their place in the split."""
        every = [np.arange(start, min(start + self.batch, len(self.plan.numbers))) for start in self.starts]
        return np.concatenate(every) if every else np.empty(0, np.int64)

    def pixels(self) -> Pixels:
        """The decoded images of this process; those that are not stored, or no longer, are decoded."""
        known = self._pixels
        if known is None or not all(block.path.is_file() for block in known.blocks):
            source, _ = self.data.images.part(self.split)
            numbers = self.plan.numbers[self.places]
            wanted = [(self.transform, len(numbers))]
            [known] = decode_pixels(
                source, numbers, wanted, self.folder, device=torch.device("cpu"), workers=self.workers, exif=self.exif
            )
            self._pixels = known
        return known

    def batches(self, device: torch.device) -> Iterator[Tensor]:
        """(b, size, size, 3) bytes on the device; the next batch is read while one is used."""
        if not len(self.places):
            return
        pixels = self.pixels()
        ends = [*range(self.batch, len(self.places), self.batch), len(self.places)]
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(_read, pixels, 0, ends[0])
            for start, stop in zip(ends, [*ends[1:], None], strict=True):
                rows = coming.result()
                if stop is not None:
                    coming = reader.submit(_read, pixels, start, stop)
                yield sent(torch.from_numpy(rows), device)

    def name(self, place: int) -> str:
        """The id of an image, for messages."""
        source, _ = self.data.images.part(self.split)
        return source.entries[int(self.plan.numbers[place])].id


def _read(pixels: Pixels, start: int, stop: int) -> NDArray[np.uint8]:
    """(b, side, side, 3) rows from `start` to `stop`."""
    parts = []
    while start < stop:
        block, row = divmod(start, BLOCK)
        images = min(stop - start, BLOCK - row)
        parts.append(pixels.blocks[block].read(row, images))
        start += images
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def splits_read(data: StudyData) -> tuple[str, ...]:
    """The splits of a data set that its probes use."""
    return tuple(splits_of(data).needed)
