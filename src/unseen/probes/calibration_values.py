"""The calibration of a fit: the metrics that it gives, and its details as JSON."""

from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unseen.metrics.calibration import ReliabilityBins
    from unseen.probes.many_shot import Calibration


def calibration_scores(calibration: "Calibration | None") -> tuple[tuple[str, float], ...]:
    """The errors; none if images have several classes, which have no calibration."""
    return () if calibration is None else (("ece", calibration.error), ("scaled-ece", calibration.scaled_error))


def calibration_details(calibration: "Calibration | None") -> dict[str, Any]:
    """Temperatures and bins; empty if images have several classes."""
    if calibration is None:
        return {}
    return {
        "temperatures": list(calibration.temperatures),
        "unbounded_temperature": calibration.unbounded,
        "reliability": {"before": _bins(calibration.before), "after": _bins(calibration.after)},
    }


def _bins(bins: "ReliabilityBins") -> dict[str, list[float | None]]:
    """Bins with null for the means of empty ones."""
    return {name: [None if isnan(number) else number for number in numbers] for name, numbers in asdict(bins).items()}
