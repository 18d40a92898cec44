"""Dense tasks in the task study: probes on patch features, for data sets with label maps."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.backbones.patches import PatchSpec
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.disk import feature_bytes, free_disk, remaining_rows
from unseen.features.patches import PatchFeatures, patch_settings, read_patches
from unseen.features.settings import Settings, checked_device
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.images.dense.dense_dataset import OpenDenseDataset
from unseen.images.dense.label_survey import refuse_unscorable, survey_labels
from unseen.papers.comparability import ScoredData
from unseen.probes.by_name.patch_context import PatchContextJob
from unseen.probes.by_name.patch_linear import PatchLinearJob
from unseen.probes.patches.context import PATCH_CONTEXT, ContextProtocol
from unseen.probes.patches.job import PatchJob
from unseen.probes.patches.linear import PATCH_LINEAR, PatchLinearProtocol
from unseen.runs.data import Backbone as RunBackbone
from unseen.runs.data import Domain, RunData
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.extraction import Pass, extract_passes, refuse_unfinished
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import WHOLE, Part
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed, Setup
from unseen.studies.concepts.study import random_notices, training_data
from unseen.studies.features import FEATURES, damaged_images
from unseen.studies.study import Cell, Plan, Prepared, Silent, Watch
from unseen.studies.tasks.dense_estimate import job_seconds, size_of
from unseen.studies.tasks.dense_work import DenseData, DenseProbe, label_flaws, label_notices
from unseen.studies.tasks.features import STUDY
from unseen.studies.tasks.own_record import own_citations, own_images, own_notices
from unseen.studies.tasks.study import TITLE

SPLITS = ("train", "test")
PROBES = ("patch-linear", "patch-context")
LINEAR_IMAGES = 2
"""Training images that the linear probe needs at least, one of them to choose its settings."""


@dataclass(frozen=True, eq=False)
class DenseRequest:
    """Probes of patch features on data sets with maps.

    Attributes:
        datasets: data sets with maps; those with boxes have no patch probe.
        backbones: backbones loaded with `patches`.
        probes: some of `PROBES`.
    """

    datasets: Sequence[OpenDenseDataset]
    backbones: Sequence[Backbone]
    settings: Settings
    probes: Sequence[str] = PROBES
    linear: PatchLinearProtocol = PATCH_LINEAR
    context: ContextProtocol = PATCH_CONTEXT

    def __post_init__(self) -> None:
        """Labels are turned with their images."""
        exif = self.settings.exif
        turned = [each if each.exif == exif else replace(each, exif=exif) for each in self.datasets]
        object.__setattr__(self, "datasets", turned)

    @cached_property
    def protocols(self) -> list[ProtocolUsed]:
        """The protocols of the requested probes."""
        known = {"patch-linear": self.linear, "patch-context": self.context}
        return [ProtocolUsed.of(name, known[name]) for name in self.probes]

    @cached_property
    def _extraction(self) -> Settings:
        return patch_settings(self.settings, self.backbones)

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work; see `unseen.studies.study.Request`."""
        checked_device(self._extraction)
        self._refuse_nonsense()
        refuse_other_run(out, self._setup())
        parts, seconds, disk = list[dict[str, Cell]](), 0.0, 0
        planned = set[Path]()
        for data in self.datasets:
            left, folder = self._missing_images(data, out), features_folder(data, out)
            counts = Counter(data.manifest.splits)
            if max(left) and folder not in planned:
                speed = seconds_per_image(data.source, self.backbones, self._extraction)
                seconds += extraction_seconds(speed, left, self._extraction)
            for backbone, rows in zip(self.backbones, left, strict=True):
                disk += 0 if folder in planned else feature_bytes(rows, backbone.spec.dimension, self._extraction)
                parts.append(_part(data, _patch_spec(backbone), counts, rows, backbone.label))
            planned.add(folder)
        jobs = len(self.datasets) * len(self.backbones) * len(self.probes)
        done = [job for job in self._planned_jobs(out) if job.train]
        todo = jobs - len(done) + len(missing(done, out / RESULTS))
        return Plan(
            TITLE,
            parts,
            jobs,
            todo,
            units={"extracted": "share"},
            extraction=seconds,
            probing=self._all_seconds() * todo / max(jobs, 1) / means.places if todo else 0.0,
            disk=disk,
            free=free_disk(out),
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared[PatchJob]:
        """Extract missing features; see `unseen.studies.study.Request`."""
        made = [store for each in self.datasets for stores in self._stores(each, out, means, watch) for store in stores]
        refuse_unfinished(made, self._extraction.part)
        data = {each.dataset.name: self._extracted(each, out, watch) for each in self.datasets}
        jobs = [job for each in data.values() for job in self._jobs(each)]

        def work(jobs: Sequence[PatchJob], results: Path, means: Means) -> Iterator[PatchJob]:
            probe = OneByOne(DenseProbe(data, out))
            return execute(jobs, results, probe, spread_or(means, run_groups), grouped=_same_data)

        def seconds(jobs: Sequence[PatchJob], results: Path, means: Means) -> float:
            return sum(_job_seconds(job, data[job.domain]) for job in missing(jobs, results)) / means.places

        return Prepared(self._run(data), jobs, work, seconds)

    def _refuse_nonsense(self) -> None:
        boxes = [data.dataset.name for data in self.datasets if data.dataset.kind == "boxes"]
        if boxes:
            raise UserError(f"{boxes[0]}: boxes have no probe on patches; train a detector (--finetune)")
        if not self.datasets or not self.backbones or not self.probes:
            raise UserError("a dense study needs a data set with maps, a backbone and a probe")
        for data in self.datasets:
            refuse_unscorable(data, training=LINEAR_IMAGES if "patch-linear" in self.probes else 1)

    def _setup(self) -> Setup:
        return Setup(
            protocols=self.protocols,
            extractions={each.label: Extraction.by(each.spec, self._extraction) for each in self.backbones},
            images=own_images(data.dataset for data in self.datasets),
        )

    def _missing_images(self, data: OpenDenseDataset, out: Path, part: Part | None = None) -> list[int]:
        """Number of images without features by backbone, in this part of a job array unless another is given."""
        specs, folder = [backbone.spec for backbone in self.backbones], features_folder(data, out)
        settings = replace(self._extraction, part=part or self._extraction.part)
        parts = [remaining_rows(data.source, data.manifest, split, specs, folder, settings) for split in SPLITS]
        return [sum(of) for of in zip(*parts, strict=True)]

    def _planned_jobs(self, out: Path) -> list[PatchJob]:
        """The jobs on existing features."""
        found = list[PatchJob]()
        for data in self.datasets:
            if not max(self._missing_images(data, out, WHOLE)):
                found += self._jobs(self._extracted(data, out, None))
        return found

    def _stores(self, data: OpenDenseDataset, out: Path, means: Means, watch: Watch) -> list[list[Path]]:
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
        return list(extract_passes(means, passes, self.backbones, self._extraction))

    def _extracted(self, data: OpenDenseDataset, out: Path, watch: Watch | None) -> DenseData:
        """The existing features of a data set."""
        name = data.dataset.name
        features: dict[str, dict[str, PatchFeatures]] = {backbone.label: {} for backbone in self.backbones}
        for split, stores in zip(SPLITS, self._stores(data, out, ALONE, Silent()), strict=True):
            for backbone, store in zip(self.backbones, stores, strict=True):
                features[backbone.label][split] = read_patches(store)
                if watch and (sentence := damaged_images(f"{name}, {split}", store)):
                    watch.tell(sentence)
        return DenseData(data, survey_labels(data).digest, features)

    def _jobs(self, data: DenseData) -> Iterator[PatchJob]:
        dataset = data.opened.dataset
        for name, sides in data.features.items():
            shared = (name, dataset.name, dataset.kind, sides["train"].content_hash, sides["test"].content_hash)
            if "patch-linear" in self.probes:
                yield PatchLinearJob(STUDY, self.linear, *shared, data.digest)
            if "patch-context" in self.probes:
                yield PatchContextJob(STUDY, self.context, *shared, data.digest)

    def _all_seconds(self) -> float:
        """Estimated seconds of all jobs, finished or not."""
        known: dict[str, PatchJob] = {
            "patch-linear": PatchLinearJob(STUDY, self.linear, "", "", "classes", "", "", ""),
            "patch-context": PatchContextJob(STUDY, self.context, "", "", "classes", "", "", ""),
        }
        return sum(
            job_seconds(known[probe], data, size_of(data, spec.positions, spec.channels), spec.grid, _device())
            for data in self.datasets
            for spec in map(_patch_spec, self.backbones)
            for probe in self.probes
        )

    def _run(self, data: Mapping[str, DenseData]) -> RunData:
        datasets = [each.opened.dataset for each in data.values()]
        backbones = [
            RunBackbone(
                each.label,
                "yours",
                f"{_patch_spec(each).channels} features of each patch",
                training_data=training_data(each.spec.id, BackboneAbout.of(each.spec)),
                features=Extraction.by(each.spec, self._extraction),
            )
            for each in self.backbones
        ]
        return RunData(
            title=TITLE,
            scores=(),
            domains=[
                Domain(each.name, each.title, classes=len(each.classes), licence=each.licence) for each in datasets
            ],
            backbones=backbones,
            baseline=self.backbones[0].label,
            told=[
                *random_notices(backbones),
                *own_notices(datasets),
                *(each for of in data.values() for each in label_notices(of.opened)),
            ],
            protocols=self.protocols,
            images=own_images(datasets),
            remarks=own_citations(datasets),
            features=[
                FeatureKey(name, each.opened.dataset.name, {split: of.content_hash for split, of in sides.items()})
                for each in data.values()
                for name, sides in each.features.items()
            ],
            scored=[
                ScoredData(
                    name,
                    each.opened.dataset.name,
                    protocol.name,
                    len(each.opened.dataset.classes),
                    {split: len(of) for split, of in sides.items()},
                    "given",
                )
                for each in data.values()
                for name, sides in each.features.items()
                for protocol in self.protocols[:1]
            ],
            flaws=[flaw for each in data.values() for flaw in label_flaws(each.opened)],
            study=STUDY,
        )


def features_folder(data: OpenDenseDataset, out: Path) -> Path:
    """The folder of the features of a data set; data sets with the same images and splits share it."""
    return out / FEATURES / f"images-{data.manifest.content_hash[:12]}"


def _part(data: OpenDenseDataset, spec: PatchSpec, counts: Mapping[str, int], left: int, name: str) -> dict[str, Cell]:
    images = sum(counts[split] for split in SPLITS)
    return {
        "data set": data.dataset.name,
        "backbone": name,
        "labels": data.dataset.kind,
        "train": counts["train"],
        "test": counts["test"],
        "patches": f"{spec.grid[0]} × {spec.grid[1]}",
        "dimensions": spec.channels,
        "extracted": 1 - left / images,
    }


def _patch_spec(backbone: Backbone) -> PatchSpec:
    if not isinstance(backbone.spec, PatchSpec):
        raise UserError(f"{backbone.spec.id}: returns one vector per image; load it with patches=True")
    return backbone.spec


def _same_data(jobs: Sequence[PatchJob]) -> list[list[PatchJob]]:
    """The jobs in groups with the same features."""
    return [list(group) for _, group in groupby(jobs, lambda job: (job.domain, job.backbone))]


def _job_seconds(job: PatchJob, data: DenseData) -> float:
    train = data.features[job.backbone]["train"]
    return job_seconds(job, data.opened, size_of(data.opened, train.positions, train.channels), train.grid, _device())


def _device() -> str:
    return default_device().type
