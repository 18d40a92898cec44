"""The calibration stored in a result, as JSON, and the metrics it gives."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from unseen.probes.job import Fit, read_flat

if TYPE_CHECKING:
    from unseen.metrics.calibration import ReliabilityBins
    from unseen.probes.many_shot import Calibration


def read_calibrated(variant: str, job: Mapping[str, Any], values: Mapping[str, Any], seed: int | None = None) -> Fit:
    """The fit in a result by the data set's own metric, with calibration errors if available.

    Args:
        seed: as in `read_flat`.
    """
    fit = read_flat(variant, (job["metric"],), job, values, seed)
    errors = [("ece", values["ece"]), ("scaled-ece", values["scaled_ece"])] if "ece" in values else []
    return replace(fit, values=[*fit.values, *errors])


def calibration_values(found: "Calibration | None") -> dict[str, Any]:
    """Errors, temperatures and bins; empty if images have several classes, which have no calibration."""
    if found is None:
        return {}
    return {
        "ece": found.error,
        "scaled_ece": found.scaled_error,
        "temperatures": list(found.temperatures),
        "unbounded_temperature": found.unbounded,
        "reliability": {"before": _bins(found.before), "after": _bins(found.after)},
    }


def _bins(bins: "ReliabilityBins") -> dict[str, list[float | None]]:
    """Bins with null for the means of empty ones."""
    return {name: [None if isnan(number) else number for number in numbers] for name, numbers in asdict(bins).items()}
