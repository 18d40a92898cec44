"""What Ericsson et al. 2021 printed of their models, as scores, and the settings that scores of the task study are in.

Few-shot accuracies are from the paper's Tables 6 to 8 and calibration errors from Table 9. The accuracies on ImageNet
that it correlates them with are those that its models' own papers report.
"""

from unseen.papers import published
from unseen.papers.load import DATA
from unseen.runs.score import MEASURED, Score

SOURCE = "ericsson-2021"
LINEAR, ECE, SCALED_ECE, IMAGENET = "linear", "ece", "scaled-ece", "imagenet"
FINETUNED = "finetuned"
FINETUNED_ECE, FINETUNED_SCALED_ECE = f"{FINETUNED}-{ECE}", f"{FINETUNED}-{SCALED_ECE}"
_FINE_TUNED = "fine-tuned"
_CALIBRATION = {
    "linear-unscaled": (LINEAR, ECE),
    "linear-scaled": (LINEAR, SCALED_ECE),
    "finetune-unscaled": (_FINE_TUNED, ECE),
    "finetune-scaled": (_FINE_TUNED, SCALED_ECE),
}
"""What the paper's table calls a setting → probe and metric."""
_DATASETS = {"food": "food101"}
"""What the paper calls a data set, where we call it otherwise."""


def task_setting(score: Score) -> str:
    """What the task study compares a score with: others of its setting, which its probe, shots and metric tell.

    `linear`, `finetuned`, `5-shot`, `20-shot` …, `ece`, `scaled-ece`, `finetuned-ece`, `finetuned-scaled-ece`, and
    `imagenet` for accuracy on ImageNet; the name of the probe for any other.
    """
    if score.domain == IMAGENET:
        return IMAGENET
    if score.shots is not None:
        return f"{score.shots}-shot"
    base = FINETUNED if score.probe == _FINE_TUNED else score.probe
    if score.metric in {ECE, SCALED_ECE}:
        return score.metric if base == LINEAR else f"{base}-{score.metric}"
    return base


def imagenet_score(backbone: str, top1: float, source: str = MEASURED) -> Score:
    """Accuracy on ImageNet, a share, that somebody reports of a backbone."""
    return Score("tasks", SOURCE, backbone, IMAGENET, "own-head", None, 0, "top1", top1, source=source)


def published_task_scores() -> list[Score]:
    """What the paper printed of its 14 models, as shares, in its order."""
    table = published(SOURCE)
    scores = [
        Score(
            "tasks", SOURCE, row.model, _DATASETS.get(row.dataset, row.dataset), "centroids",
            int(row.setting.removesuffix("-shot")), 0, "top1", row.value / 100,
            low=(row.value - row.interval) / 100, high=(row.value + row.interval) / 100, source=SOURCE,
        )
        for row in table[table["metric"] == "accuracy"].itertuples()
    ]  # fmt: skip
    errors = [
        Score("tasks", SOURCE, row.model, "", probe, None, 0, metric, row.value / 100, source=SOURCE)
        for row in table[table["metric"] == "ece"].itertuples()
        for probe, metric in (_CALIBRATION[row.setting],)
    ]
    return [*scores, *errors]


def imagenet_top1() -> list[Score]:
    """Top-1 accuracy on ImageNet of the paper's models with a linear classifier, in order of its tables.

    The paper states those of InsDis and PIRL; the others are from the models' own papers.
    """
    import pandas as pd

    table = pd.read_csv(DATA / f"{SOURCE}-imagenet.csv")
    return [
        imagenet_score(model, top1 / 100, SOURCE) for model, top1 in zip(table["model"], table["top1"], strict=True)
    ]
