"""Numbers of the task study, measured or printed, in one form.

The printed ones are of Ericsson et al. 2021: few-shot accuracies (Tables 6 to 8), calibration errors (Table 9), and the
accuracies on ImageNet that it correlates them with, which its models' own papers report.
"""

from dataclasses import dataclass

from unseen.papers import published
from unseen.papers.load import DATA

SOURCE = "ericsson-2021"
LINEAR, ECE, SCALED_ECE, IMAGENET = "linear", "ece", "scaled-ece", "imagenet"
FINETUNED = "finetuned"
FINETUNED_ECE, FINETUNED_SCALED_ECE = "finetuned-ece", "finetuned-scaled-ece"
_CALIBRATION = {
    "linear-unscaled": ECE,
    "linear-scaled": SCALED_ECE,
    "finetune-unscaled": FINETUNED_ECE,
    "finetune-scaled": FINETUNED_SCALED_ECE,
}
_DATASETS = {"food": "food101"}
"""What the paper calls a data set, where we call it otherwise."""


@dataclass(frozen=True)
class TaskScore:
    """One number of a backbone.

    Attributes:
        dataset: empty where a number is a mean over several, or of ImageNet.
        setting: `linear`, `finetuned`, `5-shot`, `20-shot`, `50-shot`, `ece`, `scaled-ece`, `imagenet`.
        metric: its name in the catalogue of metrics.
        value: a share.
        interval: half of the 95% interval; None where there is none.
    """

    backbone: str
    dataset: str
    setting: str
    metric: str
    value: float
    interval: float | None = None
    published: bool = False


def published_task_scores() -> list[TaskScore]:
    """What the paper printed of its 14 models, as shares, in its order."""
    table = published(SOURCE)
    scores = [
        TaskScore(
            row.model, _DATASETS.get(row.dataset, row.dataset), row.setting, "top1", row.value / 100,
            row.interval / 100, published=True,
        )
        for row in table[table["metric"] == "accuracy"].itertuples()
    ]  # fmt: skip
    errors = [
        TaskScore(row.model, "", _CALIBRATION[row.setting], "ece", row.value / 100, published=True)
        for row in table[table["metric"] == "ece"].itertuples()
    ]
    return [*scores, *errors]


def imagenet_top1() -> list[TaskScore]:
    """Top-1 accuracy on ImageNet of the paper's models with a linear classifier, in order of its tables.

    The paper states those of InsDis and PIRL; the others are from the models' own papers.
    """
    import pandas as pd

    table = pd.read_csv(DATA / f"{SOURCE}-imagenet.csv")
    return [
        TaskScore(model, "", IMAGENET, "top1", top1 / 100, published=True)
        for model, top1 in zip(table["model"], table["top1"], strict=True)
    ]
