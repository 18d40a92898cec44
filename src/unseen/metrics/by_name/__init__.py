"""Metrics of labels and class scores by name, one file each: every module here that defines `METRIC` is one.

They are computed in addition to those of a probe, as `metrics` of a study says, with one more fit of each probe.
"""

import sys
from functools import cache
from pathlib import Path

from unseen.extension.plugins import plugins
from unseen.metrics.own import OwnMetric


@cache
def score_metrics() -> dict[str, OwnMetric]:
    """Every such metric by name, in alphabetical order."""
    found: list[OwnMetric] = plugins(__name__, "METRIC")
    return {metric.name: metric for metric in sorted(found, key=lambda metric: metric.name)}


def metric_file(name: str) -> Path:
    """The file of the metric of that name."""
    return Path(str(sys.modules[score_metrics()[name].compute.__module__].__file__))
