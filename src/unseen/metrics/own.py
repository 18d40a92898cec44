"""Metrics of labels and class scores: a function with its metadata, in a Python file that defines `METRIC`.

The file is the user's own code, which is executed, or one of those in `unseen.metrics.by_name`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, look_up
from unseen.extension.own_code import OwnFile, attribute_of, is_own_file, own_file, own_place, running
from unseen.metrics.catalogue import METRICS, Metric

ATTRIBUTE = "METRIC"
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
UNITS = ("share", "degrees", "metres", "score")
Takes = Literal["predictions", "scores", "classes"]


@dataclass(frozen=True)
class OwnMetric(Metric):
    """A metric with the function that computes it.

    Attributes:
        compute: function of (n,) class indices and, depending on `takes`, (n,) predicted indices or (n, c) scores of
            the classes, both NumPy arrays; returns one number. With "classes", a function of class indices, predicted
            indices and the names of the classes; returns (n,) values of which the mean over known ones is the metric,
            NaN where unknown, and these are kept for comparisons image by image.
        title: what it is, in a few words.
        takes: scores are the probe's own: logits of logistic regression, votes of neighbours.
    """

    compute: Callable[..., Any]
    title: str
    takes: Takes = "predictions"


@dataclass(frozen=True)
class OwnMetricFile:
    """A metric and its file."""

    metric: OwnMetric
    file: OwnFile
    attribute: str

    def of_images(
        self, y: NDArray[np.int64], scores: NDArray[Any], classes: Sequence[str]
    ) -> NDArray[np.float64] | None:
        """(n,) the values of images, NaN where unknown, of a metric that takes classes; None for others."""
        if self.metric.takes != "classes":
            return None
        if not classes:
            raise UserError(f"{self.metric.name} needs the names of the classes, and these data have none")
        with running(self.file):
            values = np.asarray(self.metric.compute(y, scores.argmax(axis=1), tuple(classes)), dtype=np.float64)
        if values.shape != y.shape or np.isinf(values).any():
            raise UserError(f"{self.file.path}: {self.metric.name} must give one finite number, or NaN, per image")
        return values

    def value(self, y: NDArray[np.int64], scores: NDArray[Any]) -> float:
        """The metric of a classifier; a result that is not a finite number within its bounds is a user error.

        Args:
            y: (n,) class indices.
            scores: (n, c) scores of the classes; the largest is the prediction.
        """
        metric = self.metric
        with running(self.file):
            computed = metric.compute(y, scores if metric.takes == "scores" else scores.argmax(axis=1))
        try:
            value = float(computed)
        except (TypeError, ValueError):
            raise UserError(f"{self.file.path}: {metric.name} gave {type(computed).__name__}, not a number") from None
        if not isfinite(value):
            raise UserError(f"{self.file.path}: {metric.name} gave {value:g}, which is not a finite number")
        if not metric.allows(value):
            raise UserError(f"{self.file.path}: {metric.name} gave {value:g}, outside of its range, {metric.range}")
        return value


def own_metric(name: str) -> OwnMetricFile:
    """The metric of a name (`unseen.metrics.by_name`), or in `path/to/file.py`, which is executed.

    A file may have several, under other names than `METRIC`: `path/to/file.py:NAME`.
    """
    if not is_own_file(name):
        from unseen.metrics.by_name import metric_file, score_metrics

        look_up(score_metrics(), name, "metric", " of class scores; your own is a Python file, path/to/metric.py")
        name = str(metric_file(name))
    place, attribute = own_place(name)
    file, attribute = own_file(Path(place)), attribute or ATTRIBUTE
    metric = attribute_of(file, [attribute], "metric")
    if not isinstance(metric, OwnMetric):
        raise UserError(
            f"{file.path}: {attribute} must be an unseen.metrics.own.OwnMetric, not {type(metric).__name__}"
        )
    check_facts(metric, str(file.path))
    if not callable(metric.compute) or not metric.title:
        raise UserError(f"{file.path}: {metric.name} needs a function to compute it, and a title that says what it is")
    if metric.takes not in get_args(Takes):
        kinds = "'predictions', 'scores' or 'classes'"
        raise UserError(f"{file.path}: {metric.name} takes {kinds}, not {metric.takes!r}")
    return OwnMetricFile(metric, file, attribute)


def check_facts(metric: Metric, where: str) -> None:
    """Refuse a user's metric if its metadata cannot be right, or if its name is one of ours."""
    if not isinstance(metric.name, str) or not NAME.fullmatch(metric.name):
        raise UserError(
            f"{where}: the name of a metric consists of lower-case letters, digits, - and ., not {metric.name!r}"
        )
    if metric.name in METRICS:
        raise UserError(f"{where}: {metric.name} is a metric of this package; give yours another name")
    if not isinstance(metric.higher_is_better, bool):
        raise UserError(f"{where}: {metric.name} must say whether higher is better: True or False")
    bounds = [bound for bound in (metric.lower, metric.upper) if bound is not None]
    if not all(isinstance(bound, int | float) and isfinite(bound) for bound in bounds) or bounds != sorted({*bounds}):
        raise UserError(
            f"{where}: the range of {metric.name} is invalid: {metric.lower!r} to {metric.upper!r}; each bound "
            "is a finite number, or None if there is none"
        )
    if metric.unit not in UNITS:
        raise UserError(f"{where}: the unit of {metric.name} is one of {', '.join(UNITS)}, not {metric.unit!r}")
