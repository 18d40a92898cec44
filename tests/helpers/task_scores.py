"""Scores of the task study, written as briefly as tests need them."""

from unseen.papers.transfer import ECE, IMAGENET, SCALED_ECE, imagenet_score, task_setting
from unseen.runs.score import Score


def task_score(backbone: str, dataset: str, setting: str, value: float, half: float | None = None) -> Score:
    """A measured score of a setting; calibration errors have the setting's metric, others are top-1 accuracies."""
    if setting == IMAGENET:
        return imagenet_score(backbone, value)
    shots = int(setting.removesuffix("-shot")) if setting.endswith("-shot") else None
    probe = "centroids" if shots else "fine-tuned" if setting.startswith("finetuned") else "linear"
    metric = next((name for name in (SCALED_ECE, ECE) if setting.endswith(name)), "top1")
    low, high = (None, None) if half is None else (value - half, value + half)
    score = Score("tasks", "ericsson-2021", backbone, dataset, probe, shots, 0, metric, value, low, high)
    assert task_setting(score) == setting
    return score
