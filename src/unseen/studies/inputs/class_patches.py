"""Probes of patch features, for data sets of classes: all patches of all images, pooled by the probe."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unseen.backbones.backbone import Backbone
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.multi_label import class_names
from unseen.data.core.open_dataset import OpenDataset
from unseen.device import default_device
from unseen.features.by_hash import load_unchanged
from unseen.features.features import Features
from unseen.features.patches import patch_settings
from unseen.features.settings import Settings
from unseen.features.store import read_store
from unseen.probes.image_cell import PICTURES
from unseen.probes.job import Job, fits_kept
from unseen.probes.patches.class_probe import ClassPatches, ClassPatchProbe
from unseen.probes.patches.patch_probe import PatchSize
from unseen.probes.probe import ProbeData
from unseen.probes.units import ScoredImages
from unseen.probes.vectors import probe_data
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.parts import same_features
from unseen.runs.results import RESULTS
from unseen.runs.setup import SHORT, Extraction, FeatureKey, ProtocolUsed
from unseen.runs.work import feature_hashes
from unseen.studies.inputs.image_features import ImageFeatures
from unseen.studies.inputs.patch_estimate import fit_seconds, peak_memory
from unseen.studies.inputs.patches import patch_spec, refuse_drawn
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage, without_result
from unseen.studies.opened import StudyData
from unseen.studies.plan import Cell
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probes import StudyProbe
from unseen.studies.record import Described, Measured, cost_of
from unseen.studies.watch import Watch

PATCHES = "patches"
"""Name of the folder with the features of patches of classes, in the folder of a run: they are not those of images."""
COUNTED = ("train", "val", "test")
Classes = Mapping[tuple[str, str], tuple[str, ...]]
"""(backbone, data set) → names of the classes, in the order of class indices."""


@dataclass(frozen=True, eq=False)
class ClassPatchWork:
    """Computes the values of a job on the device of the process; it is picklable.

    Attributes:
        images: data sets by name.
        transforms: preprocessing of images by backbone.
        places: content hash of features → their store.
        exif: whether images are turned by their EXIF orientation.
    """

    images: Mapping[str, OpenDataset]
    transforms: Mapping[str, Transform]
    places: Mapping[str, str]
    classes: Classes
    out: Path
    exif: bool

    def __call__(self, job: Job) -> dict[str, Any]:
        places = tuple((split, key, self.places[key]) for split, key in feature_hashes(job).items())
        data, test, grid = _read(places, tuple(job.reads.items()), f"{job.dataset} by {job.backbone}")
        device = default_device().type
        names = self.classes[job.backbone, job.dataset]
        several = data.y_train.ndim == 2
        pixels = partial(self._pixels, job.dataset, self.transforms[job.backbone], test.ids)
        cell = ClassPatches(
            replace(data, device=device), grid, class_names(names) if several else names, _tested(test, several),
            test.ids, pixels, lambda _: self.out / PICTURES / job.key, job.metric,
        )  # fmt: skip
        probe = job.fitted
        assert isinstance(probe, ClassPatchProbe)
        fits = [replace(fit, samples=probe.samples(data, fit.shots)) for fit in probe.fit(cell, [job.setting])]
        return fits_kept(fits) | {"device": device}

    def _pixels(self, dataset: str, transform: Transform, ids: Sequence[str], row: int) -> NDArray[np.uint8]:
        """(size, size, 3) the test image of a row of the features, as the backbone saw it."""
        source, _ = self.images[dataset].part("test")
        number = _numbers(self.images[dataset])[ids[row]]
        return decode(source.read(number), transform, exif=self.exif)


@lru_cache(maxsize=1)
def _numbers(images: OpenDataset) -> dict[str, int]:
    """Index of each test image in its source."""
    return {entry.id: number for number, entry in enumerate(images.part("test")[0].entries)}


@lru_cache(maxsize=1)
def _read(
    places: tuple[tuple[str, str, str], ...], reads: tuple[tuple[str, str], ...], named: str
) -> tuple[ProbeData, Features, tuple[int, int]]:
    """The data of a probe, the test features as they are stored, and the grid of patches."""
    parts = {split: load_unchanged(key, place, read_store) for split, key, place in places}
    rows, columns = parts["test"].provenance["backbone"]["grid"]
    return probe_data(parts, dict(reads), named, joined=False), parts["test"], (int(rows), int(columns))


def _tested(test: Features, several: bool) -> ScoredImages:
    if several:
        return ScoredImages.unlabelled(class_names(test.classes), len(test), test.ids)
    return ScoredImages.labelled(test.classes, test.y, test.ids)


@dataclass(frozen=True, eq=False)
class ClassPatchStage(Stage):
    """Probes of the patch features of images with classes.

    Attributes:
        every: the probes.
        data: data sets of classes.
        backbones: backbones loaded for all positions.
    """

    every: Sequence[StudyProbe]
    data: Sequence[StudyData]
    backbones: Sequence[Backbone]
    settings: Settings
    alone: ClassVar[bool] = True

    @property
    def stores(self) -> bool:
        return True

    @cached_property
    def source(self) -> ImageFeatures:
        """Where the features come from; `planned` and `found` are given the folder of patches."""
        return ImageFeatures(self.study, replace(self.opened, data=self.data), self.backbones, self._extraction)

    @cached_property
    def _extraction(self) -> Settings:
        return patch_settings(self.settings, self.backbones)

    @cached_property
    def probes(self) -> list[ClassPatchProbe]:
        return [each.probe for each in self.every if isinstance(each.probe, ClassPatchProbe)]

    def measured(self) -> Measured:
        return self._measured((), ())

    def planned(self, out: Path, means: Means) -> Planned:
        for backbone in self.backbones:
            grid = patch_spec(backbone)
            refuse_drawn(grid)
            for probe in self.probes:
                probe.refuse_width(grid.channels, backbone.label)
        found = self.source.planned(out / PATCHES, means)
        features = found.features
        cells = self._cells(features, means)
        todo = without_result(cells.jobs, out / RESULTS)
        memory = [self._memory(each) if todo else 0 for each in features]
        done = [found.done.get(each.dataset, 1.0) for each in features]
        rows = [self._row(*each) for each in zip(features, done, memory, strict=True)]
        notices = [*found.faults, *self._short(features)]
        return Planned(cells, rows, notices, found.seconds, found.bytes, lambda: max(memory, default=0))

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        found = self.source.found(out / PATCHES, means, watch)
        features = found.features
        images = {each.name: each.images for each in self.data}
        places = {each.hashes[split]: place for each in features for split, place in each.places.items()}
        classes = {(each.backbone, each.dataset): each.names for each in features}
        transforms = {each.label: each.spec.transform for each in self.backbones}
        computed = OneByOne(ClassPatchWork(images, transforms, places, classes, out, self.study.exif))

        def work(jobs: Sequence[Job]) -> Iterator[Job]:
            return execute(jobs, out / RESULTS, computed, spread_or(means, run_groups), shared=same_features)

        record = self.recorded(self._measured(features, [*found.faults, *self._short(features)]))
        return Prepared(self._cells(features, means), record, work)

    def _cells(self, features: Sequence[ProbedFeatures], means: Means) -> Cells:
        return Cells(self._jobs(features), lambda jobs: self._seconds(jobs, features) / means.places)

    def _jobs(self, features: Sequence[ProbedFeatures]) -> list[Job]:
        return [job for each in features for probe in self.every for job in probe.vector_jobs(each)]

    def _short(self, features: Sequence[ProbedFeatures]) -> list[Notice]:
        """Notices about shots for which a data set has too few samples, once for all backbones."""
        found = (told for each in features for probe in self.every for told in probe.shot_notices(each, each.dataset))
        return [*dict.fromkeys(found)]

    def _size(self, features: ProbedFeatures) -> PatchSize:
        spec = next(patch_spec(each) for each in self.backbones if each.label == features.backbone)
        rows = features.rows
        images, positions = rows["train"] + rows.get("val", 0), spec.positions
        return PatchSize(images, positions, rows["test"], positions, spec.channels, features.classes)

    def _memory(self, features: ProbedFeatures) -> int:
        size = self._size(features)
        return peak_memory(self.probes, features.dataset, size, default_device().type, labels=False).bytes

    def _seconds(self, jobs: Sequence[Job], features: Sequence[ProbedFeatures]) -> float:
        sizes = {(each.backbone, each.dataset): self._size(each) for each in features}
        seconds, device = 0.0, default_device().type
        for job in jobs:
            probe = job.fitted
            assert isinstance(probe, ClassPatchProbe)
            seconds += fit_seconds(probe, sizes[job.backbone, job.dataset], device)
        return seconds

    def _row(self, features: ProbedFeatures, done: float, memory: int) -> dict[str, Cell]:
        spec = next(patch_spec(each) for each in self.backbones if each.label == features.backbone)
        return {
            "data set": features.dataset,
            "backbone": features.backbone,
            "classes": features.classes,
            **{split: features.rows.get(split, 0) for split in COUNTED},
            "patches": f"{spec.grid[0]} × {spec.grid[1]}",
            "dimensions": spec.channels,
            "extracted": done,
            "memory": memory,
        }

    def _measured(self, features: Sequence[ProbedFeatures], told: Sequence[Notice]) -> Measured:
        levels = {each.name for each in self.opened.domains}
        return Measured(
            self.data,
            [
                Described(
                    each.label, patches=Extraction.by(each.spec, self._extraction),
                    text=f"{patch_spec(each).channels} features of each patch",
                    cost=cost_of(place for of in features if of.backbone == each.label for place in of.places.values()),
                )
                for each in self.backbones
            ],
            [ProtocolUsed.by(probe) for probe in self.probes],
            concepts={each.name: each.images.classes for each in self.data if each.name in levels},
            limits={each.name: each.images.manifest.limit for each in self.data},
            scored=[each.scored(self.probes[0].protocol_name) for each in features],
            # Features of whole images of the same data set have keys of their own.
            features=[
                FeatureKey(
                    each.backbone, each.dataset, {f"{split} patch": key[:SHORT] for split, key in each.keys.items()}
                )
                for each in features
            ],
            flaws=[flaw for each in features for flaw in each.flaws],
            told=told,
            splits=self.opened.splits,
        )  # fmt: skip
