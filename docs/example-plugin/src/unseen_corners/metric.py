"""A metric of labels and predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.own import OwnMetric


def error_rate(y: NDArray[np.int64], predictions: NDArray[Any]) -> float:
    """The share of samples whose prediction is wrong."""
    return float(np.mean(y != predictions))


ERROR_RATE = OwnMetric(
    "error-rate", higher_is_better=False, lower=0, upper=1, unit="share", compute=error_rate, title="wrong predictions"
)
