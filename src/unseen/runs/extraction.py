"""Extraction on several devices or machines: many workers write the shards of one store.

A shard does not depend on the worker that writes it. Every worker opens the images and loads the backbones once, and
writes its shards into the store on shared storage.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.data.core.manifest import Manifest
from unseen.data.core.source import ImageSource
from unseen.device import default_device
from unseen.errors import OtherPartsError
from unseen.features.disk import remaining_rows
from unseen.features.extract import extract, own_shards
from unseen.features.plan import plan
from unseen.features.progress import Progress
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.runs.execute import even
from unseen.runs.executors import choose_executor
from unseen.runs.means import Means
from unseen.runs.parts import WHOLE, Part
from unseen.runs.sent_backbone import SentBackbone, loaded_together

PARTS_PER_WORKER = 4
"""Number of pieces per worker, so that fast workers can take over work from slow ones."""

Watching = Callable[[str, str], Callable[[Progress], None]]


def unwatched(name: str, split: str) -> Callable[[Progress], None]:
    """A progress callback that does nothing."""
    return lambda progress: None


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over the images of a split.

    Attributes:
        folder: parent folder of its stores.
        name: of the data set.
    """

    source: ImageSource
    manifest: Manifest
    split: str
    folder: Path
    name: str = ""


ShardsJob = tuple[int, Part]
"""The number of a pass, and the part of its shards to extract."""


@dataclass(frozen=True, eq=False)
class Extracting:
    """Extracts parts of the shards of splits on the caller's device; backbones are loaded once."""

    passes: Sequence[Pass]
    backbones: Sequence[SentBackbone]
    settings: Settings

    @property
    def folder(self) -> Path:
        return self.passes[0].folder

    @cached_property
    def _loaded(self) -> tuple[str, list[Backbone]]:
        device = default_device().type
        return device, loaded_together(self.backbones, device)

    def __call__(self, jobs: Sequence[ShardsJob], /) -> Iterator[ShardsJob]:
        device, backbones = self._loaded
        for number, part in jobs:
            each, settings = self.passes[number], replace(self.settings, part=part, device=device)
            extract(each.source, each.manifest, each.split, backbones, each.folder, settings)
            yield number, part


def extract_passes(
    means: Means,
    passes: Sequence[Pass],
    backbones: Sequence[Backbone],
    settings: Settings,
    watch: Watching = unwatched,
) -> Iterator[list[Path]]:
    """Extract the features of splits as `unseen.features.extract.extract` does, on the given hardware.

    Yields the stores of each split, in order, when they are done.

    Args:
        watch: takes the names of a data set and of a split, and returns their progress callback.
    """
    if means.devices or means.executor == "ray":
        _spread(means, passes, backbones, settings, watch)
    # Finished shards are not extracted again: after `_spread`, this only completes stores that have all their shards.
    for each in passes:
        arguments = (each.source, each.manifest, each.split, backbones, each.folder, settings)
        yield extract(*arguments, watch=watch(each.name, each.split))


def _spread(
    means: Means, passes: Sequence[Pass], backbones: Sequence[Backbone], settings: Settings, watch: Watching
) -> None:
    """Extract the missing shards of all splits, a part of them per worker."""
    specs = [backbone.spec for backbone in backbones]
    left = {
        number: rows
        for number, each in enumerate(passes)
        if (rows := max(remaining_rows(each.source, each.manifest, each.split, specs, each.folder, settings)))
    }
    if not left:
        return
    groups = [_pieces(number, passes[number], settings, means) for number in left]
    decoders = 0 if settings.device == "cpu" else max(settings.workers // means.places, 1)
    sent = [replace(each, folder=each.folder.absolute()) for each in passes]
    work = Extracting(sent, [SentBackbone.of(each) for each in backbones], replace(settings, workers=decoders))
    shown = {number: watch(passes[number].name, passes[number].split) for number in left}
    done, began = Counter[int](), time.perf_counter()
    total = {number: len(pieces) for number, pieces in zip(left, groups, strict=True)}
    executor = choose_executor(replace(means, gpu=settings.device != "cpu"))
    alone = [[piece] for pieces in groups for piece in pieces]
    for number, _ in executor(alone, work, even):
        done[number] += 1
        images = left[number] * done[number] // total[number]
        shown[number](Progress(images, left[number], time.perf_counter() - began, nan))


def _pieces(number: int, each: Pass, settings: Settings, means: Means) -> list[ShardsJob]:
    """The shards of a split in parts: several per worker if the number of workers is known, or else one per shard."""
    shards = len(own_shards(plan(each.source, each.manifest, each.split, settings.shard_rows), settings))
    pieces = min(shards, PARTS_PER_WORKER * means.places) if means.devices else shards
    part, parts = settings.part
    # The j-th of m pieces of the k-th of n parts has every (n·m)-th shard from shard k + n·j on.
    return [(number, (part + parts * piece, parts * pieces)) for piece in range(pieces)]


def refuse_unfinished(stores: Sequence[Path], part: Part) -> None:
    """Refuse to go on if other parts of a job array have not finished their shards of the features."""
    if part != WHOLE and not all((store / MANIFEST).is_file() for store in stores):
        raise OtherPartsError(
            f"part {part[0]} of {part[1]} has extracted its share of the features, but other parts have not finished; "
            "run the same command again after that to run the probes"
        )
