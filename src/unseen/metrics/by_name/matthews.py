"""Matthews correlation coefficient for several classes (Gorodkin 2004): 0 for guesses, whatever the class sizes are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.own import OwnMetric


def matthews(y: NDArray[np.int64], predictions: NDArray[Any]) -> float:
    """(h·n − Σₖ aₖpₖ) / √((n² − Σₖ pₖ²)(n² − Σₖ aₖ²)) of h hits, with aₖ labels and pₖ predictions of class k.

    It is 0 if all labels, or all predictions, are of a single class.
    """
    size = int(max(y.max(), predictions.max())) + 1
    actual, predicted = (np.bincount(each, minlength=size).astype(float) for each in (y, predictions))
    count, hits = float(len(y)), float(np.sum(y == predictions))
    spread = (count**2 - predicted @ predicted) * (count**2 - actual @ actual)
    return float((hits * count - actual @ predicted) / np.sqrt(spread)) if spread > 0 else 0.0


METRIC = OwnMetric(
    "matthews", higher_is_better=True, lower=-1, upper=1, unit="score", compute=matthews,
    title="Matthews correlation coefficient",
)  # fmt: skip
