"""Effective robustness over one or several in-distribution (ID) test sets: the fit, the score, their uncertainty.

Shi et al. 2023, "Effective robustness against natural distribution shifts for models with different training data".
Accuracies are fractions, models × test sets. A baseline predicts the accuracy on a shifted (OOD) test set,

    β(x₁ … x_k) = expit(Σ wᵢ·logit(xᵢ) + b),

with w and b by ordinary least squares on logits over the models of the fit, and a model's effective robustness is what
it has beyond that, ρ = OOD accuracy − β. The single-ID form (Taori et al. 2020) is k = 1; the paper goes to k = 2, and
nothing here stops there. Other methods take probits for logits, or Huber's loss for squares.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UserError
from unseen.metrics.accuracy_scales import LOGIT, PROBIT, Scale, redraw
from unseen.metrics.model_draws import draws, first_draws
from unseen.metrics.planes import DEGENERATE, Resampled, huber, least_squares, with_ones
from unseen.metrics.rho_intervals import rho_intervals

Array = NDArray[np.float64]

MOST_RESAMPLES = 1_000_000
DRAWS_OF_A_RESAMPLE = 100
ENTRIES = 2**23
"""Number of resamples × models processed at once where test sets are drawn anew: 64 MB."""
MODELS_OF_AN_ID_SET = 10
"""The usual rule of thumb for regressions; with fewer models, R² by chance alone exceeds about 0.1."""


@dataclass(frozen=True)
class Method:
    """How a plane is fitted: on which scale, and by least squares or by Huber's loss (`robust`)."""

    scale: Scale = LOGIT
    robust: bool = False

    @property
    def name(self) -> str:
        return f"{self.scale.name}, {'Huber' if self.robust else 'least squares'}"


PAPER = Method()
METHODS = (PAPER, Method(robust=True), Method(PROBIT), Method(PROBIT, robust=True))


@dataclass(frozen=True)
class LogitFit:
    """A baseline: the plane of OOD logits over ID logits (or probits, depending on the method).

    Attributes:
        names: names of the k ID test sets.
        weights: (k,) one for each ID test set.
        n: number of models in the fit.
        r2: share of the variance of OOD logits that the plane explains.
        mae: mean absolute error of the predicted OOD accuracies of these models, in percentage points.
    """

    names: tuple[str, ...]
    weights: Array
    intercept: float
    n: int
    r2: float
    mae: float
    method: Method = PAPER

    @property
    def coefficients(self) -> Array:
        """(k + 1,) weights, then the intercept."""
        return np.append(self.weights, self.intercept)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of models beyond those that the coefficients alone could fit exactly."""
        return self.n - len(self.weights) - 1

    @property
    def adjusted_r2(self) -> float | None:
        """R² with variances instead of sums of squares, 0 on average for random ID accuracies; None without degrees of
        freedom.
        """
        free = self.degrees_of_freedom
        return 1 - (1 - self.r2) * (self.n - 1) / free if free > 0 else None

    @property
    def chance_r2(self) -> float:
        """Mean R² of least squares on random ID accuracies: k / (n − 1)."""
        return len(self.weights) / (self.n - 1)

    @property
    def few_models(self) -> bool:
        """Whether there are fewer than `MODELS_OF_AN_ID_SET` models for each ID test set."""
        return self.n < MODELS_OF_AN_ID_SET * len(self.weights)

    def predict(self, id_accuracy: ArrayLike) -> Array:
        """β: (m, k) ID accuracies to (m,) predicted OOD accuracies, all fractions."""
        scale = self.method.scale
        columns = scale.forward(id_columns(id_accuracy, len(self.weights)))
        return scale.back(columns @ self.weights + self.intercept)

    def rho(self, id_accuracy: ArrayLike, ood_accuracy: ArrayLike) -> Array:
        """ρ of m models, in the fit or not, as (m,) fractions: positive if a model exceeds the accuracy predicted from
        ID.

        Args:
            id_accuracy: (m, k) fractions within (0, 1), with the ID test sets in the order of the fit.
            ood_accuracy: (m,) fractions.
        """
        return ood_column(ood_accuracy) - self.predict(id_accuracy)


def fit_logits(id_accuracy: ArrayLike, ood_accuracy: ArrayLike, names: Sequence[str] = ()) -> LogitFit:
    """The paper's baseline of n models: ordinary least squares on logits.

    Args:
        id_accuracy: (n, k) fractions within (0, 1), n > k; (n,) for a single ID test set.
        ood_accuracy: (n,) fractions within (0, 1).
        names: names of the k ID test sets; by default id1, id2 ….
    """
    return fit_accuracies(id_accuracy, ood_accuracy, names)


def fit_accuracies(
    id_accuracy: ArrayLike,
    ood_accuracy: ArrayLike,
    names: Sequence[str] = (),
    method: Method = PAPER,
) -> LogitFit:
    """The baseline by any method; arguments as in `fit_logits`."""
    x, y = id_columns(id_accuracy), ood_column(ood_accuracy)
    names = tuple(names) or tuple(f"id{number}" for number in range(1, x.shape[1] + 1))
    columns, target = checked_design(x, y, method, names)
    coefficients = huber(columns, target) if method.robust else least_squares(columns, target)
    predicted = with_ones(columns) @ coefficients
    r2 = 1 - float(((target - predicted) ** 2).sum() / ((target - target.mean()) ** 2).sum())
    mae = mean_error(method.scale.back(predicted), y)
    return LogitFit(names, coefficients[:-1], float(coefficients[-1]), len(y), r2, mae, method)


def mean_error(predicted: Array, accuracy: Array) -> float:
    """Mean absolute error of fractions, in percentage points."""
    return 100 * float(np.abs(accuracy - predicted).mean())


def bootstrap_fits(
    id_accuracy: ArrayLike,
    ood_accuracy: ArrayLike,
    *,
    resamples: int = 2000,
    seed: int = 0,
    method: Method = PAPER,
) -> Array:
    """Coefficients of fits to models resampled with replacement: (resamples, k + 1), weights then intercept.

    A draw with too few distinct models for a fit is repeated. Arguments as in `fit_accuracies`.
    """
    columns, target = checked_design(id_columns(id_accuracy), ood_column(ood_accuracy), method)
    if not 1 <= resamples <= MOST_RESAMPLES:
        raise UserError(f"a bootstrap has from one to {MOST_RESAMPLES:,} resamples, not {resamples:,}")
    n = len(target)
    resampled = Resampled(columns, target, robust=method.robust)
    batches_of_counts, generator = first_draws(n, resamples, seed)
    fits: list[Array] = []
    missing = resamples
    for _ in range(DRAWS_OF_A_RESAMPLE):
        for counts in batches_of_counts:
            fits.append(resampled.planes(counts))
            missing -= len(fits[-1])
        if missing == 0:
            return np.concatenate(fits)
        batches_of_counts = draws(n, missing, generator)
    raise UserError(f"{n} models are too few to resample a fit of {columns.shape[1] + 1} coefficients")


def batches(many: int, size: int) -> Iterator[slice]:
    """The indices 0 to `many` in batches, such that `size` numbers for each are at most `ENTRIES`."""
    step = max(1, ENTRIES // size)
    return (slice(start, min(start + step, many)) for start in range(0, many, step))


def bootstrap_robustness(
    fits: Array,
    id_accuracy: ArrayLike,
    ood_accuracy: ArrayLike,
    *,
    method: Method = PAPER,
    sizes: Mapping[int, int] | None = None,
    seed: int | np.random.Generator = 0,
) -> Array:
    """ρ of m models under each of B resampled fits, (B, m).

    If the size of a test set is known, the models' accuracies on it are also resampled, each from a binomial of that
    size, so that the spread of ρ includes the noise of the test sets. The fits are not changed, since resampled models
    already carry their noise.

    Args:
        fits: (B, k + 1) from `bootstrap_fits`.
        sizes: number of images of a test set, by index: 0 to k − 1 for ID sets, k for the OOD set.
    """
    k = fits.shape[1] - 1
    x, y = id_columns(id_accuracy, k), ood_column(ood_accuracy)
    generator = np.random.default_rng(seed)
    drawn = {place: redraw([*x.T, y][place], size, len(fits), generator) for place, size in (sizes or {}).items()}
    expected = fits[:, -1:]
    for place in range(k):
        expected = expected + fits[:, [place]] * method.scale.forward(drawn.get(place, x[:, place]))
    rho: Array = drawn.get(k, y) - method.scale.back(expected)
    return rho


def robustness_intervals(
    fits: Array,
    id_accuracy: ArrayLike,
    ood_accuracy: ArrayLike,
    *,
    method: Method = PAPER,
    sizes: Mapping[int, int] | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> Array:
    """Ends of the intervals of ρ of m models, (2, m), in batches of models; arguments as in `bootstrap_robustness`."""
    x, y = id_columns(id_accuracy), ood_column(ood_accuracy)
    if not sizes:
        columns = method.scale.forward(id_columns(x, fits.shape[1] - 1))
        return rho_intervals(fits, columns, y, method.scale.back, level)
    ends = np.empty((2, len(y)))
    generator = np.random.default_rng(seed)
    for some in batches(len(y), len(fits)):
        draws = bootstrap_robustness(fits, x[some], y[some], method=method, sizes=sizes, seed=generator)
        ends[:, some] = interval(draws, level)
    return ends


def interval(draws: Array, level: float = 0.95) -> Array:
    """The central interval of draws along the first axis: (B, …) to (2, …), low then high."""
    tail = (1 - level) / 2
    ends: Array = np.quantile(draws, [tail, 1 - tail], axis=0)
    return ends


def checked_design(
    id_accuracy: Array, ood_accuracy: Array, method: Method, names: Sequence[str] = ()
) -> tuple[Array, Array]:
    """ID columns and OOD target on the scale of the fit, if they determine a plane.

    They do not if there are fewer models than coefficients, a constant column, or collinear ID sets.
    """
    n, k = id_accuracy.shape
    names = tuple(names) or tuple(f"id{number}" for number in range(1, k + 1))
    if len(names) != k:
        raise UserError(f"{k} ID test sets do not match {len(names)} names")
    if len(ood_accuracy) != n:
        raise UserError(f"{n} models have ID accuracies but {len(ood_accuracy)} have an OOD accuracy")
    if n <= k:
        raise UserError(f"a fit of {k + 1} coefficients needs at least {k + 1} models, and there are {n}")
    columns, target = method.scale.forward(id_accuracy), method.scale.forward(ood_accuracy)
    for name, column in zip((*names, "the OOD test set"), (*columns.T, target), strict=True):
        if np.ptp(column) <= DEGENERATE:
            raise UserError(f"all {n} models have the same accuracy on {name}, so it carries no information")
    centred = columns - columns.mean(axis=0)
    values = np.linalg.svd(centred / np.linalg.norm(centred, axis=0), compute_uv=False)
    if values[-1] <= DEGENERATE * values[0]:
        raise UserError(f"the accuracies on {', '.join(names)} determine each other; leave one of them out of the fit")
    return columns, target


def id_columns(accuracies: ArrayLike, expected: int | None = None) -> Array:
    """ID accuracies as (n, k); (n,) is a single test set."""
    values = np.asarray(accuracies, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] == 0 or (expected is not None and values.shape[1] != expected):
        wanted = f"{expected} " if expected is not None else ""
        raise UserError(f"ID accuracies must be models × {wanted}test sets, not of shape {values.shape}")
    return values


def ood_column(accuracies: ArrayLike) -> Array:
    """OOD accuracies, one per model."""
    values = np.asarray(accuracies, dtype=np.float64)
    if values.ndim != 1:
        raise UserError(f"OOD accuracies must be one per model, not of shape {values.shape}")
    return values
