"""Training images decoded during training, for data of any size; small data sets are decoded once.

The images of each step and their augmentation are functions of the seed and the step number: a resumed training sees
the same data as an uninterrupted one, and caching images in memory does not change any number.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.features.batches import Decoder, Piece, decoded, geometry
from unseen.features.device_memory import sent
from unseen.probes.finetuning.images import whole_transform
from unseen.probes.finetuning.order import epoch_order
from unseen.probes.finetuning.protocol import FinetuneProtocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor

CHUNK = 2000
"""Steps whose images one set of worker processes decodes."""
KEPT = 1 << 30
"""Maximum bytes of pixels of a source that are cached in memory instead of being decoded in every epoch."""
AT_ONCE = 256

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StreamedImages:
    """The images of a source; `workers` is the number of decoding processes, 0 for this one."""

    source: ImageSource
    workers: int = 0
    _kept: "dict[Transform, _Kept]" = field(default_factory=dict)

    def training(
        self,
        numbers: Numbers,
        targets: "Callable[[Numbers], Tensor]",
        start: int,
        transform: Transform,
        protocol: FinetuneProtocol,
        seed: int,
        device: "torch.device",
    ) -> "Iterator[tuple[Tensor, Tensor]]":
        """Normalised images and targets of every step from `start` on; each epoch has its own order.

        Args:
            numbers: indices of the training images in the source.
            targets: maps indices in the source to targets, such as class indices (b,).
            transform: the network's, which determines the `size` of images.
        """
        import torch

        from unseen.features.forward import normalised
        from unseen.probes.finetuning.augment import augmented

        size, batch = transform.size, protocol.batch
        if protocol.augment != "centre":
            transform = whole_transform(transform)
        for first in range(start, protocol.steps, CHUNK):
            steps = range(first, min(first + CHUNK, protocol.steps))
            rows = numbers[epoch_order(len(numbers), steps.start * batch, steps.stop * batch, seed)]
            with closing(self._drawn(numbers, rows, transform, batch, device)) as blocks:
                for step, (pixels, proportions) in zip(steps, blocks, strict=True):
                    generator = torch.Generator().manual_seed((seed << 32) + step)
                    chosen = augmented(pixels, proportions, size, protocol.augment, generator)
                    place = (step - first) * batch
                    yield normalised(chosen, transform), targets(rows[place : place + batch])

    def _drawn(
        self, numbers: Numbers, rows: Numbers, transform: Transform, batch: int, device: "torch.device"
    ) -> "Generator[tuple[Tensor, Tensor], None, None]":
        """Bytes and aspect ratios of the images `rows`, a subset of `numbers`, from memory if they fit."""
        shape = geometry(transform)
        if len(self.source.entries) * shape.size**2 * 3 > KEPT:
            yield from self.pixels(rows, transform, batch, device)
            return
        if shape not in self._kept:
            self._kept[shape] = _Kept.empty(len(self.source.entries), shape.size)
        kept = self._kept[shape]
        lacking = numbers[~kept.known[numbers]]
        for place, (pixels, proportions) in enumerate(self.pixels(lacking, transform, AT_ONCE, device)):
            kept.add(lacking[place * AT_ONCE : (place + 1) * AT_ONCE], pixels, proportions)
        for place in range(0, len(rows), batch):
            yield kept.rows(rows[place : place + batch], device)

    def pixels(
        self, numbers: Numbers, transform: Transform, batch: int, device: "torch.device"
    ) -> "Generator[tuple[Tensor, Tensor], None, None]":
        """Bytes (b, side, side, 3) on the device and the images' aspect ratios, in order.

        An image that cannot be read or decoded is an error.
        """
        import torch

        shape = geometry(transform)
        stops = [min(start + batch, len(numbers)) for start in range(0, len(numbers), batch)]
        pieces = [Piece(0, index * batch, stop, (shape,)) for index, stop in enumerate(stops)]
        decoder = Decoder(self.source, numbers, pieces, fast=False, exif=False)
        with closing(decoded(decoder, workers=self.workers if pieces else 0, device=device)) as batches:
            for found in batches:
                if found.unreadable:
                    raise UserError(found.unreadable)
                for place, reason in found.damaged[shape].items():
                    raise UserError(f"{self.source.entries[int(numbers[place])].id}: {reason}")
                pixels = found.pixels[shape]
                yield sent(pixels, device), found.proportions.get(shape, torch.ones(len(pixels)))


@dataclass(frozen=True, eq=False)
class _Kept:
    """Pixels (n, side, side, 3) and aspect ratios (n,) of those images of a source that are cached."""

    known: NDArray[np.bool_]
    pixels: "Tensor"
    proportions: "Tensor"

    @classmethod
    def empty(cls, images: int, side: int) -> "_Kept":
        import torch

        return cls(
            np.zeros(images, dtype=np.bool_), torch.empty(images, side, side, 3, dtype=torch.uint8), torch.ones(images)
        )

    def add(self, numbers: Numbers, pixels: "Tensor", proportions: "Tensor") -> None:
        import torch

        places = torch.from_numpy(numbers)
        self.pixels[places] = pixels.cpu()
        self.proportions[places] = proportions.float()
        self.known[numbers] = True

    def rows(self, numbers: Numbers, device: "torch.device") -> "tuple[Tensor, Tensor]":
        import torch

        places = torch.from_numpy(numbers)
        return sent(self.pixels[places], device), self.proportions[places]
