"""Images decoded once and kept as bytes, for work that sees each of them many times.

Forty trainings of 5000 steps see 12.8 million images: decoding them anew each time would take longer than training. A
folder has blocks of `BLOCK` images, each written whole, so that decoding goes on where it was stopped. Beside a block
of squashed images are their proportions.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.batches import Decoder, Piece, decoded, geometry
from unseen.files import atomic_write
from unseen.images.source import ImageSource
from unseen.images.transform import Transform

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BLOCK = 256
SHARE = 0.5
"""Of a GPU's free memory, that pixels may take."""


@dataclass(frozen=True, eq=False)
class Pixels:
    """(n, side, side, 3) bytes, in blocks on disk or all of them on a GPU.

    Attributes:
        proportions: (n,) width : height of the images where the pixels are squashed ones, and 1 otherwise.
        device: where rows are wanted.
        resident: all pixels on that device, where there is room; None otherwise.
    """

    blocks: Sequence[NDArray[np.uint8]]
    proportions: NDArray[np.float32]
    device: "torch.device"
    resident: "Tensor | None" = None

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def rows(self, numbers: NDArray[np.int64]) -> "Tensor":
        """(b, side, side, 3) bytes on the device, of images by their place."""
        import torch

        if self.resident is not None:
            return self.resident[torch.from_numpy(numbers).to(self.device)]
        found = np.stack([self.blocks[number // BLOCK][number % BLOCK] for number in numbers.tolist()])
        return torch.from_numpy(found).to(self.device)

    def on_device(self) -> "Pixels":
        """The same pixels, moved to the GPU as a whole if that takes no more than `SHARE` of its free memory."""
        import torch

        size = sum(block.nbytes for block in self.blocks)
        if self.device.type != "cuda" or size > SHARE * torch.cuda.mem_get_info(self.device)[0]:
            return self
        resident = torch.empty((len(self), *self.blocks[0].shape[1:]), dtype=torch.uint8, device=self.device)
        for start, block in zip(range(0, len(self), BLOCK), self.blocks, strict=True):
            resident[start : start + len(block)] = torch.from_numpy(np.array(block))
        return replace(self, resident=resident)


def decode_pixels(
    source: ImageSource,
    numbers: NDArray[np.int64],
    transform: Transform,
    folder: Path,
    *,
    device: "torch.device",
    workers: int = 0,
    watch: Callable[[int, int], None] = lambda _, __: None,
) -> Pixels:
    """The images of a source at some places, in that order; an image that cannot be read or decoded is an error.

    Args:
        transform: of which the geometry is done, and neither the normalisation nor the order of channels.
        folder: below it, what is asked for has a folder of its own, named by the hash of ids and geometry.
        workers: processes that decode; 0 for none but this.
        watch: called with the images done and in all after every block.
    """
    shape = geometry(transform)
    ids = [source.entries[number].id for number in numbers.tolist()]
    key = sha256(json.dumps([asdict(shape), ids]).encode()).hexdigest()[:32]
    starts = range(0, len(numbers), BLOCK)
    pieces = [Piece(0, start, min(start + BLOCK, len(numbers)), (shape,)) for start in starts]
    paths = [folder / key / f"{start:09d}.npy" for start in starts]
    todo = [place for place, path in enumerate(paths) if not path.is_file()]
    decoder = Decoder(source, numbers, [pieces[place] for place in todo], fast=False, exif=False)
    with closing(decoded(decoder, workers=workers if todo else 0, device=device)) as batches:
        for place, batch in zip(todo, batches, strict=True):
            if batch.unreadable:
                raise UserError(batch.unreadable)
            for damaged, reason in batch.damaged[shape].items():
                raise UserError(f"{source.entries[int(numbers[damaged])].id}: {reason}")
            if shape.squash:
                with atomic_write(_beside(paths[place])) as file:
                    np.save(file, batch.proportions[shape].numpy())
            with atomic_write(paths[place]) as file:  # last, as it says that the block is done
                np.save(file, batch.pixels[shape].numpy())
            watch(pieces[place].stop, len(numbers))
    counts = [piece.stop - piece.start for piece in pieces]
    blocks = [
        _read(path, np.uint8, (count, shape.size, shape.size, 3)) for path, count in zip(paths, counts, strict=True)
    ]
    proportions = np.ones(len(numbers), dtype=np.float32)
    if shape.squash:
        parts = [_read(_beside(path), np.float32, (count,)) for path, count in zip(paths, counts, strict=True)]
        proportions = np.concatenate(parts)
    return Pixels(blocks, proportions, device)


def _beside(path: Path) -> Path:
    """Where the proportions of a block's images are."""
    return path.with_suffix(".proportions.npy")


def _read(path: Path, dtype: type[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        block: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        if block.dtype == dtype and block.shape == shape:
            return block
        reason = f"{block.dtype} of shape {block.shape}"
    except (OSError, ValueError, EOFError) as error:
        reason = str(error)
    raise UserError(f"{path}: a damaged block of pixels ({reason}); delete it to have it decoded again")
