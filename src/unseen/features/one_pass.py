"""One pass over images for several backbones: decoding, transfer, computing and writing at the same time."""

import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.backbones.backbone import Backbone
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.errors import ImageError, UserError, setting
from unseen.features.batches import Batch, Decoder, Piece, dead_workers_named, decoded, geometry
from unseen.features.costs import ForwardClock, ForwardSpeed
from unseen.features.forward import Idle, features_together, moved, products, sharing
from unseen.features.plan import Plan
from unseen.features.progress import Progress
from unseen.features.settings import Settings
from unseen.features.shard_parts import ShardPart, write_part
from unseen.features.unfinished import Unfinished
from unseen.text.words import counted

SECONDS_BETWEEN_PARTS = 30.0
"""Seconds after which the finished part of a shard is written: at most this much work is lost by a kill."""


@dataclass(frozen=True, eq=False)
class Task:
    """A backbone, its store, and the missing shards of the store."""

    backbone: Backbone
    store: Unfinished
    shards: frozenset[int]

    @property
    def geometry(self) -> Transform:
        return geometry(self.backbone.spec.transform)


@dataclass(eq=False)
class _Shard:
    """The features of a shard for one backbone; they stay on the device until the shard is complete.

    Attributes:
        stop: the place up to which features are on disk.
        kept: number of `parts` that are on disk.
    """

    task: Task
    number: int
    stop: int
    parts: list[Tensor] = field(default_factory=list)
    damaged: dict[int, str] = field(default_factory=dict)
    kept: int = 0

    @classmethod
    def begun(cls, task: Task, number: int, start: int, device: torch.device) -> "_Shard":
        """A shard whose images before the place `start` are on disk."""
        found = [part.until(start) for part in task.store.parts(number) if part.start < start]
        damaged = {place: reason for part in found for place, reason in part.damaged.items()}
        rows = [torch.from_numpy(part.X).to(device) for part in found if len(part.X)]
        return cls(task, number, start, rows, damaged, len(rows))

    def keep(self, stop: int, settings: Settings) -> None:
        """Write the features computed since the last call, up to the place `stop`."""
        spec = self.task.backbone.spec
        rows = torch.cat([torch.empty(0, spec.dimension), *(part.cpu() for part in self.parts[self.kept :])])
        damaged = {place: reason for place, reason in self.damaged.items() if place >= self.stop}
        X = self._rounded(rows, range(self.stop, stop), settings)
        write_part(self.task.store.folder, self.number, ShardPart(self.stop, stop, X, damaged))
        self.kept, self.stop = len(self.parts), stop

    def save(self, settings: Settings) -> None:
        spec, store = self.task.backbone.spec, self.task.store
        dtype = np.float16 if settings.dtype == "float16" else np.float32
        if not self.parts:
            store.save(self.number, np.empty((0, spec.dimension), dtype), self.damaged)
            return
        store.save(
            self.number, self._rounded(torch.cat(self.parts), store.plan.images(self.number), settings), self.damaged
        )

    def _rounded(self, rows: Tensor, places: Iterable[int], settings: Settings) -> NDArray[Any]:
        """Features of the images at some places in the dtype of the store, in which they must be finite."""
        spec, store = self.task.backbone.spec, self.task.store
        X: NDArray[Any] = rows.to(getattr(torch, settings.dtype)).cpu().numpy()
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if not len(bad):
            return X
        image = store.id([place for place in places if place not in self.damaged][bad[0]])
        more = f" and of {counted(len(bad) - 1, 'more image')} of the same shard" if len(bad) > 1 else ""
        if not bool(rows[bad[0]].isfinite().all()):
            advice = "extract it in single precision" if settings.precision == "half" else "are its weights sound?"
            raise UserError(f"{spec.id}: features of {image}{more} are not finite; {advice}")
        wide = replace(settings, precision="single").dtype == "float32"
        advice = (
            "extract it in single precision"
            if wide
            else f"choose another layer ({setting('backbone.layers')}), such as one after a norm"
        )
        raise UserError(
            f"{spec.id}: features of {image}{more} reach {float(rows[bad[0]].abs().max()):,.0f}, and 16 bits hold at "
            f"most 65,504; {advice}"
        )


def one_pass(
    tasks: Sequence[Task],
    source: ImageSource,
    plan: Plan,
    settings: Settings,
    device: torch.device,
    watch: Callable[[Progress], None],
) -> dict[str, ForwardSpeed]:
    """Extract the missing shards. An error loses no complete shard, and a kill loses only the last seconds.

    Returns:
        The speed of the forward passes by the name of the store's folder.
    """
    starts = _starts(tasks, plan)
    pieces = list(_pieces(tasks, plan, starts, settings.batch))
    total = sum(piece.stop - piece.start for piece in pieces)
    decoder = Decoder(source, plan.numbers, pieces, settings.fast, settings.exif, jpegs=settings.decode != "cpu")
    for task in tasks:
        task.backbone.module.eval().to(device).to(memory_format=torch.channels_last)
    copies = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
    idle, began, done, kept = Idle(device), time.perf_counter(), 0, time.monotonic()
    clocks = defaultdict[tuple[str, ...], ForwardClock](lambda: ForwardClock(device))
    open_shards: list[_Shard] = []
    writing: list[Future[None]] = []
    with (
        dead_workers_named(),
        torch.inference_mode(),
        products(settings.precision),
        closing(_decoded(decoder, settings, device)) as batches,
        ThreadPoolExecutor(1) as writer,
    ):
        for batch, waited in _timed(batches):
            piece = batch.piece
            _refuse(batch, source, plan, settings)
            if piece.start == starts[piece.shard]:
                lacking = [task for task in tasks if piece.shard in task.shards]
                open_shards = [_Shard.begun(task, piece.shard, piece.start, device) for task in lacking]
            pixels = {shape: moved(block, device, copies) for shape, block in batch.pixels.items()}
            idle.start(waited)
            for group in _sharing(open_shards):
                shape = group[0].task.geometry
                if len(pixels[shape]):
                    backbones = [each.task.backbone for each in group]
                    with clocks[tuple(each.task.store.folder.name for each in group)].timing(len(pixels[shape])):
                        found = features_together(backbones, pixels[shape], settings.precision)
                    for shard, rows in zip(group, found, strict=True):
                        shard.parts.append(rows)
                for shard in group:
                    shard.damaged |= batch.damaged[shape]
            idle.stop()
            if piece.stop == plan.images(piece.shard).stop:
                _wait(writing)  # at most two shards are in memory
                writing = [writer.submit(shard.save, settings) for shard in open_shards]
                kept = time.monotonic()
            elif time.monotonic() - kept >= SECONDS_BETWEEN_PARTS:
                for shard in open_shards:
                    shard.keep(piece.stop, settings)
                kept = time.monotonic()
            done += piece.stop - piece.start
            if done < total:  # the last one is reported below, with all waits counted
                watch(Progress(done, total, time.perf_counter() - began, idle.seconds))
        _wait(writing)
    idle.finish()
    watch(Progress(done, total, time.perf_counter() - began, idle.seconds))
    return _speeds(clocks, settings)


def _speeds(clocks: Mapping[tuple[str, ...], ForwardClock], settings: Settings) -> dict[str, ForwardSpeed]:
    """The speed of each store; where it was computed together with several others, that of the most images."""
    found = dict[str, ForwardSpeed]()
    for names, clock in clocks.items():
        speed = clock.speed(settings.precision, settings.batch, len(names))
        if speed is not None:
            found |= {name: speed for name in names if name not in found or found[name].images < speed.images}
    return found


def _sharing(shards: Sequence[_Shard]) -> list[list[_Shard]]:
    """Shards whose features come from one forward pass, together."""
    of = {id(shard.task.backbone): shard for shard in shards}
    return [[of[id(each)] for each in group] for group in sharing(shard.task.backbone for shard in shards)]


def _decoded(decoder: Decoder, settings: Settings, device: torch.device) -> Generator[Batch, None, None]:
    batches = decoded(decoder, workers=settings.workers, device=device)
    if settings.decode == "cpu":
        return batches
    from unseen.features.gpu.gpu_decode import decoded_there

    return decoded_there(batches, device, exif=settings.exif)


def _starts(tasks: Sequence[Task], plan: Plan) -> dict[int, int]:
    """The first place of each missing shard, after the parts that every backbone has on disk."""
    starts: dict[int, int] = {}
    for shard in sorted(set[int]().union(*(task.shards for task in tasks))):
        reached = [
            max((part.stop for part in task.store.parts(shard)), default=plan.images(shard).start)
            for task in tasks
            if shard in task.shards
        ]
        starts[shard] = min(reached)
    return starts


def _pieces(tasks: Sequence[Task], plan: Plan, starts: Mapping[int, int], batch: int) -> Iterator[Piece]:
    """Batches of the missing shards. None crosses shards, so a shard does not depend on who extracts it."""
    for shard, first in starts.items():
        shapes = tuple(dict.fromkeys(task.geometry for task in tasks if shard in task.shards))
        stop = plan.images(shard).stop
        for start in range(first, stop, batch):
            yield Piece(shard, start, min(start + batch, stop), shapes)


def _timed(batches: Iterator[Batch]) -> Iterator[tuple[Batch, float]]:
    """Batches, with the seconds that each was waited for."""
    while True:
        asked = time.perf_counter()
        batch = next(batches, None)
        if batch is None:
            return
        yield batch, time.perf_counter() - asked


def _refuse(batch: Batch, source: ImageSource, plan: Plan, settings: Settings) -> None:
    """Raise an error if images cannot be read, or if they are damaged and this is not allowed."""
    if batch.unreadable:
        raise ImageError(batch.unreadable)
    damaged = {place: reason for losses in batch.damaged.values() for place, reason in losses.items()}
    if damaged and settings.on_error == "fail":
        place = min(damaged)
        more = f", and {len(damaged) - 1:,} more of the same batch are damaged" if len(damaged) > 1 else ""
        raise ImageError(
            f"{source.entries[int(plan.numbers[place])].id}: {damaged[place]}{more}; "
            "repair the images, or leave out all that are damaged and have them listed "
            f"({setting('on-error', 'skip')})"
        )


def _wait(writing: Sequence[Future[None]]) -> None:
    for future in writing:
        future.result()
