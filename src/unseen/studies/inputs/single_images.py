"""Probes of single images, such as saliency and inversion: one job for a backbone and the images of a data set."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.settings import Settings, checked_device
from unseen.metrics.lpips import LEAST_SIDE, TRUNKS, Trunk
from unseen.metrics.lpips_trunks import TITLES, load_trunk
from unseen.probes.by_name import with_code
from unseen.probes.job import Job, digest_of, fits_kept
from unseen.probes.perceptual import distance_fits, perceptual_jobs
from unseen.probes.single_images import PlacedImageError, SingleImageProbe, image_fits
from unseen.runs.data import Domain
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors import execute_whole
from unseen.runs.executors.grouped import run_groups
from unseen.runs.means import Means
from unseen.runs.notices import Notice, notice
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import SentBackbone, sent_backbones
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed
from unseen.studies.inputs.image_sets import ImageSet
from unseen.studies.inputs.stage import Cells, Planned, Prepared, Stage
from unseen.studies.kept_images import BY_IMAGE, keep, kept_values, read_kept
from unseen.studies.plan import Cell
from unseen.studies.record import Described, Measured
from unseen.studies.watch import Watch
from unseen.studies.waves import in_waves
from unseen.text.words import counted

SCRATCH = "unfinished"
METRICS = {"alex": "lpips-alexnet", "vgg": "lpips-vgg", "squeeze": "lpips-squeezenet"}
DOWNLOADS = {"alex": "alexnet", "vgg": "vgg16", "squeeze": "squeezenet1_1"}
"""Names of the networks of perceptual distances: of their metrics, and in torchvision."""


@dataclass(frozen=True, eq=False)
class ImageWork:
    """Computes the jobs of one backbone by one call; it is picklable.

    Attributes:
        every: all jobs of the stage.
        sets: sets of images by name.
        out: folder of the run.
    """

    probe: SingleImageProbe
    every: Sequence[Job]
    sets: Mapping[str, ImageSet]
    backbones: Mapping[str, SentBackbone]
    settings: Settings
    out: Path
    watch: Watch

    def __call__(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """The probe gets all remaining images of the backbone at once."""
        out, exif = self.out, self.settings.exif
        for job in jobs:
            if self.sets[job.dataset].measured(exif=exif) != job.reads["images"]:
                raise UserError(f"{self.sets[job.dataset].title}: changed since this run was planned; run it again")
        backbone, scratch = self.backbone(jobs[0]), out / BY_IMAGE / SCRATCH / _stage(jobs[0])
        left = [(job, place) for job in jobs for place in images_left(job, self.sets[job.dataset], out)]
        transform = self.probe.transform(backbone.spec.transform)
        pixels = [self.sets[job.dataset].pixels(place, transform, exif=exif) for job, place in left]
        step = self.watch.stepping(
            f"{jobs[0].backbone}, {counted(len(left), 'image')}", self.probe.total_steps(backbone, len(left))
        )
        found = self.probe.measure(backbone, pixels, self.settings, jobs[0].seed, scratch, step) if left else iter(())
        done = 0
        for job in jobs:
            for _, place in [each for each in left if each[0] is job]:
                try:
                    keep(_folder(job, out), place, pixels[done], next(found))
                except UserError as error:
                    wrong, number = left[error.place if isinstance(error, PlacedImageError) else done]
                    of = self.sets[wrong.dataset]
                    raise UserError(f"{job.backbone} on {of.title}, {of.ids[number]}: {error}") from None
                done += 1
            yield job, self._values(job) | {"device": self.settings.device}
        alike = [job for job in self.every if _group(job) == _group(jobs[0])]
        if not missing(alike, out / RESULTS):
            shutil.rmtree(scratch, ignore_errors=True)  # only now: other parts of a job array may use it before
        with suppress(OSError):  # another process may be working on another backbone
            scratch.parent.rmdir()

    def backbone(self, job: Job) -> Backbone:
        return self.backbones[job.backbone].loaded(self.settings.device)

    def _values(self, job: Job) -> dict[str, Any]:
        """The values of a job whose images are all done."""
        images = self.sets[job.dataset]
        kept = [kept_values(_folder(job, self.out), place) for place in range(len(images))]
        done = [values for values in kept if values is not None]
        by_image = {metric: [values[metric] for values in done] for metric in done[0]}
        return fits_kept([*image_fits(job.probe, images.ids, by_image, job.seed)])


@dataclass(frozen=True, eq=False)
class SingleImageStage(Stage):
    """A probe of single images on every set of images.

    Attributes:
        settings: device, precision, and whether images are rotated by their EXIF orientation; images are decoded here.
        trunks: networks of perceptual distances by metric, for reconstructions.
        absent: notices about networks without weights.
    """

    probe: SingleImageProbe
    seeds: range
    sets: Sequence[ImageSet]
    backbones: Sequence[Backbone]
    settings: Settings
    trunks: Mapping[str, Trunk] = field(default_factory=dict)
    absent: Sequence[Notice] = ()

    @cached_property
    def examined(self) -> list[Job]:
        """The jobs by backbone, seed and set of images."""
        precision, exif = self.settings.precision, self.settings.exif
        found = [
            job
            for backbone in self.backbones
            for each in self.sets
            for job in with_code(
                self.probe.image_jobs(backbone, each.name, each.measured(exif=exif), precision, self.seeds)
            )
        ]
        return sorted(found, key=lambda job: ([each.label for each in self.backbones].index(job.backbone), job.seed))

    @cached_property
    def jobs(self) -> list[Job]:
        """All jobs, with those that measure perceptual distances."""
        return [*self.examined, *perceptual_jobs(self.examined, self.trunks, self._sizes)]

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {each.label: each.spec.transform.size for each in self.backbones}

    @cached_property
    def _by_name(self) -> dict[str, ImageSet]:
        return {each.name: each for each in self.sets}

    def planned(self, out: Path, means: Means) -> Planned:
        checked_device(self.settings)
        if self.settings.precision == "half" and not self.probe.half:
            raise UserError(f'{self.probe.name} computes in single or bfloat precision; set precision = "single"')
        rows = list[dict[str, Cell]]()
        networks = {each.label: each for each in self.backbones}
        for backbone in self.backbones:
            self.probe.check(backbone)
        for job in self.examined:
            images, left = self._by_name[job.dataset], len(self._left(job, out))
            named: dict[str, Cell] = {"data set": images.title, "backbone": job.backbone, "probe": job.probe}
            named |= {"seed": job.seed} if len({each.seed for each in self.examined}) > 1 else {}
            columns = self.probe.columns(networks[job.backbone], len(images))
            rows.append({**named, "images": len(images), **columns, "images left": left})
        return Planned(self._cells(out, means), rows, self._notices())

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        work = partial(in_waves, results=out / RESULTS, run=partial(self._wave, out, means, watch))
        return Prepared(self._cells(out, means), self.recorded(self.measured()), work)

    def _cells(self, out: Path, means: Means) -> Cells:
        return Cells(self.jobs, lambda jobs: self._seconds(jobs, out) / means.places)

    def _wave(self, out: Path, means: Means, watch: Watch, jobs: Sequence[Job]) -> Iterator[Job]:
        results = out / RESULTS
        if jobs and jobs[0].needs:
            return execute(jobs, results, OneByOne(partial(self._distances, out)), run_groups)
        device = self.settings.device.partition(":")[0] if means.spread else self.settings.device
        work = ImageWork(
            self.probe, self.examined, self._by_name, sent_backbones(self.backbones),
            replace(self.settings, device=device), out, watch,
        )  # fmt: skip
        return execute_whole(jobs, results, work, means, _group)

    def _distances(self, out: Path, job: Job) -> dict[str, Any]:
        """One distance per image, from the stored reconstructions."""
        folder = out / BY_IMAGE / job.needs[0].key

        def kept(place: int) -> Mapping[str, NDArray[Any]]:
            found = read_kept(folder, place)
            if found is None:
                raise UserError(
                    f"{folder}: images are missing or damaged; delete results/{job.needs[0].key}.json and run again"
                )
            return {name: np.asarray(found[name]) for name in ("image", "reconstruction")}

        trunk = self.trunks[job.settings["trunk"]]
        return fits_kept([*distance_fits(job, trunk, self._by_name[job.dataset].ids, kept)])

    def _left(self, job: Job, out: Path) -> list[int]:
        return images_left(job, self._by_name[job.dataset], out)

    def _seconds(self, jobs: Sequence[Job], out: Path) -> float:
        images: dict[str, int] = {}
        for job in jobs:
            if not job.needs:
                images[job.backbone] = images.get(job.backbone, 0) + len(self._left(job, out))
        networks = {backbone.label: backbone for backbone in self.backbones}
        return sum(
            self.probe.image_seconds(networks[name], count, self.settings) for name, count in images.items() if count
        )

    def _notices(self) -> list[Notice]:
        remarks = [notice(code, **about) for code, about in self.probe.remarks()]
        small = [
            notice("small-for-lpips", network=TITLES[trunk.name], size=size, least=LEAST_SIDE[trunk.name])
            for trunk in self.trunks.values()
            for size in sorted({*self._sizes.values()})
            if size < LEAST_SIDE[trunk.name]
        ]
        return [*remarks, *self.absent, *small]

    def measured(self) -> Measured:
        used = self.probe.used
        return Measured(
            backbones=[
                Described(each.label, Extraction(_weights(each)), text=f"{each.spec.parameters:,} parameters")
                for each in self.backbones
            ],
            protocols=[ProtocolUsed.of(self.probe.name, used)],
            domains=[Domain(each.name, each.title, licence=each.licence, axis="tasks") for each in self.sets],
            features=[FeatureKey(job.backbone, job.dataset, {self.probe.name: _key(job)}) for job in self.examined],
            images=(),
            told=[notice(code, **about) for code, about in self.probe.remarks()],
        )  # fmt: skip


def images_left(job: Job, images: ImageSet, out: Path) -> list[int]:
    """Positions of the images of a job that are not done."""
    if not missing([job], out / RESULTS):
        return []
    return [place for place in range(len(images)) if kept_values(_folder(job, out), place) is None]


def _weights(backbone: Backbone) -> BackboneAbout:
    """The fields that all parts of a run must share; layers and image sizes may differ between probes."""
    about = BackboneAbout.of(backbone.spec)
    return replace(about, layer=None, pool=None, dimension=None, transform=None)


def _key(job: Job) -> str:
    """A key of everything that determines the features, so that another backbone with the same name is refused."""
    return digest_of({**job.reads, "precision": job.arithmetic})


def _folder(job: Job, out: Path) -> Path:
    return out / BY_IMAGE / job.key


def _stage(job: Job) -> str:
    """Name of the folder of unfinished work of a backbone."""
    return digest_of({"probe": job.probe, "settings": job.settings, "spec": job.reads["spec"], "seed": job.seed})[:32]


def _group(job: Job) -> tuple[str, int]:
    return job.backbone, job.seed


def perceptual_networks(folder: Path | None, device: str) -> tuple[Mapping[str, Trunk], Sequence[Notice]]:
    """The networks by their metrics, and a notice about each that has no weights here.

    Args:
        folder: folder with the weights; None for PyTorch's download folder.
    """
    found, absent = dict[str, Trunk](), list[Notice]()
    for name in TRUNKS:
        trunk = load_trunk(name, folder, device=device)
        if trunk is not None:
            found[METRICS[name]] = trunk
        else:
            advice = f"torchvision.models.{DOWNLOADS[name]}(weights='DEFAULT') in Python downloads them."
            absent.append(notice("no-lpips", network=TITLES[name], advice=advice))
    return found, absent
