"""Dense tasks in the task study: probes on patch features, for data sets with label maps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Literal

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import with_patches
from unseen.device import default_device
from unseen.errors import UserError, option
from unseen.features.disk import feature_bytes, free_disk, remaining_rows
from unseen.features.patches import PatchFeatures, patch_settings, read_patches
from unseen.features.settings import Settings, checked_device
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.images.dense.label_survey import refuse_unscorable, survey_labels
from unseen.images.open_dataset import OpenDataset
from unseen.probes.by_name.patch_context import PatchContext
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.job import Job
from unseen.probes.patches.patch_probe import PatchProbe, PatchSize
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.extraction import Pass, extract_passes, refuse_unfinished
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice
from unseen.runs.parts import WHOLE, Part, loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import Extraction, ProtocolUsed, Setup
from unseen.studies.features import FEATURES, damaged_images
from unseen.studies.study import Cell, Plan, Prepared, Silent, Watch
from unseen.studies.tasks.dense_estimate import peak_memory, probe_seconds, size_of
from unseen.studies.tasks.dense_record import dense_run, patch_spec
from unseen.studies.tasks.dense_work import DenseData, DenseProbe
from unseen.studies.tasks.own_record import own_images
from unseen.studies.tasks.study import TITLE

SPLITS = ("train", "test")


@dataclass(frozen=True, eq=False)
class DenseRequest:
    """Probes of patch features on data sets with maps.

    Attributes:
        datasets: data sets with maps; those with boxes have no patch probe.
        backbones: backbones loaded with `patches`, for all positions.
        patches: number of patches of each training image that are extracted and trained on, the same positions in all.
    """

    datasets: Sequence[OpenDataset]
    backbones: Sequence[Backbone]
    settings: Settings
    probes: Sequence[PatchProbe] = (PatchLinear(), PatchContext())
    patches: int | Literal["all"] = "all"

    def __post_init__(self) -> None:
        """Labels are turned with their images."""
        exif = self.settings.exif
        turned = [each if each.exif == exif else replace(each, exif=exif) for each in self.datasets]
        object.__setattr__(self, "datasets", turned)

    @cached_property
    def protocols(self) -> list[ProtocolUsed]:
        """The protocols of the requested probes."""
        return [ProtocolUsed.of(probe.name, probe.protocol) for probe in self._probes]

    @cached_property
    def _probes(self) -> list[PatchProbe]:
        """The probes, on these patches."""
        return [probe.with_patches(self.patches) for probe in self.probes]

    @cached_property
    def _by_split(self) -> dict[str, tuple[Sequence[Backbone], Settings]]:
        """The backbones of each split and the settings of their extraction; test images need all their patches."""
        drawn = self.backbones
        if self.patches != "all":
            drawn = [with_patches(each, self.patches) for each in self.backbones]
        return {
            split: (nets, patch_settings(self.settings, nets))
            for split, nets in (("train", drawn), ("test", self.backbones))
        }

    @property
    def _extraction(self) -> Settings:
        return self._by_split["test"][1]

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work; see `unseen.studies.study.Request`."""
        checked_device(self._extraction)
        self._refuse_nonsense()
        refuse_other_run(out, self._setup())
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
                memory = peak_memory(self._probes if todo else (), data.dataset.name, size, _device())
                parts.append(_part(data, self.backbones[place], size, number, memory.bytes))
                notices += memory.notices
            planned.add(folder)
        return Plan(
            TITLE,
            parts,
            len(jobs),
            len(todo),
            units={"extracted": "share", "memory": "bytes"},
            extraction=seconds,
            probing=self._all_seconds() * len(todo) / len(jobs) / means.places if todo else 0.0,
            disk=disk,
            free=free_disk(out),
            memory=max(int(part["memory"]) for part in parts),
            alone=True,
            loads=loads(jobs, todo),
            notices=notices,
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """Extract missing features; see `unseen.studies.study.Request`."""
        made = [store for each in self.datasets for stores in self._stores(each, out, means, watch) for store in stores]
        refuse_unfinished(made, self._extraction.part)
        data = {each.dataset.name: self._extracted(each, out, watch) for each in self.datasets}
        jobs = [job for each in data.values() for job in self._jobs(each)]

        def work(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
            probe = OneByOne(DenseProbe(data, out))
            return execute(jobs, results, probe, spread_or(means, run_groups), grouped=_same_data)

        def seconds(jobs: Sequence[Job], results: Path, means: Means) -> float:
            return sum(_job_seconds(job, data[job.dataset]) for job in missing(jobs, results)) / means.places

        run = dense_run(data, self.backbones, self._extraction, self.protocols)
        return Prepared(run, jobs, work, seconds)

    def _refuse_nonsense(self) -> None:
        boxes = [data.dataset.name for data in self.datasets if data.dataset.kind == "boxes"]
        if boxes:
            raise UserError(
                f"{boxes[0]}: boxes have no probe on patches; train a detector ({option('finetune', True)})"
            )
        if not self.datasets or not self.backbones or not self.probes:
            raise UserError("a dense study needs a data set with maps, a backbone and a probe")
        drawn = next((spec for spec in map(patch_spec, self.backbones) if spec.drawn), None)
        if drawn is not None:
            raise UserError(
                f"{drawn.id}: test images need all their patches; load it with patches=True, and give the number of "
                "training patches to the study (patches=)"
            )
        for data in self.datasets:
            refuse_unscorable(data, training=max(probe.least_images for probe in self.probes))

    def _setup(self) -> Setup:
        return Setup(
            protocols=self.protocols,
            extractions={each.label: Extraction.by(each.spec, self._extraction) for each in self.backbones},
            images=own_images(data.dataset for data in self.datasets),
        )

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
            name = data.dataset.name
            if not any(map(max, self._missing_images(data, out, WHOLE).values())):
                found += self._jobs(self._extracted(data, out, None))
            else:
                later = {"train": "", "test": "", "labels": ""}
                kind = data.dataset.kind
                found += [each.job(net.label, name, kind, later) for net in self.backbones for each in self._probes]
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
        if self.patches == "all":
            return list(extract_passes(means, passes, self.backbones, self._extraction))
        return [stores for each in passes for stores in extract_passes(means, [each], *self._by_split[each.split])]

    def _extracted(self, data: OpenDataset, out: Path, watch: Watch | None) -> DenseData:
        """The existing features of a data set."""
        name = data.dataset.name
        features: dict[str, dict[str, PatchFeatures]] = {backbone.label: {} for backbone in self.backbones}
        for split, stores in zip(SPLITS, self._stores(data, out, ALONE, Silent()), strict=True):
            for backbone, store in zip(self.backbones, stores, strict=True):
                features[backbone.label][split] = read_patches(store)
                if watch and (sentence := damaged_images(f"{name}, {split}", store)):
                    watch.tell(sentence)
        return DenseData(data, survey_labels(data).digest, features)

    def _jobs(self, data: DenseData) -> Iterator[Job]:
        dataset = data.opened.dataset
        for name, sides in data.features.items():
            reads = {split: sides[split].content_hash for split in SPLITS} | {"labels": data.digest}
            for probe in self._probes:
                yield probe.job(name, dataset.name, dataset.kind, reads)

    def _all_seconds(self) -> float:
        """Estimated seconds of all jobs, finished or not."""
        return sum(
            probe_seconds(probe, data, self._size(data, place), patch_spec(backbone).grid, _device())
            for data in self.datasets
            for place, backbone in enumerate(self.backbones)
            for probe in self._probes
        )


def features_folder(data: OpenDataset, out: Path) -> Path:
    """The folder of the features of a data set; data sets with the same images and splits share it."""
    return out / FEATURES / f"images-{data.manifest.content_hash[:12]}"


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


def _job_seconds(job: Job, data: DenseData) -> float:
    train, test = (data.features[job.backbone][split] for split in SPLITS)
    size = size_of(data.opened, train.positions, test.positions, test.channels)
    probe = job.fitted
    assert isinstance(probe, PatchProbe)
    return probe_seconds(probe, data.opened, size, test.grid, _device())


def _device() -> str:
    return default_device().type
