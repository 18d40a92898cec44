"""Reconstructions and, as separate jobs, their perceptual distances to the originals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import OtherPartsError, UserError
from unseen.metrics.lpips import LEAST_SIDE, Trunk, lpips
from unseen.metrics.lpips_trunks import TITLES
from unseen.probes.by_name.inversion import LPIPS, Inversion
from unseen.probes.image_fits import image_fits
from unseen.probes.job import Job, fits_kept
from unseen.runs.execute import OneByOne, execute
from unseen.runs.executors.grouped import run_groups
from unseen.runs.means import Means
from unseen.runs.notices import Notice, notice
from unseen.runs.results import RESULTS, missing
from unseen.studies.study import Plan, Prepared, Watch
from unseen.studies.tasks.by_image.kept import BY_IMAGE, read_kept
from unseen.studies.tasks.by_image.request import ImageRequest

BATCH = 8


@dataclass(frozen=True, eq=False)
class InversionRequest:
    """Reconstruct images, and compare them with the originals by every network with available weights.

    Attributes:
        reconstructions: the study of reconstructions.
        trunks: networks of perceptual distances, by metric.
        absent: notices about networks without weights.
    """

    reconstructions: ImageRequest
    trunks: Mapping[str, Trunk]
    absent: Sequence[Notice] = ()

    @cached_property
    def distances(self) -> list[Job]:
        """The jobs by reconstruction and network, except for images that are too small for a network."""
        sizes = {each.label: each.spec.transform.size for each in self.reconstructions.backbones}
        return [
            Job(
                LPIPS,
                1,
                job.backbone,
                job.dataset,
                job.reads,
                {"protocol": job.protocol, "trunk": metric, "weights": trunk.digest},
                seed=job.seed,
                arithmetic=job.arithmetic,
                needs=(job,),
            )
            for job in self.reconstructions.jobs
            for metric, trunk in self.trunks.items()
            if sizes[job.backbone] >= LEAST_SIDE[trunk.name]
        ]

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work; see `unseen.studies.study.Request`."""
        plan = self.reconstructions.plan(out, means)
        left = len(missing(self.distances, out / RESULTS))
        return replace(
            plan,
            jobs=plan.jobs + len(self.distances),
            jobs_left=plan.jobs_left + left,
            notices=[*plan.notices, *self.absent, *self._too_small()],
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """All jobs; see `unseen.studies.study.Request`."""
        first = self.reconstructions.prepare(out, means, watch)

        def work(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
            later = [job for job in jobs if job.probe == LPIPS]
            yield from first.work([job for job in jobs if job.probe == Inversion.name], results, means)
            absent = {job.key for job in missing(self.reconstructions.jobs, results)}
            ready = [job for job in later if job.needs[0].key not in absent]
            yield from execute(ready, results, OneByOne(partial(self._values, results.parent)), run_groups)
            if len(ready) < len(later):
                raise OtherPartsError(
                    "this part has reconstructed its share of the images, but other parts have not finished; run the "
                    "same command again after that to compute the distances"
                )

        def seconds(jobs: Sequence[Job], results: Path, means: Means) -> float:
            return first.seconds([job for job in jobs if job.probe == Inversion.name], results, means)

        return replace(first, jobs=[*first.jobs, *self.distances], work=work, seconds=seconds)

    def _values(self, out: Path, job: Job) -> dict[str, Any]:
        """One distance per image, from the stored reconstructions."""
        images = next(each for each in self.reconstructions.images.sets if each.name == job.dataset)
        folder, found = out / BY_IMAGE / job.needs[0].key, list[float]()
        for start in range(0, len(images), BATCH):
            kept = [read_kept(folder, place) for place in range(start, min(start + BATCH, len(images)))]
            there = [each for each in kept if each is not None]
            if len(there) < len(kept):
                raise UserError(
                    f"{folder}: images are missing or damaged; delete results/{job.needs[0].key}.json and run again"
                )
            pairs = (np.stack([each[name] for each in there]) for name in ("image", "reconstruction"))
            found += map(float, lpips(self.trunks[job.settings["trunk"]], *pairs))
        by_image = {str(job.settings["trunk"]): found}
        return fits_kept([*image_fits(Inversion.name, images.ids, by_image, job.seed)])

    def _too_small(self) -> list[Notice]:
        sizes = {backbone.spec.transform.size for backbone in self.reconstructions.backbones}
        return [
            notice("small-for-lpips", network=TITLES[trunk.name], size=size, least=LEAST_SIDE[trunk.name])
            for trunk in self.trunks.values()
            for size in sorted(sizes)
            if size < LEAST_SIDE[trunk.name]
        ]
