"""JPEGs decoded by a GPU, and resized there, while it computes features of those before.

nvJPEG makes planes of luma and chroma, from which RGB is made as libjpeg does and squares as PIL does, in whole
numbers. A GPU that has a decoder of JPEGs gives the bytes that PIL gives; one that decodes with its processors rounds
otherwise, by a grey level here and there. What nvJPEG does not decode goes PIL's way, in its place.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.features.batches import PIXELS_AT_ONCE, Batch, Encoded
from unseen.features.colours import Sampling, rgb
from unseen.features.device_resize import Size, exact_dtype, resized_squares, together
from unseen.features.nvjpeg import NvJpeg
from unseen.images.decode import decode
from unseen.images.transform import Transform

AHEAD = 2
"""Batches that are decoded or under way while another is computed."""
Planes = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]], None]
"""Decodes files to planes of luma and chroma, as `NvJpeg` does."""


@cache
def decoder(device: torch.device) -> NvJpeg:
    """The decoder of a device, which is made once."""
    return NvJpeg(device)


@cache
def why_not(device: torch.device) -> str:
    """What a device lacks to decode JPEGs; nothing if it can."""
    if device.type != "cuda":
        return f"images cannot be decoded on the device {device}, only on a GPU"
    try:
        decoder(_numbered(device))
    except (OSError, AttributeError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return f"images cannot be decoded on this GPU: {reason}"
    return ""


def is_faster(device: torch.device) -> bool:
    """Whether a GPU has a decoder of JPEGs; without one, many processes that decode are as fast."""
    return not why_not(device) and decoder(_numbered(device)).hardware


def decoded_there(
    batches: Generator[Batch, None, None], device: torch.device, *, exif: bool
) -> Generator[Batch, None, None]:
    """Batches with all their pixels on the device, in order, decoded ahead by a thread."""
    device = _numbered(device)
    there = _There(device, exif, decoder(device))
    with closing(batches), ThreadPoolExecutor(1) as thread:
        ahead: deque[Future[Batch]] = deque()
        for batch in batches:
            ahead.append(thread.submit(there, batch))
            if len(ahead) > AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


@dataclass(frozen=True)
class _Jpeg:
    """A file of a batch: its place among the images, its bytes, and what its header says."""

    place: int
    file: Tensor
    size: Size
    sampling: Sampling


@dataclass(frozen=True, eq=False)
class _Group:
    """Images that are decoded into one block: (n, h, w) luma and (n, 2, h / v, w / u) chroma."""

    jpegs: list[_Jpeg]
    luma: Tensor
    chroma: Tensor

    @classmethod
    def of(cls, jpegs: list[_Jpeg], device: torch.device) -> "_Group":
        width, height = (max(jpeg.size[side] for jpeg in jpegs) for side in (0, 1))
        across, down = jpegs[0].sampling
        luma = torch.empty(len(jpegs), height, width, dtype=torch.uint8, device=device)
        # Grey files leave it as it is, without colour.
        shape = len(jpegs), 2, -(-height // down), -(-width // across)
        return cls(jpegs, luma, torch.full(shape, 128, dtype=torch.uint8, device=device))

    def planes(self) -> Iterator[tuple[_Jpeg, Tensor, Tensor]]:
        """Each file, and where its luma and its chroma belong."""
        for jpeg, luma, chroma in zip(self.jpegs, self.luma, self.chroma, strict=True):
            (width, height), (across, down) = jpeg.size, jpeg.sampling
            yield jpeg, luma[:height, :width], chroma[:, : -(-height // down), : -(-width // across)]

    def squares(self, transforms: Sequence[Transform]) -> list[Tensor]:
        """(n, size, size, 3) bytes by transform."""
        sizes = [jpeg.size for jpeg in self.jpegs]
        dtype = exact_dtype(self.luma.device)
        block = rgb(self.luma, self.chroma, sizes, self.jpegs[0].sampling, dtype)
        return [resized_squares(block, sizes, transform) for transform in transforms]


@dataclass(frozen=True)
class _There:
    """Finishes batches on a device, one at a time."""

    device: torch.device
    exif: bool
    planes: Planes

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
                self.stream.synchronize()  # until then the files' bytes are needed; and nobody else has to wait
        return finished

    def _finished(self, batch: Batch, encoded: Encoded) -> Batch:
        shapes = batch.piece.geometries
        jpegs = [
            _Jpeg(place, encoded.files[start : start + length], (width, height), (across, down))
            for place, start, length, width, height, across, down in encoded.listed.tolist()
        ]
        damaged = {shape: dict(losses) for shape, losses in batch.damaged.items()}
        waiting = {jpeg.place for jpeg in jpegs}
        span = range(batch.piece.start, batch.piece.stop)
        places = {shape: [p for p in span if p not in waiting and p not in losses] for shape, losses in damaged.items()}
        parts = {shape: [block.to(self.device, non_blocking=True)] for shape, block in batch.pixels.items()}
        for chunk in _chunks(jpegs):
            groups = [_Group.of(group, self.device) for group in _groups(chunk)]
            lost = self._decode([each for group in groups for each in group.planes()])
            for group in groups:
                kept = [row for row, jpeg in enumerate(group.jpegs) if jpeg.place not in lost]
                for shape, squares in zip(shapes, group.squares(shapes), strict=True):
                    parts[shape].append(squares if len(kept) == len(squares) else squares[kept])
                    places[shape] += [group.jpegs[row].place for row in kept]
            for jpeg in lost.values():
                for shape in shapes:
                    self._here(jpeg, shape, parts[shape], places[shape], damaged[shape])
        pixels = {shape: self._in_order(parts[shape], places[shape]) for shape in shapes}
        return Batch(batch.piece, pixels, {}, damaged)

    def _decode(self, wanted: Sequence[tuple[_Jpeg, Tensor, Tensor]]) -> dict[int, _Jpeg]:
        """Fill planes; the files that could not be decoded, which are found by halves."""
        jpegs, luma, chroma = zip(*wanted, strict=True)
        try:
            self.planes([jpeg.file for jpeg in jpegs], luma, chroma)
        except RuntimeError:
            half = len(wanted) // 2
            if not half:
                return {jpegs[0].place: jpegs[0]}
            return self._decode(wanted[:half]) | self._decode(wanted[half:])
        return {}

    def _here(
        self, jpeg: _Jpeg, shape: Transform, parts: list[Tensor], places: list[int], damaged: dict[int, str]
    ) -> None:
        """Decode a file on the host."""
        try:
            pixels = decode(jpeg.file.numpy().tobytes(), shape, exif=self.exif)
        except UserError as error:
            damaged[jpeg.place] = str(error)
            return
        parts.append(torch.from_numpy(pixels)[None].to(self.device))
        places.append(jpeg.place)

    def _in_order(self, parts: Sequence[Tensor], places: Sequence[int]) -> Tensor:
        pixels = torch.cat([*parts])
        order = sorted(range(len(places)), key=places.__getitem__)
        if order == [*range(len(places))]:
            return pixels
        return pixels[torch.tensor(order, device=self.device)]


def _chunks(jpegs: Sequence[_Jpeg]) -> Iterator[list[_Jpeg]]:
    """Files that are decoded together, as they have no more than `PIXELS_AT_ONCE`."""
    chunk: list[_Jpeg] = []
    pixels = 0
    for jpeg in jpegs:
        pixels += jpeg.size[0] * jpeg.size[1]
        if chunk and pixels > PIXELS_AT_ONCE:
            yield chunk
            chunk, pixels = [], jpeg.size[0] * jpeg.size[1]
        chunk.append(jpeg)
    if chunk:
        yield chunk


def _groups(jpegs: Sequence[_Jpeg]) -> Iterator[list[_Jpeg]]:
    """Files of one sampling and of similar sizes."""
    for sampling in dict.fromkeys(jpeg.sampling for jpeg in jpegs):
        alike = [jpeg for jpeg in jpegs if jpeg.sampling == sampling]
        for group in together([jpeg.size for jpeg in alike]):
            yield [alike[number] for number in group]


def _numbered(device: torch.device) -> torch.device:
    """The device with its number."""
    if device.type != "cuda" or device.index is not None:
        return device
    return torch.device("cuda", torch.cuda.current_device())
