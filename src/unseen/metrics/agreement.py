"""Agreement-on-the-line (Baek et al. 2022): OOD accuracy from predictions alone, without OOD labels.

If the OOD accuracy of models is a linear function of their ID accuracy (both as probits), the agreement between pairs
of models was found to lie on the same line; if it is not, agreement is not linear either. Agreement needs no labels, so
its line shows whether the line of accuracies can be trusted, and predicts OOD from ID accuracies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UserError
from unseen.metrics.accuracy_scales import PROBIT, within_unit
from unseen.metrics.robustness import LogitFit, Method, fit_accuracies, ood_column

Array = NDArray[np.float64]

ON_THE_LINE = 0.95
"""R² of the agreement line from which the paper trusts it."""


@dataclass(frozen=True)
class AgreementLine:
    """The line of OOD agreement against ID agreement, as probits.

    Attributes:
        fit: over pairs of models; its `r2` shows whether the line can be trusted.
        pairs: (p, 2) indices of the two models of each pair, every pair once.
        id_agreement, ood_agreement: (p,) shares of a test set's images on which both models predict the same class.
    """

    fit: LogitFit
    pairs: NDArray[np.intp]
    id_agreement: Array
    ood_agreement: Array

    @property
    def trusted(self) -> bool:
        return self.fit.r2 >= ON_THE_LINE


def agreement_line(id_predictions: ArrayLike, ood_predictions: ArrayLike) -> AgreementLine:
    """The line over all pairs of m models.

    Args:
        id_predictions, ood_predictions: (m, n) and (m, n′) predicted classes, as integers, of the same models on the
            images of each test set; labels are not needed.
    """
    known, shifted = (_checked(predictions) for predictions in (id_predictions, ood_predictions))
    if len(known) != len(shifted):
        raise UserError(f"{len(known)} models have ID predictions but {len(shifted)} have OOD predictions")
    if len(known) < 3:
        raise UserError(f"a line of agreements needs at least 3 models, and there are {len(known)}")
    pairs = np.column_stack(np.triu_indices(len(known), 1))
    on_id, on_ood = (within_unit(agreements(values, pairs), values.shape[1]) for values in (known, shifted))
    return AgreementLine(fit_accuracies(on_id, on_ood, ("agreement",), Method(PROBIT)), pairs, on_id, on_ood)


def agreements(predictions: ArrayLike, pairs: NDArray[np.intp]) -> Array:
    """Share of (m, n) predictions that agree, for each pair of models.

    Classes are compared in the fewest bytes that hold them, one or two for up to 65,536 classes: the cost is that of
    reading n such numbers for each pair.
    """
    values = _narrow(_checked(predictions))
    agree = [np.count_nonzero(values[first] == values[second]) for first, second in pairs.tolist()]
    return np.asarray(np.array(agree) / values.shape[1])


def _narrow(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """The same numbers in the smallest type of integers that has all of them."""
    kind = np.result_type(np.min_scalar_type(values.min()), np.min_scalar_type(values.max()))
    return np.ascontiguousarray(values, dtype=kind if np.issubdtype(kind, np.integer) else values.dtype)


def expected_accuracy(line: AgreementLine, id_accuracy: ArrayLike) -> Array:
    """(m,) OOD accuracies predicted by the line from ID accuracies: the paper's ALine-S."""
    return line.fit.predict(ood_column(id_accuracy)[:, None])


def refined_accuracy(line: AgreementLine, id_accuracy: ArrayLike) -> Array:
    """(m,) OOD accuracies that also fit each pair's own agreement: the paper's ALine-D.

    With slope a, in probits, the difference between a pair's mean OOD accuracy and its OOD agreement is a times the
    difference between its mean ID accuracy and its ID agreement: one linear equation per pair, (zᵢ + zⱼ)/2 = rᵢⱼ,
    solved for the accuracies z by least squares. Over all pairs of m models the normal equations are

        ¼ ((m − 2) I + 1 1ᵀ) z = b,  bᵢ = ½ Σⱼ rᵢⱼ,  so that  z = 4/(m − 2) (b − 1 Σb / (2m − 2)),

    without a matrix of pairs × models, of which the solution by any other way would take m⁴ operations.

    Args:
        id_accuracy: (m,) accuracies of the models of the line, within (0, 1).
    """
    known = PROBIT.forward(ood_column(id_accuracy))
    first, second = line.pairs.T
    models = int(line.pairs.max()) + 1
    if len(known) != models:
        raise UserError(f"{len(known)} ID accuracies do not match the {models} models of the line")
    excess = (known[first] + known[second]) / 2 - PROBIT.forward(line.id_agreement)
    right = PROBIT.forward(line.ood_agreement) + line.fit.weights[0] * excess
    sums = (np.bincount(first, right, models) + np.bincount(second, right, models)) / 2
    return PROBIT.back(4 / (models - 2) * (sums - sums.sum() / (2 * models - 2)))


def _checked(predictions: ArrayLike) -> NDArray[np.integer]:
    values = np.asarray(predictions)
    if values.ndim != 2 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
        raise UserError(f"predictions are models × images of class indices, not {values.dtype} of shape {values.shape}")
    return values
