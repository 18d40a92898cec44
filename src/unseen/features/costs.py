"""What features cost: parameters, multiply-adds and measured speed of the backbone, kept with a feature store.

`cost.json` lies beside the manifest of a store and is no part of its key or of its content hash: a speed differs from
machine to machine, and the features do not.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.files import write_text
from unseen.reading.json_records import read_json, typed
from unseen.text.words import counted

if TYPE_CHECKING:
    import torch

    from unseen.backbones.backbone import Backbone

COST = "cost.json"
FEWEST_PASSES = 4
"""Forward passes after the first one from which on their times have quartiles."""


@dataclass(frozen=True)
class ForwardSpeed:
    """The forward passes of an extraction: without reading, decoding and copying images, with normalising them.

    Attributes:
        images, seconds: of all passes but the first, which prepares the device, if there are several.
        device: name of the GPU, or of the processor with its number of cores and the threads that PyTorch used.
        precision: of the extraction, such as `half`.
        batch: images that are computed together.
        together: number of representations, such as layers, that the same passes gave the features of.
        quartiles: of the seconds per image over passes; None with fewer than four.
    """

    images: int
    seconds: float
    device: str
    precision: str
    batch: int
    together: int = 1
    quartiles: tuple[float, float, float] | None = None

    @property
    def rate(self) -> float:
        """Images per second: of the median pass, which a pause of a shared machine does not change."""
        return self.images / self.seconds if self.quartiles is None else 1 / self.quartiles[1]

    @property
    def spread(self) -> float | None:
        """The third quartile of seconds per image divided by the first; None if it is not known."""
        return None if self.quartiles is None else self.quartiles[2] / self.quartiles[0]


@dataclass(frozen=True)
class BackboneCost:
    """What the features of one image cost.

    Attributes:
        dimension: number of dimensions of the features.
        parameters: number of parameters that the features depend on, each once.
        multiply_adds: of one image; None if they were not counted.
        uncounted: why they were not counted; empty if they were.
        size: side of the image in pixels.
        speed: None if it was not measured.
    """

    dimension: int | None = None
    parameters: int | None = None
    multiply_adds: int | None = None
    uncounted: str = ""
    size: int | None = None
    speed: ForwardSpeed | None = None

    @staticmethod
    def of(backbone: "Backbone") -> "BackboneCost":
        """What can be counted, in one forward pass of one image."""
        from unseen.backbones.counting import count

        spec, found = backbone.spec, count(backbone)
        return BackboneCost(
            spec.dimension, found.parameters, found.multiply_adds, found.uncounted, spec.transform.size
        )  # fmt: skip


class ForwardClock:
    """Measures the forward passes of a backbone; on a GPU by its own events, so that nothing waits for it."""

    def __init__(self, device: "torch.device") -> None:
        self.images, self.seconds = 0, 0.0
        self._device = device
        self._first = (0, 0.0)
        self._passes = 0
        self._each = list[float]()
        self._running: deque[tuple[int, torch.cuda.Event, torch.cuda.Event]] = deque()

    @contextmanager
    def timing(self, images: int) -> Iterator[None]:
        """Measure a pass of that many images."""
        if self._device.type != "cuda":
            start = perf_counter()
            yield
            self._add(images, perf_counter() - start)
            return
        began = self._mark()
        yield
        self._running.append((images, began, self._mark()))
        self._collect(wait=False)

    def speed(self, precision: str, batch: int, together: int) -> ForwardSpeed | None:
        """What was measured, when all passes have been submitted; None if there were none."""
        self._collect(wait=True)
        images, seconds = (self.images, self.seconds) if self.images else self._first
        if not images or seconds <= 0:
            return None
        return ForwardSpeed(
            images, seconds, _machine(self._device), precision, batch, together, _quartiles(self._each)
        )  # fmt: skip

    def _collect(self, *, wait: bool) -> None:
        while self._running and (wait or self._running[0][2].query()):  # type: ignore[no-untyped-call]
            images, start, end = self._running.popleft()
            end.synchronize()
            self._add(images, start.elapsed_time(end) / 1000)

    def _add(self, images: int, seconds: float) -> None:
        self._passes += 1
        if self._passes == 1:
            self._first = (images, seconds)
        else:
            self.images, self.seconds = self.images + images, self.seconds + seconds
            self._each.append(seconds / images)

    def _mark(self) -> "torch.cuda.Event":
        import torch

        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event


def _machine(device: "torch.device") -> str:
    """The name of a device; that of a processor with the threads that PyTorch uses, on which its speed depends."""
    import torch

    from unseen.device import name_of

    name = name_of(device)
    return name if device.type == "cuda" else f"{name}, {counted(torch.get_num_threads(), 'thread')}"


def _quartiles(each: Sequence[float]) -> tuple[float, float, float] | None:
    """The quartiles of seconds per image; None if passes are too few, or too short for the clock."""
    if len(each) < FEWEST_PASSES or min(each) <= 0:
        return None
    low, middle, high = quantiles(each, n=4, method="inclusive")
    return low, middle, high


def keep_cost(store: Path, backbone: "Backbone", speed: ForwardSpeed | None) -> None:
    """Note the cost of a backbone beside its features; of two measurements, that of more images is kept."""
    before = read_cost(store)
    if before is not None:
        if speed is None or (before.speed is not None and before.speed.images >= speed.images):
            return
        _write(store, replace(before, speed=speed))
        return
    with suppress(OSError):  # finished features may be on a disk that cannot be written
        _write(store, replace(BackboneCost.of(backbone), speed=speed))


def read_cost(store: Path) -> BackboneCost | None:
    """The cost that is noted beside features; None if there is none, or none that can be read."""
    path = store / COST
    if not path.is_file():
        return None
    try:
        found: BackboneCost = typed(read_json(path), BackboneCost, str(path), defaults=True)
    except UserError:
        return None
    speed = found.speed
    numbers = (found.dimension, found.parameters, found.multiply_adds, found.size)
    wrong = any(number is not None and number < 0 for number in numbers)
    if speed is not None and not (speed.images > 0 and 0 < speed.seconds < float("inf") and speed.together > 0):
        wrong = True
    if speed is not None and speed.quartiles is not None:
        wrong |= not (0 < speed.quartiles[0] <= speed.quartiles[1] <= speed.quartiles[2] < float("inf"))
    return None if wrong else found


def best_known(costs: Iterable[BackboneCost | None]) -> BackboneCost | None:
    """The cost of a backbone from those of several of its stores: the one with the longest measurement."""
    known = [each for each in costs if each is not None]
    return max(known, key=lambda each: each.speed.images if each.speed else 0, default=None)


def _write(store: Path, cost: BackboneCost) -> None:
    write_text(store / COST, json.dumps(asdict(cost), indent=1, ensure_ascii=False))
