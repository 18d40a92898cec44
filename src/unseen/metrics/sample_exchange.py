"""How many training samples compensate for a level: inverting the curve of accuracy against samples per concept."""

from collections.abc import Mapping
from math import inf

import numpy as np


def samples_for(curve: Mapping[int, float], accuracy: float) -> float:
    """Samples per concept at which a few-shot curve reaches an accuracy.

    Between measured numbers, accuracy is interpolated linearly in the logarithm of samples; if the curve decreases by
    chance, its running maximum is used. Infinite if the curve ends below the accuracy; the smallest measured number if
    it starts above.

    Args:
        curve: samples per concept → accuracy, with at least one entry.
    """
    shots = np.array(sorted(curve), dtype=np.float64)
    reached = np.maximum.accumulate([curve[int(number)] for number in shots])
    if accuracy > reached[-1]:
        return inf
    if accuracy <= reached[0]:
        return float(shots[0])
    place = int(np.searchsorted(reached, accuracy))
    share = (accuracy - reached[place - 1]) / (reached[place] - reached[place - 1])
    logarithms = np.log2(shots[place - 1 : place + 1])
    return float(2 ** (logarithms[0] + share * (logarithms[1] - logarithms[0])))
