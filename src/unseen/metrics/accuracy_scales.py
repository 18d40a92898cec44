"""Scales on which accuracies of many models lie on a line: logits, and probits as an alternative.

Both are finite only within (0, 1). An accuracy of exactly 0 or 1 on a test set of N images is therefore read as half an
image right, or wrong, of N + 1 (`within_unit`); all other accuracies are unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UserError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A map from (0, 1) to all real numbers, `forward`, and its inverse, `back`; both elementwise."""

    name: str
    forward: Callable[[ArrayLike], Array]
    back: Callable[[ArrayLike], Array]


def logit(p: ArrayLike) -> Array:
    """log(p / (1 − p)) of fractions within (0, 1)."""
    from scipy import special

    values: Array = special.logit(_inside(p))
    return values


def expit(z: ArrayLike) -> Array:
    """1 / (1 + exp(−z)), the inverse of `logit`, for z of any size."""
    from scipy import special

    values: Array = special.expit(np.asarray(z, dtype=np.float64))
    return values


def probit(p: ArrayLike) -> Array:
    """The standard normal quantile of fractions within (0, 1)."""
    from scipy import special

    values: Array = special.ndtri(_inside(p))
    return values


def normal_cdf(z: ArrayLike) -> Array:
    """The standard normal cumulative distribution function, the inverse of `probit`."""
    from scipy import special

    values: Array = special.ndtr(np.asarray(z, dtype=np.float64))
    return values


LOGIT = Scale("logit", logit, expit)
PROBIT = Scale("probit", probit, normal_cdf)


def within_unit(accuracy: ArrayLike, size: int) -> Array:
    """Accuracies with 0 read as ½ of N + 1 images and 1 as N + ½ of them; the others unchanged.

    This is (right + ½) / (N + 1), the usual correction that keeps the logit of a count finite, applied at the two ends
    only: the other accuracies of a table are used as printed. Missing values (NaN) stay missing.

    Args:
        size: N, the number of images in the test set.
    """
    if size < 1:
        raise UserError(f"a test set has at least one image, not {size}")
    values = np.array(accuracy, dtype=np.float64)
    values[values == 0] = 0.5 / (size + 1)
    values[values == 1] = (size + 0.5) / (size + 1)
    return values


def redraw(accuracy: ArrayLike, size: int, draws: int, generator: np.random.Generator) -> Array:
    """Accuracies drawn from binomial distributions, as on other test sets of N images: (…) to (draws, …)."""
    values = np.asarray(accuracy, dtype=np.float64)
    return within_unit(generator.binomial(size, values, size=(draws, *values.shape)) / size, size)


def _inside(p: ArrayLike) -> Array:
    values = np.asarray(p, dtype=np.float64)
    if not np.all((values > 0) & (values < 1)):  # also true for NaN
        raise UserError("accuracies of a fit are fractions above 0 and below 1, where logits and probits are finite")
    return values
