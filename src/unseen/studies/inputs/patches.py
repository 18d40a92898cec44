"""Probes of patch features, for data sets with label maps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import with_patches
from unseen.backbones.patches import PatchSpec
from unseen.data.core.dense.label_survey import refuse_unscorable, survey_labels
from unseen.data.core.open_dataset import OpenDataset
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.patches import PatchFeatures, patch_settings, read_patches
from unseen.features.settings import Settings, checked_device
from unseen.papers.comparability import ScoredData
from unseen.probes.by_name import with_code
from unseen.probes.image_cell import PICTURES
from unseen.probes.job import Job, fits_kept
from unseen.probes.patches.patch_probe import PatchCell, PatchInputs, PatchProbe, PatchSize
from unseen.probes.patches.task import PatchTask
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.extraction import Pass, refuse_unfinished
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.parts import same_features
from unseen.runs.results import RESULTS
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed
from unseen.studies.finder import Finder, Stores, tell_damaged
from unseen.studies.inputs.map_labels import label_flaws, label_notices
from unseen.studies.inputs.patch_estimate import peak_memory, probe_seconds, size_of
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage, without_result
from unseen.studies.opened import StudyData
from unseen.studies.plan import Cell
from unseen.studies.probes import StudyProbe
from unseen.studies.record import Described, Measured, cost_of
from unseen.studies.stored_features import FEATURES
from unseen.studies.watch import Watch

SPLITS = ("train", "test")


@dataclass(frozen=True, eq=False)
class PatchData:
    """A data set with maps and its patch features.

    Attributes:
        digest: hash of the labels.
        features: patch features by backbone and split.
    """

    opened: OpenDataset
    digest: str
    features: dict[str, dict[str, PatchFeatures]]


@dataclass(frozen=True, eq=False)
class PatchWork:
    """Computes the values of a job on the device of the process; it is picklable."""

    data: dict[str, PatchData]
    out: Path

    def __call__(self, job: Job) -> dict[str, Any]:
        here, device = self.data[job.dataset], default_device()
        sides = here.features[job.backbone]
        for split in SPLITS:
            if sides[split].content_hash != job.reads[split]:
                raise UserError(f"{sides[split].place}: changed since this run was planned; run it again")
        cell = PatchCell(_task(here, job.backbone, device), lambda _: self.out / PICTURES / job.key)
        probe = job.fitted
        assert isinstance(probe, PatchProbe)
        return fits_kept([*probe.fit(cell, [job.setting])]) | {"device": device.type}


@lru_cache(maxsize=1)
def _task(data: PatchData, backbone: str, device: torch.device) -> PatchTask:
    """The data of a backbone, whose labels are read once for all of its probes."""
    return PatchTask(data.opened, data.features[backbone]["train"], data.features[backbone]["test"], device)


@dataclass(frozen=True, eq=False)
class PatchStage(Stage):
    """Probes of patch features.

    Attributes:
        every: the probes.
        data: data sets with maps.
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
    def datasets(self) -> list[OpenDataset]:
        return [each.images for each in self.data]

    @cached_property
    def probes(self) -> list[tuple[PatchProbe, range]]:
        """The probes on as many patches as the study says, with their seeds."""
        found = []
        for each in self.every:
            assert isinstance(each.probe, PatchProbe)
            found.append((each.probe.with_patches(self.study.patches), each.seeds))
        return found

    @cached_property
    def protocols(self) -> list[ProtocolUsed]:
        return [ProtocolUsed.of(probe.name, probe.protocol) for probe, _ in self.probes]

    @cached_property
    def _drawn(self) -> Sequence[Backbone]:
        """The backbones for training images; test images need all their patches."""
        patches: int | Literal["all"] = self.study.patches
        return self.backbones if patches == "all" else [with_patches(each, patches) for each in self.backbones]

    @cached_property
    def _extraction(self) -> Settings:
        """The settings of the extraction of all patches."""
        return patch_settings(self.settings, self.backbones)

    def _finders(self, out: Path) -> list[Finder]:
        """Finds the features of both splits in one pass each, or of training images by other backbones."""
        passes = [
            Pass(each.source, each.manifest, split, features_folder(each, out), each.dataset.name)
            for each in self.datasets
            for split in SPLITS
        ]
        every = Finder(passes, self.backbones, self._extraction)
        if self._drawn is self.backbones:
            return [every]
        train, test = (replace(every, passes=[each for each in passes if each.split == split]) for split in SPLITS)
        return [replace(train, backbones=self._drawn, settings=patch_settings(self.settings, self._drawn)), test]

    def measured(self) -> Measured:
        return self._measured({})

    def planned(self, out: Path, means: Means) -> Planned:
        checked_device(self._extraction)
        for backbone in self.backbones:
            refuse_drawn(patch_spec(backbone))
        for data in self.datasets:
            refuse_unscorable(data, training=max(probe.least_images for probe, _ in self.probes))
        finders = self._finders(out)
        cells = self._cells(self._planned_jobs(finders), means)
        todo = without_result(cells.jobs, out / RESULTS)
        rows, notices, seconds, disk = list[dict[str, Cell]](), list[Notice](), 0.0, 0
        planned = set[Path]()
        for data in self.datasets:
            own, folder = [each.of(data.dataset.name) for each in finders], features_folder(data, out)
            missing = [each.missing() for each in own]
            left = [sum(of) for of in zip(*missing, strict=True)]
            if folder not in planned:
                seconds += own[-1].seconds(left, means.places)
                disk += sum(sum(each.bytes(images)) for each, images in zip(own, missing, strict=True))
            for place, number in enumerate(left):
                size = self._size(data, place)
                probes = [probe for probe, _ in self.probes] if todo else []
                memory = peak_memory(probes, data.dataset.name, size, _device())
                rows.append(_row(data, self.backbones[place], size, number, memory.bytes))
                notices += memory.notices
            planned.add(folder)
        return Planned(cells, rows, notices, seconds, disk, lambda: max(int(row["memory"]) for row in rows))

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        finders = self._finders(out)
        found = [
            (each, [finder.of(each.dataset.name).extracted(means, watch.extracting) for finder in finders])
            for each in self.datasets
        ]
        stores = [(each.dataset.name, of[each.dataset.name]) for each, every in found for of in every]
        refuse_unfinished([path for _, of in stores for sides in of for path in sides.values()], self._extraction.part)
        for name, of in stores:
            tell_damaged(name, of, watch.tell)
        data = {each.dataset.name: self._read(each, of) for each, of in found}
        jobs = [job for each in data.values() for job in self._jobs(each)]

        def work(jobs: Sequence[Job]) -> Iterator[Job]:
            computed = OneByOne(PatchWork(data, out))
            return execute(jobs, out / RESULTS, computed, spread_or(means, run_groups), shared=same_features)

        return Prepared(self._cells(jobs, means), self.recorded(self._measured(data)), work)

    def _cells(self, jobs: Sequence[Job], means: Means) -> Cells:
        return Cells(jobs, lambda jobs: sum(map(self._seconds, jobs)) / means.places)

    def _measured(self, data: dict[str, PatchData]) -> Measured:
        cells = [(name, each.opened, sides) for each in data.values() for name, sides in each.features.items()]
        return Measured(
            self.data,
            [
                Described(
                    each.label, patches=Extraction.by(each.spec, self._extraction),
                    text=f"{patch_spec(each).channels} features of each patch",
                    cost=cost_of(_places(data, each.label)),
                )
                for each in self.backbones
            ],
            self.protocols,
            scored=[
                ScoredData(
                    name, opened.dataset.name, protocol.name, opened.dataset.classes,
                    {split: len(of) for split, of in sides.items()}, "given", limit=opened.manifest.limit,
                )
                for name, opened, sides in cells
                for protocol in self.protocols[:1]
            ],
            features=[
                FeatureKey(name, opened.dataset.name, {split: of.content_hash for split, of in sides.items()})
                for name, opened, sides in cells
            ],
            flaws=[flaw for each in self.datasets for flaw in label_flaws(each)] if data else (),
            told=[each for of in self.datasets for each in label_notices(of)] if data else (),
        )  # fmt: skip

    def _size(self, data: OpenDataset, place: int) -> PatchSize:
        """The size of a job on a data set with the backbone at a place."""
        train, test = (patch_spec(of[place]) for of in (self._drawn, self.backbones))
        return size_of(data, train.positions, test.positions, test.channels)

    def _planned_jobs(self, finders: Sequence[Finder]) -> list[Job]:
        """All jobs, in the order in which they are prepared; those on missing features are without their hashes."""
        found = list[Job]()
        for data in self.datasets:
            own = [each.of(data.dataset.name) for each in finders]
            if any(any(each.missing(whole=True)) for each in own):
                later = {"train": "", "test": "", "labels": ""}
                found += [job for net in self.backbones for job in self._jobs_of(data, net.label, later)]
            else:
                found += self._jobs(self._read(data, [each.stores() for each in own]))
        return found

    def _read(self, data: OpenDataset, stores: Sequence[Stores]) -> PatchData:
        """The existing features of a data set."""
        features = dict[str, dict[str, PatchFeatures]]()
        for number, backbone in enumerate(self.backbones):
            places = [each[data.dataset.name][number] for each in stores]
            features[backbone.label] = {split: read_patches(path) for of in places for split, path in of.items()}
        return PatchData(data, survey_labels(data).digest, features)

    def _jobs(self, data: PatchData) -> Iterator[Job]:
        for name, sides in data.features.items():
            reads = {split: sides[split].content_hash for split in SPLITS} | {"labels": data.digest}
            yield from self._jobs_of(data.opened, name, reads)

    def _jobs_of(self, data: OpenDataset, backbone: str, reads: dict[str, str]) -> Iterator[Job]:
        place = next(number for number, each in enumerate(self.backbones) if each.label == backbone)
        spec = patch_spec(self.backbones[place])
        inputs = PatchInputs(backbone, data.dataset.name, data.dataset.kind, reads, self._size(data, place), spec.grid)
        for probe, seeds in self.probes:
            if data.dataset.target in probe.targets:
                yield from with_code(probe.jobs(inputs, seeds))

    def _seconds(self, job: Job) -> float:
        place = next(number for number, each in enumerate(self.backbones) if each.label == job.backbone)
        data = next(each for each in self.datasets if each.dataset.name == job.dataset)
        probe = job.fitted
        assert isinstance(probe, PatchProbe)
        return probe_seconds(probe, data, self._size(data, place), patch_spec(self.backbones[place]).grid, _device())


def _places(data: Mapping[str, PatchData], backbone: str) -> list[Path]:
    """The stores of all patches of a backbone: its training features may be of some patches only."""
    return [Path(each.features[backbone]["test"].place) for each in data.values()]


def features_folder(data: OpenDataset, out: Path) -> Path:
    """The folder of the features of a data set; data sets with the same images and splits share it."""
    return out / FEATURES / f"images-{data.manifest.content_hash[:12]}"


def patch_spec(backbone: Backbone) -> PatchSpec:
    """The specification of a backbone that gives the features of patches."""
    spec = backbone.spec
    if not isinstance(spec, PatchSpec):
        raise UserError(f"{spec.id}: returns one vector per image; load it with patches=True")
    return spec


def refuse_drawn(spec: PatchSpec) -> None:
    """Refuse a backbone that gives the features of some patches only."""
    if spec.drawn:
        raise UserError(
            f"{spec.id}: test images need all their patches; load it with patches=True, and give the number of "
            "training patches to the study (patches)"
        )


def _row(data: OpenDataset, backbone: Backbone, size: PatchSize, left: int, memory: int) -> dict[str, Cell]:
    spec = patch_spec(backbone)
    return {
        "data set": data.dataset.name,
        "backbone": backbone.label,
        "labels": data.dataset.kind,
        "train": size.images,
        "test": size.tested,
        "patches": f"{spec.grid[0]} × {spec.grid[1]}",
        "training patches": size.patches,
        "dimensions": spec.channels,
        "extracted": 1 - left / (size.images + size.tested),
        "memory": memory,
    }


def _device() -> str:
    return default_device().type
