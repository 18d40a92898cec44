"""What is kept of a calibration in a result, as JSON, and the metrics it gives."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isnan
from typing import Any

from unseen.metrics.calibration import ReliabilityBins
from unseen.probes.many_shot import Calibration

METRICS = ("ece", "scaled-ece")
"""Calibration error of a classifier as it is, and after temperature scaling."""


def calibration_metrics(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Those that a result has."""
    return METRICS if "ece" in values else ()


def calibration_values(found: Calibration | None) -> dict[str, Any]:
    """Errors, temperatures and bins; nothing where images have several classes, and there is no calibration."""
    if found is None:
        return {}
    return {
        "ece": found.error,
        "scaled_ece": found.scaled_error,
        "temperatures": list(found.temperatures),
        "unbounded_temperature": found.unbounded,
        "reliability": {"before": _bins(found.before), "after": _bins(found.after)},
    }


def _bins(bins: ReliabilityBins) -> dict[str, list[float | None]]:
    """The means of empty bins are null."""
    return {name: [None if isnan(number) else number for number in numbers] for name, numbers in asdict(bins).items()}
