"""The many-shot linear probe of `ericsson-2021`: a penalty chosen on validation data, a refit, and its calibration.

Ericsson, Gouk & Hospedales 2021, "How well do self-supervised models transfer?", appendix A.2: logistic regression on
unnormalised features, for 45 ℓ2 constants, log-spaced from 1e-6 to 1e5; the best on validation data is fitted again to
training and validation data together and scored on test data by the data set's own metric.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log10
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor

from unseen.errors import UserError, look_up
from unseen.metrics.accuracy import mean_per_class_accuracy, top_k_accuracy
from unseen.metrics.average_precision import average_precision_11_point
from unseen.metrics.calibration import ReliabilityBins, fit_temperature, reliability_bins
from unseen.probes.arrays import checked_features
from unseen.probes.class_gaps import TrainedFirst
from unseen.probes.newton.search import Converge, Stage, choose_penalty
from unseen.probes.newton.walk import Solved
from unseen.probes.units import Units, class_units

Metric = Literal["top1", "mean-per-class", "map-11-point"]
WORST = 0.0
"""The validation score of a fit whose scores are not finite."""


@dataclass(frozen=True)
class ManyShotProtocol:
    """The protocol; every field can change a number.

    Attributes:
        weakest, strongest, steps: the grid of ℓ2 constants λ, on the summed loss: scikit-learn's C is 1/λ.
        tol, max_iterations: of each fit to its optimum, as in `logistic_path`.
        converge: which fits are solved to their optimum: `chosen`, the fit with the chosen constant and the refit; or
            `all` fits of the grid too, see `unseen.probes.newton.search`.
        temperature: data on which the temperature is fitted: `validation` data, by the classifier that was not trained
            on them, or `test-folds`: a fifth of the test data, scored on the other four, five times.
        bins: bins of the expected calibration error.
    """

    name: str = "ericsson-2021"
    weakest: float = 1e-6
    strongest: float = 1e5
    steps: int = 45
    tol: float = 1e-6
    max_iterations: int = 1000
    converge: Converge = "chosen"
    temperature: Literal["validation", "test-folds"] = "validation"
    folds: int = 5
    bins: int = 15

    @property
    def penalties(self) -> Tensor:
        """(steps,) from the weakest on, in float64."""
        return torch.logspace(log10(self.weakest), log10(self.strongest), self.steps, dtype=torch.float64)


ERICSSON_2021 = ManyShotProtocol()
ERICSSON_2021_EXACT = ManyShotProtocol(
    name="ericsson-2021-exact", max_iterations=100, converge="all", temperature="test-folds"
)
"""The method of the public code: the temperature comes from the test data, and a fit ends after 100 iterations.

These are 100 iterations of our optimiser, which needs fewer than scikit-learn's; at weak penalties they may not suffice
either, which `converged` reports. The public code's early stopping short of the optimum is not imitated.
"""
PROTOCOLS = {protocol.name: protocol for protocol in (ERICSSON_2021, ERICSSON_2021_EXACT)}


def task_protocol(name: str, converge: str | None = None) -> ManyShotProtocol:
    """A protocol by its name; `converge`, "chosen" or "all", overrides its own."""
    protocol = look_up(PROTOCOLS, name, "protocol", " of the linear probe")
    if converge is None:
        return protocol
    known: dict[str, Converge] = {"chosen": "chosen", "all": "all"}
    fits = look_up(known, converge, "value of converge")
    if name == ERICSSON_2021_EXACT.name and fits != "all":
        raise UserError(f"{name} fits all constants alike; leave out converge, or take {ERICSSON_2021.name}")
    return replace(protocol, converge=fits)


@dataclass(frozen=True)
class Labels:
    """Labels of a part of the data.

    Attributes:
        y: (n,) class indices; or (n, c) true if a sample shows the class, for one binary classifier per class.
        ignored: (n, c) true if a sample counts neither for nor against a class in scoring.
    """

    y: Tensor
    ignored: Tensor | None = None

    @property
    def multi_label(self) -> bool:
        return self.y.ndim == 2

    def to(self, device: torch.device) -> "Labels":
        return Labels(self.y.to(device), None if self.ignored is None else self.ignored.to(device))


@dataclass(frozen=True)
class Calibration:
    """Calibration on test data.

    Attributes:
        error, scaled_error: expected calibration error before and after temperature scaling.
        temperatures: one, or one for each fold.
        before, after: the bins of the reliability diagram; for folds, over all scored samples together.
        unbounded: whether a temperature is an end of the search range: if all samples it is fitted to are predicted
            correctly, the optimum would be 0.
    """

    error: float
    scaled_error: float
    temperatures: tuple[float, ...]
    before: ReliabilityBins
    after: ReliabilityBins
    unbounded: bool


@dataclass(frozen=True)
class ManyShot:
    """A score, and its basis.

    Attributes:
        score: of the refit, on test data.
        penalty: the chosen constant, the weakest among ties; `place` is its index in the grid.
        validation: score of each penalty of the grid, from the weakest on; None for those not tried.
        iterations: of each fit of the grid.
        converged: whether each fit of the grid reached its optimum; None for those not solved to it.
        refit_converged: whether the scored fit reached its optimum.
        calibration: None if samples have several classes.
        units: which test samples are classified correctly, or the average precision of each class.
    """

    score: float
    penalty: float
    place: int
    validation: tuple[float | None, ...]
    iterations: tuple[int, ...]
    converged: tuple[bool | None, ...]
    refit_converged: bool
    calibration: Calibration | None
    units: Units

    @property
    def edge(self) -> Literal["weakest", "strongest"] | None:
        """The end of the grid at which the penalty lies, if any: there may be a better one beyond."""
        if self.place == 0:
            return "weakest"
        return "strongest" if self.place == len(self.validation) - 1 else None


def many_shot(
    parts: Sequence[tuple[Tensor, Labels]],
    metric: Metric,
    protocol: ManyShotProtocol = ERICSSON_2021,
    *,
    solved: Mapping[Stage, Sequence[Solved]] = MappingProxyType({}),
    watch: Callable[[Stage, Solved, int], None] = lambda stage, solved, of: None,
) -> ManyShot:
    """Choose the penalty, refit and score.

    Args:
        parts: (n, d) features and labels of training, validation and test data; labels are moved to the features'
            device.
        metric: larger is better; `map-11-point` for labels of several classes, and only for them.
        solved, watch: as in `choose_penalty`.
    """
    (X, train), (X_val, val), (X_test, test) = ((X, labels.to(X.device)) for X, labels in parts)
    if (metric == "map-11-point") != train.multi_label:
        raise UserError(f"the metric {metric} does not match labels of shape {tuple(train.y.shape)}")
    for name, features in (("training", X), ("validation", X_val), ("test", X_test)):  # before anything is fitted
        checked_features(features, name)
    order = None if train.multi_label else TrainedFirst.of(train.y, val.y, test.y)
    labels, whole = torch.cat([train.y, val.y]), _as_it_is
    if order is not None and not order.whole:
        labels, whole = order.labels(labels), order.scores
    choice = choose_penalty(
        torch.cat([X, X_val]),
        labels,
        len(X),
        protocol.penalties,
        lambda scores: metric_value(whole(scores), val, metric) if bool(scores.isfinite().all()) else WORST,
        converge=protocol.converge,
        tol=protocol.tol,
        max_iterations=protocol.max_iterations,
        solved=solved,
        watch=watch,
    )
    scores = whole(choice.refit.scores(X_test))
    if not bool(scores.isfinite().all()):
        raise UserError(
            "the linear probe's scores of test samples are not finite numbers; the features may be too large: divide "
            "them by their mean length"
        )
    return ManyShot(
        score=metric_value(scores, test, metric),
        penalty=float(protocol.penalties[choice.place]),
        place=choice.place,
        validation=choice.scores,
        iterations=choice.iterations,
        converged=choice.converged,
        refit_converged=choice.refit_converged,
        calibration=None
        if train.multi_label
        else _calibration(_of_trained(whole(choice.chosen.scores(X_val)), val.y, train.y), (scores, test.y), protocol),
        units=class_units(scores, test),
    )


def _as_it_is(scores: Tensor) -> Tensor:
    return scores


def _of_trained(scores: Tensor, y: Tensor, trained: Tensor) -> tuple[Tensor, Tensor]:
    """Scores and labels of the samples whose classes were trained: no temperature makes up for the others."""
    known = torch.isin(y, trained)
    return scores[known], y[known]


def metric_value(scores: Tensor, labels: Labels, metric: Metric) -> float:
    """A data set's own metric of (n, c) scores."""
    if metric == "map-11-point":
        return average_precision_11_point(scores, labels.y.bool(), labels.ignored).mean
    measure = mean_per_class_accuracy if metric == "mean-per-class" else top_k_accuracy
    return float(measure(scores, labels.y))


def _calibration(
    validation: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], protocol: ManyShotProtocol
) -> Calibration:
    scores, y = test
    before = reliability_bins(scores.softmax(dim=1), y, protocol.bins)
    if protocol.temperature == "validation":
        fit = fit_temperature(*validation)
        after = reliability_bins((scores / fit.temperature).softmax(dim=1), y, protocol.bins)
        errors = before.calibration_error, after.calibration_error
        return Calibration(*errors, (fit.temperature,), before, after, fit.limit is not None)
    folds = equal_folds(len(y), protocol.folds)
    fits, fold_errors, scaled, labels = [], [], [], []
    for number, fold in enumerate(folds):
        rest = torch.cat([other for place, other in enumerate(folds) if place != number])
        fits.append(fit_temperature(scores[fold], y[fold]))
        scaled.append((scores[rest] / fits[-1].temperature).softmax(dim=1))
        labels.append(y[rest])
        fold_errors.append(reliability_bins(scaled[-1], labels[-1], protocol.bins).calibration_error)
    after = reliability_bins(torch.cat(scaled), torch.cat(labels), protocol.bins)
    return Calibration(
        error=before.calibration_error,
        scaled_error=sum(fold_errors) / len(folds),
        temperatures=tuple(fit.temperature for fit in fits),
        before=before,
        after=after,
        unbounded=any(fit.limit is not None for fit in fits),
    )


def equal_folds(samples: int, folds: int) -> list[Tensor]:
    """Indices of samples in random folds of equal size; up to folds − 1 samples are in none."""
    size = samples // folds
    if size == 0:
        raise UserError(f"{samples} test samples cannot be divided into {folds} folds; use the protocol ericsson-2021")
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(0))
    return list(torch.split(order[: size * folds], size))
