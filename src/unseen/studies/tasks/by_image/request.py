"""The request for an analysis of single images: planning, running and recording."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, option
from unseen.features.about import BackboneAbout
from unseen.features.settings import Settings, checked_device
from unseen.probes.image_fits import image_fits
from unseen.probes.job import Job, digest_of, fits_kept
from unseen.runs.data import Backbone as RunBackbone
from unseen.runs.data import Domain, RunData
from unseen.runs.execute import execute, execute_whole
from unseen.runs.executors import choose_executor
from unseen.runs.executors.grouped import run_groups
from unseen.runs.means import Means
from unseen.runs.parts import loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import SentBackbone, sent_backbones
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed
from unseen.studies.concepts.study import training_data
from unseen.studies.study import Cell, Plan, Prepared, Watch
from unseen.studies.tasks.by_image.analysis import Analysis, PlacedImageError
from unseen.studies.tasks.by_image.kept import BY_IMAGE, keep, kept_values
from unseen.studies.tasks.by_image.sets import ImageSet, ImageSets
from unseen.studies.tasks.features import STUDY
from unseen.studies.tasks.study import TITLE
from unseen.text.words import counted

SCRATCH = "unfinished"


@dataclass(frozen=True, eq=False)
class ImageRequest:
    """An analysis of every backbone on every set of images, one job each.

    Attributes:
        settings: device, precision, and whether images are rotated by their EXIF orientation; images are decoded here.
        top1: known ImageNet accuracies of backbones, between 0 and 1.
    """

    analysis: Analysis
    images: ImageSets
    backbones: Sequence[Backbone]
    settings: Settings
    top1: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def jobs(self) -> list[Job]:
        """The jobs by backbone and set of images."""
        precision, exif = self.settings.precision, self.settings.exif
        return [
            self.analysis.job(backbone, each.name, each.measured(exif=exif), precision)
            for backbone in self.backbones
            for each in self.images.sets
        ]

    @cached_property
    def _sent(self) -> dict[str, SentBackbone]:
        return sent_backbones(self.backbones)

    def __getstate__(self) -> dict[str, Any]:
        """The state without backbones, which other processes load by themselves."""
        return self.__dict__ | {"backbones": (), "jobs": self.jobs, "_sent": self._sent}

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work; see `unseen.studies.study.Request`."""
        checked_device(self.settings)
        if not self.backbones:
            raise UserError(f"no backbone was given; name one ({option('backbone')})")
        for backbone in self.backbones:
            self.analysis.check(backbone)
        refuse_other_run(out, self._run().setup)
        parts: list[dict[str, Cell]] = []
        for job in self.jobs:
            backbone, images, left = self._backbone(job), self._set(job), len(self._left(job, out))
            named: dict[str, Cell] = {"images of": images.title, "backbone": job.backbone, "images": len(images)}
            parts.append({**named, **self.analysis.columns(backbone, len(images)), "images left": left})
        todo = missing(self.jobs, out / RESULTS)
        seconds = self._seconds(todo, out) / means.places
        notices = [*self.analysis.notices(), *self.images.absent]
        return Plan(
            TITLE, parts, len(self.jobs), len(todo), probing=seconds, loads=loads(self.jobs, todo), notices=notices
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """The jobs; see `unseen.studies.study.Request`."""
        return Prepared(
            self._run(),
            self.jobs,
            lambda jobs, results, means: self._work(jobs, results, means, watch),
            lambda jobs, results, means: self._seconds(missing(jobs, results), results.parent) / means.places,
        )

    def _work(self, jobs: Sequence[Job], results: Path, means: Means, watch: Watch) -> Iterator[Job]:
        if not means.spread:
            together = partial(self._together, results.parent, watch)
            return execute(jobs, results, together, run_groups, grouped=_by_backbone)
        own = replace(self, settings=replace(self.settings, device=self.settings.device.partition(":")[0]))
        together = partial(own._together, results.parent, watch)
        return execute_whole(jobs, results, together, choose_executor(means), _by_backbone)

    def _together(self, out: Path, watch: Watch, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """The values of the jobs of one backbone; the analysis gets all their remaining images at once."""
        for job in jobs:
            if self._set(job).measured(exif=self.settings.exif) != job.reads["images"]:
                raise UserError(f"{self._set(job).title}: changed since this run was planned; run it again")
        backbone, scratch = self._backbone(jobs[0]), out / BY_IMAGE / SCRATCH / _stage(jobs[0])
        left = [(job, place) for job in jobs for place in self._left(job, out)]
        transform, exif = self.analysis.transform(backbone.spec.transform), self.settings.exif
        pixels = [self._set(job).pixels(place, transform, exif=exif) for job, place in left]
        what = f"{jobs[0].backbone}, {counted(len(left), 'image')}"
        step = watch.stepping(what, self.analysis.steps(backbone, len(left)))
        found = self.analysis.measure(backbone, pixels, self.settings, scratch, step) if left else iter(())
        done = 0
        for job in jobs:
            for _, place in [each for each in left if each[0] is job]:
                try:
                    keep(_folder(job, out), place, pixels[done], next(found))
                except UserError as error:
                    wrong, number = left[error.place if isinstance(error, PlacedImageError) else done]
                    name = self._set(wrong).ids[number]
                    raise UserError(f"{job.backbone} on {self._set(wrong).title}, {name}: {error}") from None
                done += 1
            yield job, self._result(job, out) | {"device": self.settings.device}
        if not missing([job for job in self.jobs if job.backbone == jobs[0].backbone], out / RESULTS):
            shutil.rmtree(scratch, ignore_errors=True)  # only now: other parts of a job array may use it before
        with suppress(OSError):  # another process may be working on another backbone
            scratch.parent.rmdir()

    def _result(self, job: Job, out: Path) -> dict[str, Any]:
        """The values of a job whose images are all done."""
        images = self._set(job)
        kept = [kept_values(_folder(job, out), place) for place in range(len(images))]
        done = [values for values in kept if values is not None]
        by_image = {metric: [values[metric] for values in done] for metric in done[0]}
        return fits_kept([*image_fits(job.probe, images.ids, by_image, job.seed)])

    def _left(self, job: Job, out: Path) -> list[int]:
        """Positions of the remaining images."""
        if not missing([job], out / RESULTS):
            return []
        folder = _folder(job, out)
        return [place for place in range(len(self._set(job))) if kept_values(folder, place) is None]

    def _seconds(self, jobs: Sequence[Job], out: Path) -> float:
        images = {job.backbone: 0 for job in jobs}
        for job in jobs:
            images[job.backbone] += len(self._left(job, out))
        by_name = {backbone.label: backbone for backbone in self.backbones}
        return sum(
            self.analysis.seconds(by_name[name], count, self.settings) for name, count in images.items() if count
        )

    def _backbone(self, job: Job) -> Backbone:
        return self._sent[job.backbone].loaded(self.settings.device)

    def _set(self, job: Job) -> ImageSet:
        return next(each for each in self.images.sets if each.name == job.dataset)

    def _run(self) -> RunData:
        return RunData(
            title=TITLE,
            scores=(),
            domains=[Domain(each.name, each.title, licence=each.licence) for each in self.images.sets],
            backbones=[
                RunBackbone(
                    each.label,
                    "yours",
                    f"{each.spec.parameters:,} parameters",
                    imagenet_top1=self.top1.get(each.label),
                    training_data=training_data(each.spec.id, BackboneAbout.of(each.spec)),
                    features=Extraction(_weights(each)),
                )
                for each in self.backbones
            ],
            baseline=self.backbones[0].label,
            told=[*self.analysis.notices(), *self.images.absent],
            protocols=[ProtocolUsed.of(self.analysis.name, self.analysis.protocol)],
            features=[FeatureKey(job.backbone, job.dataset, {self.analysis.name: _key(job)}) for job in self.jobs],
            study=STUDY,
        )


def _weights(backbone: Backbone) -> BackboneAbout:
    """The fields that all parts of a run must share; layers and image sizes may differ between analyses."""
    about = BackboneAbout.of(backbone.spec)
    return replace(about, layer=None, pool=None, dimension=None, transform=None)


def _key(job: Job) -> str:
    """A key of everything that determines the features, so that another backbone with the same name is refused."""
    return digest_of({**job.reads, "precision": job.arithmetic})


def _folder(job: Job, out: Path) -> Path:
    return out / BY_IMAGE / job.key


def _stage(job: Job) -> str:
    """Name of the folder of unfinished work of a backbone."""
    return digest_of({"probe": job.probe, "settings": job.settings, "spec": job.reads["spec"]})[:32]


def _by_backbone(jobs: Sequence[Job]) -> list[list[Job]]:
    return [list(group) for _, group in groupby(jobs, key=lambda job: job.backbone)]
