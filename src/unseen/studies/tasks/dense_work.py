"""Computing the jobs of dense tasks, one after the other: their features fill the memory of a device."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from unseen.errors import UserError
from unseen.features.patches import PatchFeatures
from unseen.images.decode import Damaged, whole_pixels
from unseen.images.dense.dense_dataset import OpenDenseDataset
from unseen.images.dense.labels import Map, Objects
from unseen.images.dense.pictures import label_picture
from unseen.probes.patches.job import PatchJob, Predictor
from unseen.probes.patches.scoring import upsampled
from unseen.probes.patches.task import PatchTask
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.job import job_key
from unseen.runs.results import missing, write_result

PICTURES = "pictures"
"""The folder, beside results, of predictions as pictures."""


@dataclass(frozen=True, eq=False)
class DenseData:
    """A data set with maps whose patch features are there.

    Attributes:
        digest: of its labels.
        features: by backbone and split.
    """

    opened: OpenDenseDataset
    digest: str
    features: Mapping[str, Mapping[str, PatchFeatures]]


def run_dense(
    jobs: Sequence[PatchJob], data: Mapping[str, DenseData], results: Path, device: torch.device
) -> Iterator[PatchJob]:
    """Run the jobs that have no result yet and pass on each as it is done."""
    for job in missing(jobs, results):
        began = time.perf_counter()
        here = data[job.domain]
        sides = here.features[job.backbone]
        for split, wanted in (("train", job.train), ("test", job.test)):
            if sides[split].content_hash != wanted:
                raise UserError(f"{sides[split].place}: changed since this run was planned; run it again")
        task = PatchTask(here.opened, sides["train"], sides["test"], device)
        values, predictor = job.run(task)
        _keep_pictures(task, predictor, results.parent / PICTURES / job_key(job))
        known = {"classes": list(here.opened.dataset.classes), "device": device.type}
        write_result(results, job, values | known, time.perf_counter() - began)
        yield job


def _keep_pictures(task: PatchTask, predictor: Predictor, folder: Path) -> None:
    """Image, truth and prediction of the best and the worst test images, side by side."""
    numbers = {entry.id: number for number, entry in enumerate(task.opened.source.entries)}
    folder.mkdir(parents=True, exist_ok=True)
    for place, row in enumerate(predictor.shown):
        number = numbers[task.test.ids[row]]
        labels = task.opened.labels(number)
        assert not isinstance(labels, Objects)
        shares = predictor.predict(torch.from_numpy(task.test.image(row)).to(task.device))
        values = upsampled(shares, task.test.grid, (labels.shape[0], labels.shape[1]))
        predicted: Map = predictor.codes.decode(values).cpu().numpy()
        pixels = whole_pixels(task.opened.source.read(number), task.test.ids[row])
        label_picture(task.opened.dataset.kind, pixels, labels, predicted, folder / f"{place}.png")


def damaged_label_flaws(data: OpenDenseDataset) -> Iterator[Flaw]:
    """Images that are left out because their labels cannot be used."""
    found: dict[str, list[Damaged]] = {}
    for number, split in enumerate(data.manifest.splits):
        try:
            data.labels(number)
        except UserError as error:
            found.setdefault(split, []).append(Damaged(data.source.entries[number].id, str(error)))
    for split, word in (("train", "training images"), ("test", "test images")):
        if damaged := found.get(split):
            examples = tuple(f"{each.id}: {each.reason}" for each in damaged[:MOST_EXAMPLES])
            total = Counter(data.manifest.splits)[split]
            yield Flaw("damaged-images", "", data.dataset.name, word, len(damaged), total, examples)
