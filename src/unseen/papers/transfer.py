"""The scores printed by Ericsson et al. 2021, and the settings of scores in the task study.

Linear probes, fine-tuning and accuracies on ImageNet are from the paper's Table 1, few-shot accuracies from Tables 2, 3
and 6 to 8, detection, surface normals and segmentation from Tables 4 and 5, calibration errors, reconstruction and
attention from Table 9.
"""

import re
from typing import NamedTuple

from unseen.data.registry import DATASETS
from unseen.papers import published
from unseen.papers.dense_settings import DENSE_SETTINGS, PRINTED_METRICS, TRAINED
from unseen.papers.image_settings import IMAGE_SETTINGS, PRINTED
from unseen.runs.score import MEASURED, Score

SOURCE = "ericsson-2021"
LINEAR, ECE, SCALED_ECE, IMAGENET = "linear", "ece", "scaled-ece", "imagenet"
FINETUNED = "finetuned"
FINETUNED_ECE, FINETUNED_SCALED_ECE = f"{FINETUNED}-{ECE}", f"{FINETUNED}-{SCALED_ECE}"
CENTROIDS = "centroids"
"""The probe of the paper's few-shot settings."""
_FINE_TUNED = "fine-tuned"
_CALIBRATION = {
    "linear-unscaled": (LINEAR, ECE),
    "linear-scaled": (LINEAR, SCALED_ECE),
    "finetune-unscaled": (_FINE_TUNED, ECE),
    "finetune-scaled": (_FINE_TUNED, SCALED_ECE),
}
"""The name of a setting in the paper's table → probe and metric."""
_MANY_SHOT = {"linear": LINEAR, "finetune": _FINE_TUNED}
"""The name of a setting in the paper's table → probe."""
_AS_PRINTED = {"angle-mean", "angle-median", "miou"}
"""Metrics that are not printed in percent."""
_DATASETS = {"food": "food101"}
"""The paper's name of a data set, if it differs from ours."""


def task_setting(score: Score) -> str:
    """The setting of a score, determined by its probe, shots and metric; the task study compares scores within a
    setting.

    `linear`, `finetuned`, `5-shot`, `20-shot` … for the paper's few-shot episodes, `ece`, `scaled-ece`,
    `finetuned-ece`, `finetuned-scaled-ece`, and `imagenet` for accuracy on ImageNet; for dense tasks and analyses of
    images probe and metric, such as `upernet-miou` and `saliency-diffusion`; for others the name of the probe. With few
    shots, other probes have both in their names: `linear-5-shot`, `linear-5-shot-ece`.
    """
    if score.domain == IMAGENET:
        return IMAGENET
    if score.shots is not None and score.probe == CENTROIDS:
        return f"{score.shots}-shot"
    if (named := f"{score.probe}-{score.metric}") in DENSE_SETTINGS or named in IMAGE_SETTINGS:
        return named
    base = FINETUNED if score.probe == _FINE_TUNED else score.probe
    if score.shots is not None:
        base = f"{base}-{score.shots}-shot"
    if score.metric in {ECE, SCALED_ECE}:
        return score.metric if base == LINEAR else f"{base}-{score.metric}"
    return base


class FewShot(NamedTuple):
    """A few-shot setting of a probe that the paper has only with all images; `metric` is empty but for calibration."""

    probe: str
    shots: int
    metric: str = ""


def few_shot_setting(setting: str) -> FewShot | None:
    """The parts of a setting such as `linear-5-shot-ece`; None for the paper's settings."""
    parts = re.fullmatch(rf"(.+)-(\d+)-shot(?:-({ECE}|{SCALED_ECE}))?", setting)
    return FewShot(parts[1], int(parts[2]), parts[3] or "") if parts else None


def episode_shots(setting: str) -> int | None:
    """The shots of the paper's few-shot episodes in such a setting, 5 of `5-shot`; None for others."""
    parts = re.fullmatch(r"(\d+)-shot", setting)
    return int(parts[1]) if parts else None


def imagenet_score(backbone: str, top1: float, source: str = MEASURED) -> Score:
    """A reported accuracy of a backbone on ImageNet, as a share."""
    return Score("tasks", SOURCE, backbone, IMAGENET, "own-head", None, 0, "top1", top1, source=source)


def published_task_scores() -> list[Score]:
    """The printed scores of the paper's 14 models, by setting: shares, angles in degrees; without its averages."""
    table = published(SOURCE)
    table = table[table["model"].notna()].assign(dataset=table["dataset"].replace(_DATASETS))
    accuracies = table[(table["metric"] == "accuracy") & table["dataset"].notna()]
    scores = [
        Score(
            "tasks", SOURCE, row.model, row.dataset, "centroids", int(row.setting.removesuffix("-shot")), 0, "top1",
            row.value / 100, low=(row.value - row.interval) / 100, high=(row.value + row.interval) / 100, source=SOURCE,
        )
        for row in accuracies[accuracies["setting"].str.endswith("-shot")].itertuples()
    ]  # fmt: skip
    many = [
        Score(
            "tasks", SOURCE, row.model, row.dataset, probe, None, 0, DATASETS[row.dataset].metric, row.value / 100,
            source=SOURCE,
        )
        for setting, probe in _MANY_SHOT.items()
        for row in accuracies[accuracies["setting"] == setting].itertuples()
    ]  # fmt: skip
    dense = [
        Score(
            "tasks", trained.protocol, row.model, trained.domain, probe, None, 0, metric,
            row.value if metric in _AS_PRINTED else row.value / 100, source=SOURCE,
        )
        for probe, trained in TRAINED.items()
        for row in table[table["setting"] == trained.printed].itertuples()
        for metric in (PRINTED_METRICS.get(row.metric, row.metric),)
    ]  # fmt: skip
    errors = [
        Score("tasks", SOURCE, row.model, "", probe, None, 0, metric, row.value / 100, source=SOURCE)
        for row in table[table["metric"] == "ece"].itertuples()
        for probe, metric in (_CALIBRATION[row.setting],)
    ]
    images = [
        Score(
            "tasks", SOURCE, row.model, "", probe, None, 0, metric,
            row.value / 100 if metric == "diffusion" else row.value, source=SOURCE,
        )
        for printed, (probe, metric) in PRINTED.items()
        for row in table[table["setting"] == printed].itertuples()
    ]  # fmt: skip
    return [*many, *scores, *dense, *errors, *images]


def imagenet_top1() -> list[Score]:
    """Top-1 accuracy on ImageNet of the paper's models with a linear classifier, in the order of its tables."""
    table = published(SOURCE)
    return [imagenet_score(row.model, row.value / 100, SOURCE) for row in table[table["metric"] == "top1"].itertuples()]
