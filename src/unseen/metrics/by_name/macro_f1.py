"""F1 averaged over classes: the harmonic mean of the precision and the recall of each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.own import OwnMetric


def macro_f1(y: NDArray[np.int64], predictions: NDArray[Any]) -> float:
    """2·TP / (2·TP + FP + FN) of each class that occurs in the labels or the predictions, averaged over these."""
    size = int(max(y.max(), predictions.max())) + 1
    actual, predicted = np.bincount(y, minlength=size), np.bincount(predictions, minlength=size)
    hits, occurring = np.bincount(y[y == predictions], minlength=size), actual + predicted > 0
    return float(np.mean(2 * hits[occurring] / (actual + predicted)[occurring]))


METRIC = OwnMetric(
    "macro-f1", higher_is_better=True, lower=0, upper=1, unit="share", compute=macro_f1, title="F1, mean over classes"
)
