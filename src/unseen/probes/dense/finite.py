"""Predictions that are not finite: maxima, thresholds and suppression would turn them into scores without a word."""

from torch import Tensor


class NotFiniteError(ArithmeticError):
    """A network predicted numbers that are not finite."""


def checked(predictions: Tensor) -> Tensor:
    """The same predictions, if all are finite."""
    if not bool(predictions.isfinite().all()):
        raise NotFiniteError
    return predictions
