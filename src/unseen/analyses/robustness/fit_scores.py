"""The scores from a fit of effective robustness."""

from collections.abc import Iterable

from unseen.analyses.robustness.fits import AXIS, ShiftStudy
from unseen.probes.by_name.classifier import PROTOCOL, Classifier
from unseen.runs.score import Score

RHO = "effective-robustness"


def fit_scores(studies: Iterable[ShiftStudy]) -> list[Score]:
    """The scores of each model on each OOD test set: accuracy, and effective robustness with its interval."""
    return [
        score
        for study in studies
        for fit in study.fits
        for each in fit.scores
        for score in shift_scores(each.model, fit.ood, each.accuracy, each.rho, each.low, each.high)
    ]


def shift_scores(model: str, ood: str, accuracy: float, rho: float, low: float, high: float) -> tuple[Score, Score]:
    """The scores of a model on an OOD test set: accuracy, and effective robustness with its interval, as fractions."""
    about = AXIS, PROTOCOL, model, ood, Classifier.name, None, 0
    return Score(*about, "top1", accuracy), Score(*about, RHO, rho, low, high)
