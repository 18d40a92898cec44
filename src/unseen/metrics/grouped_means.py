"""Means over models and their errors over groups of models, for many candidates and test sets at once.

A mean over models is a ratio of sums over groups: Σs_g / Σn_g. To first order its error is that of Σ(s_g − θ·n_g)/N
(Cochran 1977, §6), with the factor G/(G − 1). Degrees of freedom are the effective number of groups, N²/Σn_g², minus 1,
and at least 1: few groups, or one that has most of the models, say little.
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from unseen.metrics.paired.estimate import Estimate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Means:
    """(C, T) means over models with their errors and degrees of freedom."""

    value: Array
    error: Array
    df: Array

    def estimate(self, candidate: int, test_set: int, least: float = -inf) -> Estimate:
        """One of them; `least` is the smallest possible value."""
        value, error, df = (float(array[candidate, test_set]) for array in (self.value, self.error, self.df))
        return Estimate(value, value, error, df, (least, inf))


@dataclass(frozen=True, eq=False)
class Parts:
    """Groups of models: which one each model is in (n, F), and the (T, F) models of each that are used."""

    members: Array
    counts: Array

    @staticmethod
    def of(used: NDArray[np.bool_], folds: NDArray[np.intp]) -> "Parts":
        """Groups from (T, n) which models are used, and (n,) numbers of groups from 0 without gaps."""
        members = np.eye(int(folds.max()) + 1)[folds]
        return Parts(members, used.astype(np.float64) @ members)

    @property
    def together(self) -> "Parts":
        """All OOD test sets as one: each part has as many models as it has on average."""
        return replace(self, counts=self.counts.mean(axis=0, keepdims=True))

    def means(self, values: Array) -> Means:
        """Means over models of (C, T, n) values, and their errors over parts."""
        value, influence = self._influence(values)
        return Means(value, *self._error(influence, self.counts, value.shape))

    def averages(self, values: Array) -> Means:
        """The same for means over OOD test sets, which have parts in common: (C, 1)."""
        value, influence = self._influence(values)
        counts = self.together.counts
        mean = value.mean(axis=1, keepdims=True)
        return Means(mean, *self._error(influence.mean(axis=1, keepdims=True), counts, mean.shape))

    def _influence(self, values: Array) -> tuple[Array, Array]:
        """(C, T) means, and (C, T, F) what each part adds to the difference from the mean."""
        sums, total = np.nan_to_num(values) @ self.members, self.counts.sum(axis=1)
        value = sums.sum(axis=2) / total
        return value, (sums - value[:, :, None] * self.counts) / total[:, None]

    @staticmethod
    def _error(influence: Array, counts: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
        parts = (counts > 0).sum(axis=1)
        error = np.sqrt((influence**2).sum(axis=2) * parts / (parts - 1))
        effective = counts.sum(axis=1) ** 2 / (counts**2).sum(axis=1)
        return error, np.broadcast_to(np.maximum(effective - 1, 1.0), shape)
