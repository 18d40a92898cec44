"""JPEGs decoded by a GPU's own decoder, and resized there, while the GPU computes features of those before.

nvJPEG decodes; torchvision is how it is called. Its pixels are not libjpeg's: it enlarges the two channels of colour,
which most JPEGs store at half the size, without smoothing. What it does not decode goes PIL's way, in its place.
"""

import io
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

import torch
from PIL import Image as Pil
from torch import Tensor

from unseen.errors import UserError
from unseen.features.batches import PIXELS_AT_ONCE, Batch, Encoded
from unseen.features.device_resize import resized_squares
from unseen.images.decode import decode
from unseen.images.transform import Transform

AHEAD = 2
"""Batches that are decoded or under way while another is computed."""
HARDWARE = {(8, 0), (9, 0), (10, 0), (10, 3)}
"""Compute capabilities of the GPUs that have a decoder of JPEGs beside their processors; on others nvJPEG decodes with
the processors and one core of the host, and many processes that decode are faster."""
Files = Sequence[Tensor]
Decoded = list[Tensor]


def nvjpeg(files: Files, device: torch.device) -> Decoded:
    """(3, h, w) bytes on a GPU of each JPEG; a RuntimeError where any of them cannot be decoded."""
    from torchvision.io import ImageReadMode

    # The operator itself, as torchvision 0.29 warns of its function.
    operator: Any = torch.ops.image.decode_jpegs_cuda
    return cast("Decoded", operator(list(files), ImageReadMode.RGB.value, device))


@cache
def why_not(device: torch.device) -> str:
    """What a GPU lacks to decode JPEGs; nothing if it can."""
    if device.type != "cuda":
        return f"images cannot be decoded on the device {device}, only on a GPU"
    try:
        nvjpeg([_pixel()], _numbered(device))
    except ImportError:
        return "decoding on a GPU needs torchvision (pip install 'unseen[torchvision]')"
    except (AttributeError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return f"torchvision decodes no JPEGs on this GPU ({reason})"
    return ""


def is_faster(device: torch.device) -> bool:
    """Whether a GPU decodes, and has a decoder to do it with."""
    return not why_not(device) and torch.cuda.get_device_capability(device) in HARDWARE


def decoded_there(
    batches: Generator[Batch, None, None], device: torch.device, *, exif: bool
) -> Generator[Batch, None, None]:
    """Batches with all their pixels on the device, in order, decoded ahead by a thread."""
    there = _There(_numbered(device), exif)
    with closing(batches), ThreadPoolExecutor(1) as thread:
        ahead: deque[Future[Batch]] = deque()
        for batch in batches:
            ahead.append(thread.submit(there, batch))
            if len(ahead) > AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


@dataclass(frozen=True)
class _There:
    """Finishes batches on a device, one at a time."""

    device: torch.device
    exif: bool

    @cached_property
    def stream(self) -> "torch.cuda.Stream | None":
        """Before the stream that computes: what is needed next is small, and must not wait for all that is queued."""
        return torch.cuda.Stream(self.device, priority=-1) if self.device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch) -> Batch:
        if batch.encoded is None:
            return batch
        with torch.inference_mode(), torch.cuda.stream(self.stream) if self.stream else nullcontext():
            finished = self._finished(batch, batch.encoded)
            if self.stream:
                # torchvision writes to memory without waiting for this stream. So all that was read there must have
                # been read before that memory is free again; and whoever takes the pixels has not to wait for them.
                self.stream.synchronize()
        return finished

    def _finished(self, batch: Batch, encoded: Encoded) -> Batch:
        listed = encoded.listed.tolist()
        damaged = {shape: dict(losses) for shape, losses in batch.damaged.items()}
        waiting = {place for place, *_ in listed}
        span = range(batch.piece.start, batch.piece.stop)
        places = {shape: [p for p in span if p not in waiting and p not in losses] for shape, losses in damaged.items()}
        parts = {shape: [block.to(self.device, non_blocking=True)] for shape, block in batch.pixels.items()}
        for chunk in _chunks(listed):
            files = [encoded.files[start : start + length] for _, start, length, *_ in chunk]
            images = self._images(files)
            for shape in batch.piece.geometries:
                done = [number for number, image in enumerate(images) if image is not None]
                if done:
                    parts[shape].append(resized_squares([cast("Tensor", images[number]) for number in done], shape))
                    places[shape] += [chunk[number][0] for number in done]
                for number in set(range(len(images))).difference(done):
                    self._here(files[number], chunk[number][0], shape, parts[shape], places[shape], damaged[shape])
        pixels = {shape: self._in_order(parts[shape], places[shape]) for shape in batch.piece.geometries}
        return Batch(batch.piece, pixels, {}, damaged)

    def _images(self, files: Files) -> "list[Tensor | None]":
        """The images of some files; None where one could not be decoded, which is found by halves."""
        try:
            return [*nvjpeg(files, self.device)]
        except torch.OutOfMemoryError:
            raise UserError("the GPU has too little memory to decode a batch; choose a smaller --batch") from None
        except RuntimeError:
            half = len(files) // 2
            return [*self._images(files[:half]), *self._images(files[half:])] if half else [None]

    def _here(
        self,
        file: Tensor,
        place: int,
        shape: Transform,
        parts: list[Tensor],
        places: list[int],
        damaged: dict[int, str],
    ) -> None:
        """Decode a file on the host."""
        try:
            pixels = decode(file.numpy().tobytes(), shape, exif=self.exif)
        except UserError as error:
            damaged[place] = str(error)
            return
        parts.append(torch.from_numpy(pixels)[None].to(self.device))
        places.append(place)

    def _in_order(self, parts: Sequence[Tensor], places: Sequence[int]) -> Tensor:
        pixels = torch.cat([*parts])
        order = sorted(range(len(places)), key=places.__getitem__)
        if order == [*range(len(places))]:
            return pixels
        return pixels[torch.tensor(order, device=self.device)]


def _pixel() -> Tensor:
    """A JPEG of one pixel."""
    file = io.BytesIO()
    Pil.new("RGB", (1, 1)).save(file, "JPEG")
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


def _chunks(listed: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Rows of `Encoded.listed`, together while they have no more than `PIXELS_AT_ONCE`."""
    chunk: list[Sequence[int]] = []
    pixels = 0
    for row in listed:
        pixels += row[3] * row[4]
        if chunk and pixels > PIXELS_AT_ONCE:
            yield chunk
            chunk, pixels = [], row[3] * row[4]
        chunk.append(row)
    if chunk:
        yield chunk


def _numbered(device: torch.device) -> torch.device:
    """The device with its number."""
    if device.type != "cuda" or device.index is not None:
        return device
    return torch.device("cuda", torch.cuda.current_device())
