"""Probes of patch features, for data sets with label maps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import torch

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import with_patches
from unseen.backbones.patches import PatchSpec
from unseen.data.core.dense.label_survey import refuse_unscorable, survey_labels
from unseen.data.core.open_dataset import OpenDataset
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.disk import feature_bytes, free_disk, remaining_rows
from unseen.features.patches import PatchFeatures, patch_settings, read_patches
from unseen.features.settings import Settings, checked_device
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.papers.comparability import ScoredData
from unseen.probes.image_cell import PICTURES
from unseen.probes.job import Job, fits_kept
from unseen.probes.patches.patch_probe import PatchCell, PatchInputs, PatchProbe, PatchSize
from unseen.probes.patches.task import PatchTask
from unseen.runs.data import RunData
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.extraction import Pass, extract_passes, refuse_unfinished
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice
from unseen.runs.parts import WHOLE, Part, loads
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed, Setup
from unseen.studies.features import FEATURES, damaged_images
from unseen.studies.inputs.map_labels import label_flaws, label_notices
from unseen.studies.inputs.patch_estimate import peak_memory, probe_seconds, size_of
from unseen.studies.inputs.stage import Prepared
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.plan import Cell, Plan
from unseen.studies.probes import StudyProbe
from unseen.studies.record import Described, Measured, run_record, run_title, setup_of
from unseen.studies.study import Study
from unseen.studies.watch import Silent, Watch

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
class PatchStage:
    """Probes of patch features.

    Attributes:
        every: the probes.
        data: data sets with maps.
        backbones: backbones loaded for all positions.
    """

    study: Study
    every: Sequence[StudyProbe]
    opened: OpenedData
    data: Sequence[StudyData]
    backbones: Sequence[Backbone]
    settings: Settings

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
    def _by_split(self) -> dict[str, tuple[Sequence[Backbone], Settings]]:
        """The backbones of each split and the settings of their extraction; test images need all their patches."""
        patches: int | Literal["all"] = self.study.patches
        drawn = self.backbones if patches == "all" else [with_patches(each, patches) for each in self.backbones]
        return {
            split: (nets, patch_settings(self.settings, nets))
            for split, nets in (("train", drawn), ("test", self.backbones))
        }

    @property
    def _extraction(self) -> Settings:
        return self._by_split["test"][1]

    def setup(self) -> Setup:
        return setup_of(self.study, self.opened, self._measured({}))

    def plan(self, out: Path, means: Means) -> Plan:
        checked_device(self._extraction)
        for backbone in self.backbones:
            refuse_drawn(patch_spec(backbone))
        for data in self.datasets:
            refuse_unscorable(data, training=max(probe.least_images for probe, _ in self.probes))
        jobs = self._planned_jobs(out)
        ready = [job for job in jobs if job.reads["train"]]
        todo = [job for job in jobs if not job.reads["train"]] + missing(ready, out / RESULTS)
        parts, notices, seconds, disk = list[dict[str, Cell]](), list[Notice](), 0.0, 0
        planned = set[Path]()
        for data in self.datasets:
            rows, folder = self._missing_images(data, out), features_folder(data, out)
            left = [sum(of) for of in zip(*rows.values(), strict=True)]
            if max(left) and folder not in planned:
                speed = seconds_per_image(data.source, self.backbones, self._extraction)
                seconds += extraction_seconds(speed, left, self._extraction)
                disk += sum(
                    feature_bytes(number, backbone.spec.dimension, settings)
                    for split, (backbones, settings) in self._by_split.items()
                    for number, backbone in zip(rows[split], backbones, strict=True)
                )
            for place, number in enumerate(left):
                size = self._size(data, place)
                probes = [probe for probe, _ in self.probes] if todo else []
                memory = peak_memory(probes, data.dataset.name, size, _device())
                parts.append(_part(data, self.backbones[place], size, number, memory.bytes))
                notices += memory.notices
            planned.add(folder)
        return Plan(
            run_title(self.study, ["tasks"]),
            parts,
            len(jobs),
            len(todo),
            extraction=seconds,
            probing=self._all_seconds() * len(todo) / len(jobs) / means.places if todo else 0.0,
            disk=disk,
            free=free_disk(out),
            memory=max(int(part["memory"]) for part in parts),
            alone=True,
            loads=loads(jobs, todo),
            notices=[*self.opened.absent, *notices],
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        made = [store for each in self.datasets for stores in self._stores(each, out, means, watch) for store in stores]
        refuse_unfinished(made, self._extraction.part)
        data = {each.dataset.name: self._extracted(each, out, watch) for each in self.datasets}
        jobs = [job for each in data.values() for job in self._jobs(each)]

        def work(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
            computed = OneByOne(PatchWork(data, out))
            return execute(jobs, results, computed, spread_or(means, run_groups), grouped=_same_data)

        def seconds(jobs: Sequence[Job], results: Path, means: Means) -> float:
            return sum(self._job_seconds(job, data[job.dataset]) for job in missing(jobs, results)) / means.places

        return Prepared(self._run(data), jobs, work, seconds)

    def _measured(self, data: dict[str, PatchData]) -> Measured:
        cells = [(name, each.opened, sides) for each in data.values() for name, sides in each.features.items()]
        return Measured(
            self.data,
            [
                Described(
                    each.label, patches=Extraction.by(each.spec, self._extraction),
                    text=f"{patch_spec(each).channels} features of each patch",
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

    def _run(self, data: dict[str, PatchData]) -> RunData:
        return run_record(self.study, self.opened, self._measured(data))

    def _size(self, data: OpenDataset, place: int) -> PatchSize:
        """The size of a job on a data set with the backbone at a place."""
        train, test = (patch_spec(self._by_split[split][0][place]) for split in SPLITS)
        return size_of(data, train.positions, test.positions, test.channels)

    def _missing_images(self, data: OpenDataset, out: Path, part: Part | None = None) -> dict[str, list[int]]:
        """Number of images without features by split and backbone, in this part of a job array or in another."""
        found = {}
        for split, (backbones, settings) in self._by_split.items():
            specs, here = [each.spec for each in backbones], replace(settings, part=part or settings.part)
            folder = features_folder(data, out)
            found[split] = remaining_rows(data.source, data.manifest, split, specs, folder, here)
        return found

    def _planned_jobs(self, out: Path) -> list[Job]:
        """All jobs, in the order in which they are prepared; those on missing features are without their hashes."""
        found = list[Job]()
        for data in self.datasets:
            if not any(map(max, self._missing_images(data, out, WHOLE).values())):
                found += self._jobs(self._extracted(data, out, None))
            else:
                later = {"train": "", "test": "", "labels": ""}
                found += [job for net in self.backbones for job in self._jobs_of(data, net.label, later)]
        return found

    def _stores(self, data: OpenDataset, out: Path, means: Means, watch: Watch) -> list[list[Path]]:
        """The features of a data set by split and backbone, one pass over its images for all backbones."""
        passes = [
            Pass(
                data.source,
                data.manifest,
                split,
                features_folder(data, out),
                partial(watch.extracting, data.dataset.name, split),
            )
            for split in SPLITS
        ]
        if self.study.patches == "all":
            return list(extract_passes(means, passes, self.backbones, self._extraction))
        return [stores for each in passes for stores in extract_passes(means, [each], *self._by_split[each.split])]

    def _extracted(self, data: OpenDataset, out: Path, watch: Watch | None) -> PatchData:
        """The existing features of a data set."""
        name = data.dataset.name
        features: dict[str, dict[str, PatchFeatures]] = {backbone.label: {} for backbone in self.backbones}
        for split, stores in zip(SPLITS, self._stores(data, out, ALONE, Silent()), strict=True):
            for backbone, store in zip(self.backbones, stores, strict=True):
                features[backbone.label][split] = read_patches(store)
                if watch and (sentence := damaged_images(f"{name}, {split}", store)):
                    watch.tell(sentence)
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
                yield from probe.jobs(inputs, seeds)

    def _all_seconds(self) -> float:
        """Estimated seconds of all jobs, finished or not."""
        return sum(
            probe_seconds(probe, data, self._size(data, place), patch_spec(backbone).grid, _device())
            * (len(seeds) if probe.random else 1)
            for data in self.datasets
            for place, backbone in enumerate(self.backbones)
            for probe, seeds in self.probes
            if data.dataset.target in probe.targets
        )

    def _job_seconds(self, job: Job, data: PatchData) -> float:
        train, test = (data.features[job.backbone][split] for split in SPLITS)
        size = size_of(data.opened, train.positions, test.positions, test.channels)
        probe = job.fitted
        assert isinstance(probe, PatchProbe)
        return probe_seconds(probe, data.opened, size, test.grid, _device())


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


def _part(data: OpenDataset, backbone: Backbone, size: PatchSize, left: int, memory: int) -> dict[str, Cell]:
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


def _same_data(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs in groups with the same features."""
    return [list(group) for _, group in groupby(jobs, lambda job: (job.dataset, job.backbone))]


def _device() -> str:
    return default_device().type
