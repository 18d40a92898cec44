"""Computing features from pixel bytes on a device, asynchronously."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import Extractor, extracted
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.settings import Precision

# Images given to a CPU at once: blocks above 32 MB are allocated anew by the system each time, page by page, which
# makes normalising 128 images at once three times slower than this.
CPU_IMAGES = 32
AUTOCAST: dict[Precision, torch.dtype] = {"half": torch.float16, "bfloat": torch.bfloat16}


def normalised(pixels: Tensor, transform: Transform) -> Tensor:
    """Images (b, 3, size, size), channels last in memory, from bytes (b, size, size, 3).

    The same operations in the same order as torchvision's `ToTensor` and `Normalize`, hence the same numbers. Mean and
    standard deviation are in the order of the backbone's channels.
    """
    if transform.channels == "BGR":
        pixels = pixels.flip(3)
    b, size = pixels.shape[:2]
    # Subtracting whole rows instead of three numbers at a time is much faster on a CPU.
    mean, std = (_row(tuple(values), size, pixels.device) for values in (transform.mean, transform.std))
    rows = pixels.reshape(b, size, size * 3).float().div_(255).sub_(mean).div_(std)
    return rows.view(b, size, size, 3).permute(0, 3, 1, 2)


@lru_cache(maxsize=32)
def _row(values: tuple[float, ...], size: int, device: torch.device) -> Tensor:
    """Numbers repeated along a row, cached: each copy of numbers to a GPU would synchronise with it."""
    with torch.inference_mode(mode=False):  # may first be needed during evaluation, but must work in training too
        return torch.tensor(values, device=device).repeat(size)


def moved(pixels: Tensor, device: torch.device, stream: "torch.cuda.Stream | None") -> Tensor:
    """Pixels on the device; on a GPU copied by a separate stream, so that they arrive while the previous batch is
    computed.
    """
    if stream is None:
        return pixels.to(device)
    with torch.cuda.stream(stream):
        there = pixels.to(device, non_blocking=True)
    current = torch.cuda.current_stream(device)
    current.wait_stream(stream)
    there.record_stream(
        current
    )  # otherwise the allocator could reuse its memory for the next copy while it is still being read
    return there


def features(backbone: Backbone, pixels: Tensor, precision: Precision) -> Tensor:
    """Features (b, d) of bytes (b, size, size, 3) that are on the backbone's device."""
    [output] = features_together([backbone], pixels, precision)
    return output


def sharing(backbones: Iterable[Backbone]) -> list[list[Backbone]]:
    """Backbones that are representations of one network and take the same images, together."""
    groups: dict[tuple[int, str], list[Backbone]] = {}
    for each in backbones:
        network = each.module.network if isinstance(each.module, Extractor) else each.module
        # As a text: the numbers of a user's own transform may be in lists, which have no hash.
        groups.setdefault((id(network), repr(each.spec.transform)), []).append(each)
    return list(groups.values())


def features_together(backbones: Sequence[Backbone], pixels: Tensor, precision: Precision) -> list[Tensor]:
    """Features of each of several backbones that share a network, from one forward pass."""
    if pixels.device.type == "cpu" and len(pixels) > CPU_IMAGES:
        parts = [
            features_together(backbones, pixels[start : start + CPU_IMAGES], precision)
            for start in range(0, len(pixels), CPU_IMAGES)
        ]
        return [torch.cat(of) for of in zip(*parts, strict=True)]
    images = normalised(pixels, backbones[0].spec.transform)
    with torch.autocast(pixels.device.type, dtype=AUTOCAST.get(precision), enabled=precision in AUTOCAST):
        modules = [backbone.module for backbone in backbones]
        if len(modules) == 1:
            outputs = [backbones[0](images)]
        else:
            outputs = extracted([module for module in modules if isinstance(module, Extractor)], images)
    for backbone, output in zip(backbones, outputs, strict=True):
        if output.shape != (len(pixels), backbone.spec.dimension):
            shape = " × ".join(map(str, output.shape))
            raise UserError(f"{backbone.spec.id}: gave {shape} numbers, not {len(pixels)} × {backbone.spec.dimension}")
    return outputs


@contextmanager
def products(precision: Precision) -> Iterator[None]:
    """Full-precision products of 32-bit floats for single precision; the settings are restored afterwards."""
    if precision != "single":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


class Idle:
    """Seconds in which a device was idle because it had no data.

    A GPU works asynchronously, so its own events are used: the time between the end of a batch and the start of the
    next. A CPU is idle while we wait.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds = 0.0
        self._device = device
        self._end: torch.cuda.Event | None = None
        self._gaps: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()

    def start(self, waited: float) -> None:
        """Record that a batch is about to be computed, after waiting for it for some seconds."""
        if self._end is None:
            self.seconds += waited
            return
        self._gaps.append((self._end, self._mark()))
        while self._gaps and self._gaps[0][1].query():  # type: ignore[no-untyped-call]
            end, start = self._gaps.popleft()
            self.seconds += end.elapsed_time(start) / 1000

    def stop(self) -> None:
        """Record that the batch has been submitted."""
        if self._device.type == "cuda":
            self._end = self._mark()

    def finish(self) -> None:
        """Count the pending waits: there are no more batches."""
        while self._gaps:
            end, start = self._gaps.popleft()
            start.synchronize()
            self.seconds += end.elapsed_time(start) / 1000

    def _mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event
