"""Extraction on several devices or machines: shards of a store are made by many, and each is the same whoever makes it.

Workers open the images and load the backbones themselves, once each, and write shards into the store on shared storage.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path

from unseen.backbones.backbone import Backbone, Spec
from unseen.device import default_device
from unseen.errors import OtherPartsError, UserError
from unseen.features.disk import remaining_rows
from unseen.features.extract import extract, own_shards
from unseen.features.plan import plan
from unseen.features.progress import Progress
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource
from unseen.runs.execute import even
from unseen.runs.executors import choose_executor
from unseen.runs.means import Means
from unseen.runs.parts import WHOLE, Part

PARTS_PER_WORKER = 4
"""So that a slow worker can leave some of its share to others."""


@dataclass(frozen=True, eq=False)
class _SentBackbone:
    """A backbone as it is sent to workers: how to load it, or itself where that is not known."""

    spec: Spec
    name: str
    load: Callable[..., Backbone] | None
    itself: Backbone | None

    @classmethod
    def of(cls, backbone: Backbone) -> "_SentBackbone":
        known = backbone.load is not None
        return cls(backbone.spec, backbone.name, backbone.load, None if known else backbone)

    def loaded(self, device: str) -> Backbone:
        if self.load is None:
            assert self.itself is not None
            return self.itself
        found = self.load(device=device)
        if replace(found.spec, transform=self.spec.transform) != self.spec:
            raise UserError(f"{self.spec.id}: has other weights on this node; give all nodes the same file")
        return replace(found, spec=self.spec, name=self.name)  # with the preprocessing that was asked for


@dataclass(frozen=True, eq=False)
class Extracting:
    """Extracts parts of the shards of a split; `device` is that of whoever calls it."""

    source: ImageSource
    manifest: Manifest
    split: str
    backbones: Sequence[_SentBackbone]
    folder: Path
    settings: Settings

    @cached_property
    def _loaded(self) -> tuple[str, list[Backbone]]:
        device = default_device().type
        return device, [backbone.loaded(device) for backbone in self.backbones]

    def __call__(self, parts: Sequence[Part], /) -> Iterator[Part]:
        device, backbones = self._loaded
        for part in parts:
            settings = replace(self.settings, part=part, device=device)
            extract(self.source, self.manifest, self.split, backbones, self.folder, settings)
            yield part


def extract_with(
    means: Means,
    source: ImageSource,
    manifest: Manifest,
    split: str,
    backbones: Sequence[Backbone],
    folder: Path,
    settings: Settings,
    *,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> list[Path]:
    """Extract features of a split as `unseen.features.extract.extract` does, with whatever there is to do it with."""
    several = len(means.devices) > 1 or means.executor == "ray"
    if several:
        specs = [backbone.spec for backbone in backbones]
        left = max(remaining_rows(source, manifest, split, specs, folder, settings), default=0)
        if left:
            _spread(means, source, manifest, split, backbones, folder, settings, left, watch)
    # What is done is not done again: this only finishes stores whose shards are all there.
    return extract(source, manifest, split, backbones, folder, settings, watch=watch)


def _spread(
    means: Means,
    source: ImageSource,
    manifest: Manifest,
    split: str,
    backbones: Sequence[Backbone],
    folder: Path,
    settings: Settings,
    left: int,
    watch: Callable[[Progress], None],
) -> None:
    shards = len(own_shards(plan(source, manifest, split, settings.shard_rows), settings))
    workers = means.places if means.devices else means.workers
    pieces = max(1, min(shards, PARTS_PER_WORKER * workers)) if means.devices else shards
    number, parts = settings.part
    # The j-th of m pieces of the k-th of n parts has every (n·m)-th shard from shard k + n·j on.
    groups = [[(number + parts * piece, parts * pieces)] for piece in range(pieces)]
    decoders = 0 if settings.device == "cpu" else max(settings.workers // means.places, 1)
    sent = [_SentBackbone.of(backbone) for backbone in backbones]
    work = Extracting(source, manifest, split, sent, folder.absolute(), replace(settings, workers=decoders))
    running = choose_executor(replace(means, gpu=settings.device != "cpu"))(groups, work, even)
    began = time.perf_counter()
    for done, _ in enumerate(running, start=1):
        watch(Progress(left * done // pieces, left, time.perf_counter() - began, nan))


def refuse_unfinished(stores: Sequence[Path], part: Part) -> None:
    """End what a part of a job array does with features of which other parts have still to make some."""
    if part != WHOLE and not all((store / MANIFEST).is_file() for store in stores):
        raise OtherPartsError(
            f"part {part[0]} of {part[1]} has extracted its share of the features, and others have not yet; when they "
            "have, the same command goes on with the probes"
        )
