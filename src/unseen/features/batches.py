"""Images decoded in worker processes, batch by batch and in order.

A worker decodes a whole batch into one block of shared memory, as bytes: nothing is copied image by image, and four
times less data is moved than with normalised floats, which the device computes much faster than a worker.
"""

import gc
import multiprocessing
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.decode import decode, plain_jpeg, proportion
from unseen.data.core.decoding.jpeg_header import JpegHeader
from unseen.data.core.decoding.resampling import SUPPORTS
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import Image, ImageSource
from unseen.errors import UserError, option, setting
from unseen.orphans import end_with_parent

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.utils.data import DataLoader

AHEAD = 2  # batches that each worker has ready or in progress
PIXELS_AT_ONCE = 1 << 26
"""Bytes of images that a GPU decodes at once: a third of a gigabyte, and as much again for intermediate forms. Larger
images are decoded on the CPU.
"""
# With the spawn method (in a worker that was spawned itself, or from Python 3.14), each decoder would import
# PyTorch again: a minute for sixteen of them. Decoding uses none of the threads that a fork does not copy.
START = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
# PyTorch's messages for a worker that the system killed, or one without shared memory. An error in the worker's
# own code has another message ("DataLoader worker process 0").
DEATH = re.compile(r"DataLoader worker \(pid|shared memory")


def death_of_a_worker() -> str:
    """The sentence about a process that decoded images and died."""
    return (
        "a process that decodes images died, most likely because memory or shared memory ran out (docker run "
        f"--shm-size=8g gives more); do the same again to continue, or with fewer processes ({option('workers')}) or a "
        f"smaller batch ({setting('batch')})"
    )


@dataclass(frozen=True)
class Piece:
    """A batch to decode: images at the positions `start` to `stop`, all of one shard, once for each geometry."""

    shard: int
    start: int
    stop: int
    geometries: tuple[Transform, ...]


class Encoded(NamedTuple):
    """JPEG files of a batch, concatenated.

    Attributes:
        files: all their bytes.
        listed: (n, 7) for each: its position among the images, offset and size in bytes, width and height, and pixels
            per chroma sample along rows and along columns.
    """

    files: "Tensor"
    listed: "Tensor"


class Batch(NamedTuple):
    """A decoded piece; a tuple, because PyTorch only moves tuples to page-locked memory.

    Attributes:
        pixels: (b, size, size, 3) bytes by geometry, without the damaged images.
        proportions: (b,) width : height of the images, for geometries that squash them.
        damaged: position and reason of each image left out, by geometry.
        unreadable: why the images could not be read at all; there are then no pixels.
        encoded: images still to be decoded on a GPU; `pixels` then contains only the others.
    """

    piece: Piece
    pixels: "dict[Transform, Tensor]"
    proportions: "dict[Transform, Tensor]"
    damaged: dict[Transform, dict[int, str]]
    unreadable: str = ""
    encoded: Encoded | None = None


def geometry(transform: Transform) -> Transform:
    """The part of a transform computed in workers: transforms that share it share their pixels."""
    return replace(transform, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), channels="RGB")


@dataclass(frozen=True, eq=False)
class Decoder:
    """Decodes pieces by index, in any process.

    Attributes:
        numbers: index in the source of the image at each position.
        fast, exif: see `decode`.
        jpegs: leave plain JPEGs encoded, for a GPU to decode.
    """

    source: ImageSource
    numbers: NDArray[np.int64]
    pieces: Sequence[Piece]
    fast: bool
    exif: bool
    jpegs: bool = False

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, number: int) -> Batch:
        """A batch. Errors are returned as values, since an exception from a worker would be buried in a traceback."""
        import torch

        piece = self.pieces[number]
        shared = torch.utils.data.get_worker_info() is not None
        images = ((place, self.source.read(int(self.numbers[place]))) for place in range(piece.start, piece.stop))
        try:
            if not self.jpegs:
                return self._decoded(piece, images, piece.stop - piece.start, shared)
            jpegs, others = self._sorted(piece, images)
            return self._decoded(piece, others, len(others), shared)._replace(encoded=_encoded(jpegs, shared))
        except UserError as error:
            return Batch(piece, {}, {}, {}, str(error))

    def _decoded(self, piece: Piece, images: Iterable[tuple[int, Image]], count: int, shared: bool) -> Batch:
        """Some images of a piece, up to a maximum number, decoded in this process."""
        import torch

        pixels = {shape: _block(count, shape.size, shared) for shape in piece.geometries}
        proportions: dict[Transform, list[float]] = {shape: [] for shape in piece.geometries if shape.squash}
        damaged: dict[Transform, dict[int, str]] = {shape: {} for shape in piece.geometries}
        for row, (place, image) in enumerate(images):
            for shape in piece.geometries:
                try:
                    decoded = decode(image, shape, fast=self.fast, exif=self.exif)
                    pixels[shape].numpy()[row - len(damaged[shape])] = decoded
                    if shape.squash:
                        proportions[shape].append(proportion(image))
                except UserError as error:
                    damaged[shape][place] = str(error)
        kept = {shape: block[: len(block) - len(damaged[shape])] for shape, block in pixels.items()}
        shapes = {shape: torch.tensor(values) for shape, values in proportions.items()}
        return Batch(piece, kept, shapes, damaged)

    def _sorted(
        self, piece: Piece, images: Iterable[tuple[int, Image]]
    ) -> tuple[list[tuple[int, bytes, JpegHeader]], list[tuple[int, Image]]]:
        """Position, file and header of the plain JPEGs, and position and contents of the others."""
        jpegs, others = [], []
        resizable = all(shape.interpolation in SUPPORTS for shape in piece.geometries)
        for place, image in images:
            header = plain_jpeg(image, piece.geometries, exif=self.exif) if resizable else None
            if isinstance(image, bytes) and header and header.size[0] * header.size[1] <= PIXELS_AT_ONCE:
                jpegs.append((place, image, header))
            else:
                others.append((place, image))
        return jpegs, others


def _encoded(jpegs: Sequence[tuple[int, bytes, JpegHeader]], shared: bool) -> Encoded:
    import torch

    files = torch.empty(sum(len(file) for _, file, _ in jpegs), dtype=torch.uint8)
    files = files.share_memory_() if shared else files  # type: ignore[no-untyped-call]
    rows, start = [], 0
    for place, file, header in jpegs:
        files.numpy()[start : start + len(file)] = np.frombuffer(file, np.uint8)
        rows.append((place, start, len(file), *header.size, *header.sampling))
        start += len(file)
    return Encoded(files, torch.tensor(rows, dtype=torch.int64).reshape(-1, 7))


def _block(images: int, size: int, shared: bool) -> "Tensor":
    import torch

    block = torch.empty(images, size, size, 3, dtype=torch.uint8)
    return block.share_memory_() if shared else block  # type: ignore[no-untyped-call]


def decoded(decoder: Decoder, *, workers: int, device: "torch.device") -> Generator[Batch, None, None]:
    """The batches of a decoder in the order of its pieces, in page-locked memory if the device is a GPU.

    Args:
        workers: number of processes; 0 decodes in this one.
    """
    from torch.utils.data import DataLoader

    loader: DataLoader[Any] = DataLoader(
        decoder,  # type: ignore[arg-type]  # it has what is needed of a Dataset
        batch_size=None,
        num_workers=workers,
        collate_fn=_as_it_is,
        prefetch_factor=AHEAD if workers else None,
        pin_memory=device.type == "cuda",
        multiprocessing_context=START if workers else None,
        worker_init_fn=end_with_parent,
    )
    with dead_workers_named():
        yield from _started(loader)


def _started(loader: "DataLoader[Any]") -> Iterator[Batch]:
    """Iterator of a loader with its processes started.

    Forked copies of this process must not run its garbage collector: freeing a CUDA event or stream crashes a process
    that has not initialised CUDA itself.
    """
    gc.freeze()
    try:
        return iter(loader)
    finally:
        gc.unfreeze()


@contextmanager
def dead_workers_named() -> Iterator[None]:
    """Turns the death of a worker into a one-sentence error.

    PyTorch raises it at any point in the main thread, so this context must also cover the code that uses batches.
    """
    try:
        yield
    except (RuntimeError, ConnectionError, EOFError) as error:  # the last two if the worker died while sending a batch
        # A BrokenPipeError concerns our output, whose reader has exited: nothing is written to workers through pipes.
        if isinstance(error, BrokenPipeError) or (isinstance(error, RuntimeError) and not is_dead_worker(error)):
            raise
        raise UserError(death_of_a_worker()) from None


def is_dead_worker(error: RuntimeError) -> bool:
    """Whether PyTorch's exception reports a dead worker."""
    return DEATH.search(str(error)) is not None


def _as_it_is(batch: Any) -> Any:
    return batch
