"""Images decoded once and stored as bytes, for work that reads each of them many times.

Forty trainings of 5000 steps read 12.8 million images: decoding them each time would take longer than training. A
folder contains blocks of `BLOCK` images, each written atomically, so that an interrupted decoding can be resumed.
Beside a block of squashed images there is a file with their aspect ratios. A block's file is open only while it is
read, because a data set has more blocks than a process may hold open.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.features.batches import Batch, Decoder, Piece, decoded, geometry
from unseen.features.device_memory import free_bytes, sent
from unseen.features.fingerprint import fingerprint
from unseen.files import atomic_write, refuse_special

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BLOCK = 256
SHARE = 0.5
"""Share of a GPU's free memory that pixels may take."""


@dataclass(frozen=True)
class Block:
    """A file of (images, side, side, 3) bytes, which begin at `offset`."""

    path: Path
    images: int
    side: int
    offset: int

    def read(self, start: int = 0, images: int | None = None) -> NDArray[np.uint8]:
        """Some images of the block, by default all."""
        shape = (self.images - start if images is None else images, self.side, self.side, 3)
        size = self.side * self.side * 3
        pixels = np.fromfile(self.path, np.uint8, shape[0] * size, offset=self.offset + start * size)
        return pixels.reshape(shape)


@dataclass(frozen=True, eq=False)
class Pixels:
    """(n, side, side, 3) bytes, in blocks on disk or entirely on a GPU.

    Attributes:
        blocks: blocks of `BLOCK` images, except for the last; empty if all pixels are on the device.
        proportions: (n,) width : height of the original images if the pixels are squashed, otherwise 1.
        device: where rows are returned.
        resident: all pixels on that device, if they fit; otherwise None.
    """

    blocks: Sequence[Block]
    proportions: NDArray[np.float32]
    device: "torch.device"
    resident: "Tensor | None" = None

    def __len__(self) -> int:
        return len(self.proportions)

    def rows(self, numbers: NDArray[np.int64]) -> "Tensor":
        """(b, side, side, 3) bytes on the device, of images by index."""
        import torch

        if self.resident is not None:
            return self.resident[sent(torch.from_numpy(numbers), self.device)]
        places = (divmod(number, BLOCK) for number in numbers.tolist())
        pixels = np.concatenate([self.blocks[block].read(row, 1) for block, row in places])
        return sent(torch.from_numpy(pixels), self.device)

    def on_device(self) -> "Pixels":
        """The same pixels, moved to the GPU as a whole if they take at most `SHARE` of its free memory."""
        import torch

        if self.device.type != "cuda" or self.resident is not None:
            return self
        shape = (len(self), self.blocks[0].side, self.blocks[0].side, 3)
        if prod(shape) > SHARE * free_bytes(self.device):
            return self
        resident = torch.empty(shape, dtype=torch.uint8, device=self.device)
        for start, block in zip(range(0, len(self), BLOCK), self.blocks, strict=True):
            resident[start : start + block.images] = sent(torch.from_numpy(block.read()), self.device)
        return replace(self, blocks=(), resident=resident)


def decode_pixels(
    source: ImageSource,
    numbers: NDArray[np.int64],
    wanted: Sequence[tuple[Transform, int]],
    folder: Path,
    *,
    device: "torch.device",
    workers: int = 0,
    exif: bool = False,
    watch: Callable[[int, int], None] = lambda _, __: None,
) -> list[Pixels]:
    """The images of a source at given indices, in that order; an image that cannot be read or decoded is an error.

    Args:
        wanted: each transform, with the number of images (the first ones) it is needed for; each image is read once for
            all. Only the geometry of a transform is applied, not the normalisation or the order of channels.
        folder: the images of each geometry are stored in a folder below it, named by the hash of ids, fingerprint and
            geometry.
        workers: number of decoding processes; 0 decodes in this one.
        exif: turn images by their EXIF orientation.
        watch: called with the numbers of images done and in total after every block.
    """
    ids = [source.entries[number].id for number in numbers.tolist()]
    sets = {}
    for transform, count in wanted:
        shape = geometry(transform)
        sets[shape] = _Kept(shape, folder, ids[:count], fingerprint(source, numbers[:count]), exif)
    todo = []
    for start in range(0, len(numbers), BLOCK):
        missing = tuple(
            shape for shape, kept in sets.items() if start in kept.starts and not kept.path(start).is_file()
        )
        if missing:
            todo.append(Piece(0, start, min(start + BLOCK, len(numbers)), missing))
    decoder = Decoder(source, numbers, todo, fast=False, exif=exif)
    with closing(decoded(decoder, workers=workers if todo else 0, device=device)) as batches:
        for piece, batch in zip(todo, batches, strict=True):
            if batch.unreadable:
                raise UserError(batch.unreadable)
            for shape in piece.geometries:
                for damaged, reason in batch.damaged[shape].items():
                    raise UserError(f"{ids[damaged]}: {reason}")
                sets[shape].write(batch, piece.start)
            watch(piece.stop, len(numbers))
    return [sets[geometry(transform)].open(device) for transform, _ in wanted]


@dataclass(frozen=True)
class _Kept:
    """The files of images of one geometry; `images` is their fingerprint."""

    shape: Transform
    folder: Path
    ids: Sequence[str]
    images: str
    exif: bool = False

    @cached_property
    def key(self) -> str:
        turned = ["exif"] if self.exif else []  # not in the keys from before there was this choice
        described = [asdict(self.shape), list(self.ids), self.images, *turned]
        return sha256(json.dumps(described).encode()).hexdigest()[:32]

    @property
    def starts(self) -> range:
        """Start indices of the blocks."""
        return range(0, len(self.ids), BLOCK)

    def count(self, start: int) -> int:
        """Number of images in the block that starts there."""
        return min(BLOCK, len(self.ids) - start)

    def path(self, start: int) -> Path:
        return self.folder / self.key / f"{start:09d}.npy"

    def write(self, batch: Batch, start: int) -> None:
        """Write a block; the batch may contain more images than are needed."""
        path, count = self.path(start), self.count(start)
        if self.shape.squash:
            with atomic_write(_beside(path)) as file:
                np.save(file, batch.proportions[self.shape].numpy()[:count])
        with atomic_write(path) as file:  # written last, since it marks the block as complete
            np.save(file, batch.pixels[self.shape].numpy()[:count])

    def open(self, device: "torch.device") -> Pixels:
        """All blocks, once all are written."""
        side, squash = self.shape.size, self.shape.squash
        blocks, proportions = [], [np.ones(0 if squash else len(self.ids), dtype=np.float32)]
        for start in self.starts:
            path, count = self.path(start), self.count(start)
            blocks.append(Block(path, count, side, _open(path, np.uint8, (count, side, side, 3)).offset))
            if squash:
                proportions.append(np.array(_open(_beside(path), np.float32, (count,))))
        return Pixels(blocks, np.concatenate(proportions), device)


def _beside(path: Path) -> Path:
    """The file with the aspect ratios of a block's images."""
    return path.with_suffix(".proportions.npy")


def _open(path: Path, dtype: type[Any], shape: tuple[int, ...]) -> "np.memmap[Any, Any]":
    """An array of a file, not read yet; the file stays open as long as the array exists.

    Operating system errors (too many open files, disk failure) are not damage and are passed on.
    """
    refuse_special(path)
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(mapped, np.memmap) and mapped.dtype == dtype and mapped.shape == shape:
            return mapped
        reason = f"{mapped.dtype} of shape {mapped.shape}"
    except (ValueError, EOFError) as error:
        reason = str(error)
    raise UserError(f"{path}: a damaged block of pixels ({reason}); delete it, and it will be decoded again")
