"""The accuracy on the class that is recognised worst."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.own import OwnMetric


def worst_class(y: NDArray[Any], predictions: NDArray[Any]) -> float:
    """The lowest accuracy of a class."""
    return min(float(np.mean(predictions[y == each] == each)) for each in np.unique(y))


METRIC = OwnMetric(
    "worst-class", higher_is_better=True, lower=0, upper=1, unit="share", compute=worst_class, title="worst class"
)
