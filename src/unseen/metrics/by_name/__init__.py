"""Metrics of labels and class scores by name, one file each: every module here that defines `METRIC` is one.

Other packages add metrics by entry points in the group `unseen.metrics`.

They are computed in addition to those of a probe, as `metrics` of a study says, with one more fit of each probe.
"""

import sys
from functools import cache
from pathlib import Path

from unseen.extension.plugins import plugins
from unseen.extension.registry import Registry
from unseen.metrics.own import OwnMetric, check_added


@cache
def score_metrics() -> Registry[OwnMetric]:
    """Every such metric by name: ours in alphabetical order, then those of other packages."""
    found: list[OwnMetric] = plugins(__name__, "METRIC")
    ours = {metric.name: metric for metric in sorted(found, key=lambda metric: metric.name)}
    return Registry("metrics", "metric", ours, check_added)


def metric_file(name: str) -> Path:
    """The file of the metric of that name, one of ours."""
    return Path(str(sys.modules[score_metrics()[name].compute.__module__].__file__))
