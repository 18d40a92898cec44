"""Scores on every data set of the task study against ImageNet accuracy (Ericsson et al. 2021, Figs. 5 and 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unseen.analyses.tasks.averages import is_dataset, scaled
from unseen.data.registry import get_dataset, task_sets
from unseen.metrics.correlation import LEAST, Correlation, correlation
from unseen.papers.dense_settings import DENSE_SETTINGS, TRAINED, is_headline
from unseen.papers.transfer import FINETUNED, IMAGENET, LINEAR, task_setting
from unseen.runs.score import Score

SHOTS = (5, 20, 50)
"""Training images per class in the few-shot settings."""
SETTINGS = (
    LINEAR,
    FINETUNED,
    *(f"{shots}-shot" for shots in SHOTS),
    *(setting for setting, (probe, _) in DENSE_SETTINGS.items() if probe in TRAINED and is_headline(setting)),
)


@dataclass(frozen=True)
class ImagenetPoint:
    """A backbone's score on a data set and its ImageNet accuracy, as shares and on the scale of correlations."""

    backbone: str
    top1: float
    score: float
    x: float
    y: float
    published: bool


@dataclass(frozen=True)
class AgainstImagenet:
    """One data set in one setting against ImageNet accuracy, one panel of the paper's Figs. 5 and 6.

    Attributes:
        title: title of the data set.
        published, own: correlations over the paper's models and over those of the run; None if there are too few.
    """

    setting: str
    dataset: str
    title: str
    points: Sequence[ImagenetPoint]
    published: Correlation | None = None
    own: Correlation | None = None


def against_imagenet(scores: Sequence[Score], titles: Mapping[str, str]) -> list[AgainstImagenet]:
    """The backbones with known ImageNet accuracy, by setting and data set; empty if there are none.

    A backbone needs only the data set in question, not the others of its family.

    Args:
        titles: data sets of the run by name; those outside the registry, such as parts of a data set, come last.
    """
    shown = {name: dataset.title for name, dataset in task_sets().items()}
    shown |= {trained.domain: get_dataset(trained.domain).title for trained in TRAINED.values()}
    shown |= {name: title for name, title in titles.items() if name not in shown}
    top1 = {(score.backbone, score.published): score for score in scores if score.domain == IMAGENET}
    points: dict[tuple[str, str], list[ImagenetPoint]] = {}
    for score in scores:
        known = top1.get((score.backbone, score.published))
        if known and is_dataset(score.domain):
            points.setdefault((task_setting(score), score.domain), []).append(_point(known, score))
    return [
        AgainstImagenet(
            setting,
            name,
            title,
            found,
            _correlation([point for point in found if point.published]),
            _correlation([point for point in found if not point.published]),
        )
        for setting in SETTINGS
        for name, title in shown.items()
        if (found := points.get((setting, name)))
    ]


def _point(top1: Score, score: Score) -> ImagenetPoint:
    return ImagenetPoint(score.backbone, top1.value, score.value, scaled(top1), scaled(score), score.published)


def _correlation(points: Sequence[ImagenetPoint]) -> Correlation | None:
    x, y = ([getattr(point, axis) for point in points] for axis in ("x", "y"))
    return correlation(x, y) if len(points) >= LEAST and np.ptp(x) > 0 and np.ptp(y) > 0 else None
