"""Classes that a searched subset of a test set has more images of than chance gives it."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

Counts = NDArray[np.integer]


def class_p_values(counts: Counts, base: Counts, null_counts: Counts) -> NDArray[np.float64]:
    """(C,) p-values of the counts of classes in a subset, corrected for the number of classes.

    The images of a class are alike, so any search that follows hits returns images of few classes: draws of single
    images would call that a finding. The smallest binomial tail over classes is therefore compared with that of the
    subsets of permuted searches (the single-step minimum-p procedure of Westfall and Young 1993).

    Args:
        counts: (C,) images of each class in the subset.
        base: (C,) searched images of each class.
        null_counts: (P, C) as `counts`, of the subsets of permuted searches, which may have other sizes.
    """
    share = base / base.sum()
    chance = np.sort(_tails(null_counts, share).min(axis=1))
    lower = np.searchsorted(chance, _tails(counts[None], share)[0], side="right")
    return np.asarray((1 + lower) / (1 + len(chance)))


def _tails(counts: Counts, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """(…, C) the probability of at least so many images of a class among as many draws."""
    size = counts.sum(axis=-1, keepdims=True)
    return np.where(counts > 0, bdtrc(np.maximum(counts - 1, 0), size, share), 1.0)
