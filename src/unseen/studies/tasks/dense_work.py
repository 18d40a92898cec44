"""Computation of the jobs of dense tasks, one after another, since their features fill the memory of a device."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from unseen.device import default_device
from unseen.errors import UserError, names_of
from unseen.features.patches import PatchFeatures
from unseen.images.dense.label_survey import survey_labels
from unseen.images.dense.labels import Map, Objects
from unseen.images.dense.pictures import KeptPicture, label_picture
from unseen.images.open_dataset import OpenDataset
from unseen.probes.job import Job, fits_kept
from unseen.probes.patches.patch_probe import PatchProbe, Predictor
from unseen.probes.patches.scoring import image_score, map_prediction, picture_name
from unseen.probes.patches.task import PatchTask
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.runs.notices import Notice, notice
from unseen.studies.tasks.page_data import PICTURES


@dataclass(frozen=True, eq=False)
class DenseData:
    """A data set with maps and its patch features.

    Attributes:
        digest: hash of the labels.
        features: patch features by backbone and split.
    """

    opened: OpenDataset
    digest: str
    features: Mapping[str, Mapping[str, PatchFeatures]]


@dataclass(frozen=True, eq=False)
class DenseProbe:
    """Computes the values of a job on the device of the process; it is picklable.

    Attributes:
        data: data by data set.
        out: folder of the run.
    """

    data: Mapping[str, DenseData]
    out: Path

    def __call__(self, job: Job) -> dict[str, Any]:
        here, device, probe = self.data[job.dataset], default_device(), job.fitted
        assert isinstance(probe, PatchProbe)
        sides = here.features[job.backbone]
        for split in ("train", "test"):
            if sides[split].content_hash != job.reads[split]:
                raise UserError(f"{sides[split].place}: changed since this run was planned; run it again")
        task = _task(here, job.backbone, device)
        fit, predictor = probe.predictor(task, job.seed)
        pictures = [asdict(each) for each in _pictures(task, predictor, self.out / PICTURES / job.key)]
        details = {**fit.details, "classes": list(here.opened.classes), "pictures": pictures}
        return fits_kept([replace(fit, details=details)]) | {"device": device.type}


@lru_cache(maxsize=1)
def _task(data: DenseData, backbone: str, device: torch.device) -> PatchTask:
    """The data of a backbone, whose labels are read once for all of its probes."""
    return PatchTask(data.opened, data.features[backbone]["train"], data.features[backbone]["test"], device)


def _pictures(task: PatchTask, predictor: Predictor, folder: Path) -> Iterator[KeptPicture]:
    """Write image, ground truth and prediction of the best and the worst test images, side by side."""
    numbers = {entry.id: number for number, entry in enumerate(task.opened.source.entries)}
    folder.mkdir(parents=True, exist_ok=True)
    for place, row in enumerate(predictor.shown):
        number = numbers[task.test.ids[row]]
        labels = task.opened.labels(number)
        assert not isinstance(labels, Objects)
        shares = predictor.predict(torch.from_numpy(task.test.image(row)).to(task.device))
        size = (labels.shape[0], labels.shape[1])
        predicted = map_prediction(shares, task.test.grid, size, predictor.codes)
        path = folder / picture_name(place, len(predictor.shown))
        score = image_score(predictor.codes, predicted, labels) or 0.0
        shown: Map = predicted.cpu().numpy()
        yield label_picture(task.opened.dataset.kind, task.opened.pixels(number), labels, shown, path, score)


def label_flaws(data: OpenDataset) -> Iterator[Flaw]:
    """Images that are skipped because their labels cannot be used, labels that are not used, and those of no image."""
    survey, name = survey_labels(data), data.dataset.name
    for split, word in (("train", "training images"), ("test", "test images")):
        if damaged := survey.damaged.get(split):
            examples = tuple(f"{each.id}: {each.reason}" for each in damaged[:MOST_EXAMPLES])
            total = Counter(data.manifest.splits)[split]
            yield Flaw("damaged-images", "", name, word, len(damaged), total, examples)
        lost = [f"{each.id}: {each.reason}" for each in survey.left_out.get(split, ())]
        stray = [f"{each} is of no image" for each in data.unmatched.get(split, ())]
        if lost or stray:
            boxes = data.dataset.kind == "boxes"
            own = int(survey.shown[split].sum()) + len(lost) if boxes else len(data.numbers(split))
            examples = tuple([*lost, *stray][:MOST_EXAMPLES])
            yield Flaw("unused-labels", "", name, word, len(lost) + len(stray), own + len(stray), examples)


def label_notices(data: OpenDataset) -> list[Notice]:
    """A notice about classes that cannot be learned, if there are any."""
    untrained = survey_labels(data).untrained(data.classes)
    if not untrained:
        return []
    names, title = names_of(untrained), data.dataset.title
    return [notice("untrained-classes", data.dataset.name, title=title, count=len(untrained), classes=names)]
