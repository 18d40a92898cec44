"""How many samples make up for a level: accuracy read against samples per concept, and back."""

from collections.abc import Mapping
from math import inf

import numpy as np


def samples_for(curve: Mapping[int, float], accuracy: float) -> float:
    """Samples per concept at which a few-shot curve reaches an accuracy.

    Between the numbers that were measured, accuracy is taken as linear in the logarithm of samples; where the curve
    falls from one number to the next, by chance, it is held at its highest so far. Infinite where the curve ends
    below the accuracy; the smallest number measured where it starts above.

    Args:
        curve: samples per concept → accuracy, of at least one number.
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
