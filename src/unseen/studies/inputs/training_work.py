"""The computation of trainings on images, in any process."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.data.core.open_dataset import OpenDataset
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.fingerprint import names_and_pixels
from unseen.probes.image_cell import ImageCell
from unseen.probes.job import Job, fits_kept
from unseen.probes.trainings import TrainingProbe
from unseen.runs.lock import folder_lock
from unseen.runs.results import RESULTS, read_result
from unseen.runs.sent_backbone import SentBackbone
from unseen.studies.watch import Watch


@dataclass(eq=False)
class TrainingWork:
    """Computes trainings; data sets are opened and backbones are loaded once in each process. It is picklable.

    Attributes:
        out: folder of the run.
        workers: processes that decode images.
    """

    opened: Mapping[str, OpenDataset]
    backbones: Mapping[str, SentBackbone]
    out: Path
    workers: int
    watch: Watch
    _shared: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def __call__(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        for job in jobs:
            try:
                cell, probe = self.cell(job), job.fitted
                assert isinstance(probe, TrainingProbe)
                fits = [*probe.fit(cell, [job.setting])]
            except UserError as error:
                text = str(error)
                named = text.startswith((f"{job.backbone} on", f"{job.dataset}:"))
                raise UserError(text if named else f"{job.backbone} on {job.dataset}: {text}") from None
            yield job, fits_kept(fits) | {"device": cell.device.type}

    def cell(self, job: Job) -> ImageCell:
        """What a job is given; images stay in memory until those of another backbone or data set are needed."""
        what = (job.dataset, job.backbone)
        if what not in self._shared:
            self._shared.clear()
            if images_digest(self.opened[job.dataset]) != job.reads["images"]:
                raise UserError("its images have changed since this training was planned; run it again")
        return ImageCell(
            self.backbones[job.backbone].loaded("cpu"), self.opened[job.dataset], {job.setting: job}, self.out,
            default_device(), self.workers, self.watch.stepping, self._needed, folder_lock,
            self._shared.setdefault(what, {}),
        )  # fmt: skip

    def _needed(self, job: Job) -> list[dict[str, Any]]:
        found = list[dict[str, Any]]()
        for each in job.needs:
            result = read_result(self.out / RESULTS, each.key)
            if result is None:
                raise UserError("the result of a trial was removed while it was needed; run the same command again")
            found.append({**result.details, "seconds": result.seconds})
        return found

    def forget(self) -> None:
        """Release the memory of images."""
        self._shared.clear()


def images_digest(opened: OpenDataset) -> str:
    """Digest of the names and the pixels of the images of a data set, and of their classes."""
    source, manifest = opened.joined
    splits = ("train", "test") if opened.dataset.dense else ("train", "val", "test")
    return names_and_pixels(source, manifest, [split for split in splits if opened.rows[split]])
