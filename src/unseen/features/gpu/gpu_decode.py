"""Decoding and resizing JPEGs on a GPU while it computes the features of earlier images.

nvJPEG decodes files to planes of luma and chroma. These are converted to RGB as in libjpeg and resized as in PIL, in
integer arithmetic. On GPUs with a hardware JPEG decoder the bytes equal PIL's; GPUs that decode with their processors
round differently, and some pixels differ by one grey level. Files that nvJPEG cannot decode are decoded by PIL.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import cycle

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.filled import CORNER, is_filled, last_corner
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.batches import PIXELS_AT_ONCE, Batch, Encoded
from unseen.features.device_memory import sent
from unseen.features.gpu.colours import Sampling, rgb
from unseen.features.gpu.device_resize import Size, exact_dtype, resized_squares, together
from unseen.features.gpu.nvjpeg import Addresses, NvJpeg, UndecodableError, plane_addresses

THREADS = 3
"""One batch is in the hardware decoder while the others are converted and resized."""
AHEAD = 5
"""Batches that are being decoded, or are decoded already, while the features of another are computed."""
TOGETHER = 8
"""The sides of a block are multiples of this many pixels."""


@cache
def decoder(device: torch.device) -> NvJpeg:
    """The decoder of a device, created once."""
    return NvJpeg(device)


def why_not(device: torch.device) -> str:
    """Why a device cannot decode JPEGs; empty if it can."""
    if device.type != "cuda":
        return f"images cannot be decoded on the device {device}, only on a GPU"
    try:
        decoder(_numbered(device))
    except (OSError, AttributeError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return f"images cannot be decoded on this GPU: {reason}"
    return ""


def has_decoder(device: torch.device) -> bool:
    """Whether a GPU has a hardware JPEG decoder."""
    return not why_not(device) and decoder(_numbered(device)).hardware


def decoded_there(
    batches: Generator[Batch, None, None], device: torch.device, *, exif: bool
) -> Generator[Batch, None, None]:
    """Yield batches in order with all their pixels on the device; several threads decode ahead."""
    device = _numbered(device)
    with closing(batches), ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(THREADS)]
        turns = cycle([(pool, _There(device, exif, decoder(device))) for pool in pools])
        ahead: deque[Future[Batch]] = deque()
        try:
            for batch, (pool, there) in zip(batches, turns, strict=False):
                ahead.append(pool.submit(there, batch))
                if len(ahead) > AHEAD:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:  # if the caller stops early
                future.cancel()


@dataclass(frozen=True, eq=False)
class _Group:
    """Files that are decoded into one block.

    Attributes:
        rows: their rows in `Encoded.listed`.
        luma: (n, h, w) bytes.
        chroma: (n, 2, h / v, w / u) bytes.
    """

    rows: list[int]
    sizes: list[Size]
    sampling: Sampling
    luma: Tensor
    chroma: Tensor

    @classmethod
    def of(cls, rows: list[int], sizes: list[Size], sampling: Sampling, device: torch.device) -> "_Group":
        # Matrix products are fastest for such sides.
        width, height = (-(-max(size[side] for size in sizes) // TOGETHER) * TOGETHER for side in (0, 1))
        luma = torch.empty(len(rows), height, width, dtype=torch.uint8, device=device)
        shape = len(rows), 2, height // sampling[1], width // sampling[0]
        # Grey files do not write chroma; 128 is no colour.
        return cls(rows, sizes, sampling, luma, torch.full(shape, 128, dtype=torch.uint8, device=device))

    def flat(self) -> list[int]:
        """The rows whose last pixels are of one colour, as they are where data end before the pixels do."""
        sides = torch.tensor(self.sizes)[:, :, None]
        corners = torch.tensor([last_corner(*size) for size in self.sizes])[:, :, None]
        ends = sides - torch.minimum(torch.arange(CORNER, 0, -1), corners)
        columns, lines = ends.to(self.luma.device).unbind(1)
        images = torch.arange(len(columns), device=self.luma.device)
        pixels = self.luma[images[:, None, None], lines[:, :, None], columns[:, None]]
        same = (pixels == pixels[:, -1:, -1:]).all(-1).all(-1)
        return [row for row, is_same in zip(self.rows, same.tolist(), strict=True) if is_same]

    def squares(self, transforms: Sequence[Transform]) -> list[Tensor]:
        """(n, size, size, 3) bytes by transform."""
        block = rgb(self.luma, self.chroma, self.sizes, self.sampling, exact_dtype(self.luma.device))
        return [resized_squares(block, self.sizes, transform) for transform in transforms]


@dataclass(frozen=True)
class _There:
    """Decodes and resizes one batch at a time on a device."""

    device: torch.device
    exif: bool
    planes: Callable[[Addresses, Addresses], None]

    @cached_property
    def stream(self) -> "torch.cuda.Stream | None":
        """A stream with priority over that of the backbone, so that short kernels do not wait for all queued ones."""
        return torch.cuda.Stream(self.device, priority=-1) if self.device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch) -> Batch:
        if batch.encoded is None:
            return batch
        stream = self.stream
        with torch.inference_mode(), torch.cuda.stream(stream) if stream else nullcontext():
            finished = self._finished(batch, batch.encoded)
            if stream:
                stream.synchronize()  # so that the pixels can be used on any stream
        return finished

    def _finished(self, batch: Batch, encoded: Encoded) -> Batch:
        shapes, listed = batch.piece.geometries, encoded.listed.numpy()
        damaged = {shape: dict(losses) for shape, losses in batch.damaged.items()}
        waiting = set(listed[:, 0].tolist())
        span = range(batch.piece.start, batch.piece.stop)
        places = {shape: [p for p in span if p not in waiting and p not in losses] for shape, losses in damaged.items()}
        parts = {shape: [block.to(self.device, non_blocking=True)] for shape, block in batch.pixels.items()}
        for chunk in _chunks(listed):
            groups = [*_groups(listed, chunk, self.device)]
            rows = np.concatenate([group.rows for group in groups])
            files = listed[rows, 1:3].astype(np.uint64)
            files[:, 0] += np.uint64(encoded.files.data_ptr())
            planes = np.concatenate([plane_addresses(group.luma, group.chroma) for group in groups])
            lost = set(rows[self._decode(files, planes)].tolist())
            for group in groups:
                lost.update(row for row in group.flat() if not is_filled(_file(encoded, listed[row])))
            for group in groups:
                kept = [number for number, row in enumerate(group.rows) if row not in lost]
                for shape, squares in zip(shapes, group.squares(shapes), strict=True):
                    parts[shape].append(squares if len(kept) == len(squares) else squares[kept])
                    places[shape] += listed[[group.rows[number] for number in kept], 0].tolist()
            for row in listed[sorted(lost)]:
                file = _file(encoded, row)
                for shape in shapes:
                    self._here(file, int(row[0]), shape, parts[shape], places[shape], damaged[shape])
        pixels = {shape: self._in_order(parts[shape], places[shape]) for shape in shapes}
        return Batch(batch.piece, pixels, {}, damaged)

    def _decode(self, files: Addresses, planes: Addresses) -> list[int]:
        """Fill the planes and return the files that cannot be decoded, which are found by bisection."""
        try:
            self.planes(files, planes)
        except UndecodableError:
            half = len(files) // 2
            if not half:
                return [0]
            later = self._decode(files[half:], planes[half:])
            return [*self._decode(files[:half], planes[:half]), *(half + number for number in later)]
        return []

    def _here(
        self, file: bytes, place: int, shape: Transform, parts: list[Tensor], places: list[int], damaged: dict[int, str]
    ) -> None:
        """Decode a file on the host, with PIL."""
        try:
            pixels = decode(file, shape, exif=self.exif)
        except UserError as error:
            damaged[place] = str(error)
            return
        parts.append(torch.from_numpy(pixels)[None].to(self.device))
        places.append(place)

    def _in_order(self, parts: Sequence[Tensor], places: Sequence[int]) -> Tensor:
        some = [part for part in parts if len(part)]
        pixels = some[0] if len(some) == 1 else torch.cat([*parts])
        order = sorted(range(len(places)), key=places.__getitem__)
        if order == [*range(len(places))]:
            return pixels
        return pixels[sent(torch.tensor(order), self.device)]


def _file(encoded: Encoded, row: NDArray[np.int64]) -> bytes:
    """The file of a row in `Encoded.listed`."""
    _, start, length = row[:3].tolist()
    return encoded.files[start : start + length].numpy().tobytes()


def _chunks(listed: NDArray[np.int64]) -> Iterator[list[int]]:
    """Split files into chunks of at most `PIXELS_AT_ONCE` pixels."""
    chunk: list[int] = []
    pixels = 0
    for row, more in enumerate((listed[:, 3] * listed[:, 4]).tolist()):
        pixels += more
        if chunk and pixels > PIXELS_AT_ONCE:
            yield chunk
            chunk, pixels = [], more
        chunk.append(row)
    if chunk:
        yield chunk


def _groups(listed: NDArray[np.int64], chunk: Sequence[int], device: torch.device) -> Iterator[_Group]:
    """Groups of files with the same chroma sampling and similar sizes."""
    known = [(row, *listed[row, 3:].tolist()) for row in chunk]
    for sampling in dict.fromkeys((across, down) for *_, across, down in known):
        alike = [(row, (width, height)) for row, width, height, *each in known if tuple(each) == sampling]
        for group in together([size for _, size in alike]):
            yield _Group.of([alike[n][0] for n in group], [alike[n][1] for n in group], sampling, device)


def _numbered(device: torch.device) -> torch.device:
    """The device with its index."""
    if device.type != "cuda" or device.index is not None:
        return device
    return torch.device("cuda", torch.cuda.current_device())
