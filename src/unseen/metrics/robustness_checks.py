"""Checks of an effective-robustness fit: held-out error, collinear ID sets, other choices of ID sets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UserError
from unseen.metrics.held_out import folds_determined, held_out_targets
from unseen.metrics.planes import DEGENERATE
from unseen.metrics.robustness import (
    PAPER,
    LogitFit,
    Method,
    checked_design,
    fit_accuracies,
    id_columns,
    mean_error,
    ood_column,
)

Array = NDArray[np.float64]

INFLATED = 10.0
"""Variance inflation from which ID sets count as collinear, the usual rule of thumb."""


@dataclass(frozen=True)
class Collinearity:
    """Collinearity of ID test sets, on the scale of the fit.

    Attributes:
        condition: ratio of the largest to the smallest singular value of the columns, centred and normalised; 1 if
            uncorrelated.
        inflation: (k,) for each ID set 1/(1 − R²) of a regression on the others: the factor by which its weight's
            variance is larger than if it were uncorrelated with them.
    """

    condition: float
    inflation: Array

    @property
    def warning(self) -> bool:
        """Whether weights cannot be distinguished; predictions for models like those of the fit can still be good."""
        return bool(self.inflation.max() > INFLATED)


@dataclass(frozen=True)
class Comparison:
    """A fit on some of the ID sets with its held-out error and the standard error of that, in percentage points."""

    fit: LogitFit
    held_out: float
    standard_error: float


def held_out_predictions(
    id_accuracy: ArrayLike,
    ood_accuracy: ArrayLike,
    folds: ArrayLike | None = None,
    *,
    method: Method = PAPER,
) -> Array:
    """(n,) predicted OOD accuracies, each from the fit without the models of its fold.

    Neither least squares nor Huber's loss is refitted: see `metrics.held_out`.

    Args:
        id_accuracy, ood_accuracy: as in `fit_accuracies`.
        folds: (n,) any labels; by default each model is its own fold (leave-one-out).
    """
    columns, target = checked_design(id_columns(id_accuracy), ood_column(ood_accuracy), method)
    labels = np.arange(len(target)) if folds is None else np.unique(np.asarray(folds), return_inverse=True)[1]
    if labels.max() < 1 or not folds_determined(columns, labels):
        raise UserError("without one of its folds the fit has too few different models to hold that fold out")
    return method.scale.back(held_out_targets(columns, target, labels, robust=method.robust))


def collinearity(id_accuracy: ArrayLike, *, method: Method = PAPER) -> Collinearity:
    """Condition number and variance inflation of (n, k) ID accuracies; infinite if they are linearly dependent."""
    columns = method.scale.forward(id_columns(id_accuracy))
    centred = columns - columns.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    if len(columns) < 2 or not lengths.all():
        raise UserError("an ID test set on which all models have the same accuracy has no correlation with others")
    _, values, directions = np.linalg.svd(centred / lengths, full_matrices=False)
    if len(values) < columns.shape[1] or values[-1] <= DEGENERATE * values[0]:
        return Collinearity(float("inf"), np.full(columns.shape[1], np.inf))
    # The diagonal of the inverse correlation matrix, which has these directions and squared values.
    inflation = ((directions / values[:, None]) ** 2).sum(axis=0)
    return Collinearity(float(values[0] / values[-1]), inflation)


def compare_id_sets(
    id_accuracy: ArrayLike,
    ood_accuracy: ArrayLike,
    names: Sequence[str],
    subsets: Iterable[Sequence[str]] | None = None,
    folds: ArrayLike | None = None,
    *,
    method: Method = PAPER,
) -> list[Comparison]:
    """Fits on several choices of ID sets, all to the same models, sorted by held-out error, best first.

    More ID sets always lower the error on the models of the fit; they lower the held-out error only if they help.

    Args:
        names: names of the k columns of `id_accuracy`.
        subsets: the choices of names; by default each alone, each pair and all together.
        folds: as in `held_out_predictions`.
    """
    x, y = id_columns(id_accuracy), ood_column(ood_accuracy)
    chosen = [tuple(subset) for subset in subsets] if subsets is not None else usual_subsets(names)
    compared = []
    for subset in chosen:
        part = x[:, [list(names).index(name) for name in subset]]
        fit = fit_accuracies(part, y, subset, method)
        predicted = held_out_predictions(part, y, folds, method=method)
        errors = 100 * np.abs(y - predicted)
        standard_error = float(errors.std(ddof=1) / np.sqrt(len(errors)))
        compared.append(Comparison(fit, mean_error(predicted, y), standard_error))
    return sorted(compared, key=lambda comparison: comparison.held_out)


def usual_subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Each name alone, each pair, and all together."""
    sizes = dict.fromkeys(size for size in (1, 2, len(names)) if size <= len(names))
    return [subset for size in sizes for subset in combinations(names, size)]


def best_pairs(
    id_accuracy: ArrayLike, ood_accuracy: ArrayLike, names: Sequence[str], *, method: Method = PAPER
) -> tuple[list[Comparison], dict[tuple[str, str], str]]:
    """Every pair of ID sets, sorted by how well its fit predicts held-out models, best first.

    Returns:
        The pairs, and those that do not determine a plane, with the reason.
    """
    ranked, passed_over = list[Comparison](), dict[tuple[str, str], str]()
    for pair in combinations(names, 2):
        try:
            ranked += compare_id_sets(id_accuracy, ood_accuracy, names, [pair], method=method)
        except UserError as error:
            passed_over[pair] = str(error)
    return sorted(ranked, key=lambda comparison: comparison.held_out), passed_over
