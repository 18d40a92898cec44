"""An estimate with its standard error and degrees of freedom; its interval, p-value and detectable difference.

Every function of many comparisons at once uses the same three array functions, so that numbers agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.resampling import Floats, Interval


@dataclass(frozen=True)
class Estimate:
    """An estimate whose error is approximately t-distributed.

    Attributes:
        value: the estimate.
        centre: the centre of its interval, which differs from the value only if pseudo-units were added.
        error: standard error.
        df: degrees of freedom of the error.
        limits: smallest and largest possible values; intervals end there.
    """

    value: float
    centre: float
    error: float
    df: float
    limits: tuple[float, float] = (-np.inf, np.inf)

    def interval(self, level: float = 0.95) -> Interval:
        """The value with its central confidence interval: centre ± t·error."""
        half = float(quantile(0.5 + level / 2, self.df)) * self.error
        low, high = np.clip([self.centre - half, self.centre + half], *self.limits)
        return Interval(self.value, float(low), float(high))

    @property
    def p_value(self) -> float:
        """Two-sided p-value that the true value is 0; it is below 1 − level exactly if the interval excludes 0."""
        return float(p_values(np.float64(self.centre), np.float64(self.error), np.float64(self.df)))

    def detectable(self, power: float = 0.8, level: float = 0.95) -> float:
        """The smallest true difference that a study of this size resolves with this probability."""
        return float(detectable(np.float64(self.error), np.float64(self.df), power, level))


@dataclass(frozen=True)
class PairEstimates:
    """Every backbone minus every other, as `Estimate`: (B, B) arrays, NaN where a pair cannot be compared."""

    value: Floats
    centre: Floats
    error: Floats
    df: Floats

    @property
    def p_values(self) -> Floats:
        """(B, B) two-sided p-values; 1 on the diagonal."""
        return p_values(self.centre, self.error, self.df)

    def scaled(self, slopes: Floats) -> "PairEstimates":
        """The differences on another scale of scores, with the same p-values.

        Args:
            slopes: (B, B) difference on that scale over difference of scores, or its limit for equal scores.
        """
        return PairEstimates(slopes * self.value, slopes * self.centre, np.abs(slopes) * self.error, self.df)

    def among(self, places: Sequence[int]) -> "PairEstimates":
        """The pairs of some backbones, by their places."""
        chosen = np.ix_(places, places)
        return PairEstimates(self.value[chosen], self.centre[chosen], self.error[chosen], self.df[chosen])


def quantile(share: float, df: float | Floats) -> Floats:
    """Quantiles of the t distribution."""
    from scipy import special

    return np.asarray(special.stdtrit(df, share), dtype=np.float64)


def p_values(centre: Floats | np.float64, error: Floats | np.float64, df: Floats | np.float64) -> Floats:
    """Two-sided p-values of t = centre/error; without error, 1 at 0 and 0 elsewhere."""
    from scipy import special

    size = np.abs(np.asarray(centre, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(size == 0, 0.0, size / error)
    return np.asarray(2 * special.stdtr(df, -t), dtype=np.float64)


def detectable(
    error: Floats | np.float64, df: Floats | np.float64, power: float = 0.8, level: float = 0.95
) -> NDArray[np.float64]:
    """The effect whose test has this power: a noncentral t exceeds the quantile t of (1 + level)/2 with it.

    The noncentrality δ solves P(T′(df, δ) > t) = power, and the effect is δ·error: 2.8 times the error if df are many.
    The sum of the quantiles of level and power, a usual approximation, leaves out that the error is itself estimated:
    its power is 69% at 3 degrees of freedom and a level of 99.8%.
    """
    from scipy import special

    if not 0.5 <= power < 1:
        raise UserError(f"the power is a probability from 0.5 to below 1, not {power}")
    return np.asarray(special.nctdtrinc(df, 1 - power, quantile(0.5 + level / 2, df)) * error, dtype=np.float64)
