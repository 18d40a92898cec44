"""Agreement-on-the-line: shares counted by hand, the algebra of both estimates, a population on the line."""

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.accuracy_scales import PROBIT
from unseen.metrics.agreement import AgreementLine, agreement_line, agreements, expected_accuracy, refined_accuracy
from unseen.metrics.robustness import LogitFit, Method


def population(skill: np.ndarray, shift: float, images: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of models and the labels.

    An image is right where skill − shift beats its difficulty, mostly shared by all models; a wrong answer is another
    class, the same for all, so that models that are wrong agree.
    """
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=images), rng.normal(size=(len(skill), images))
    right = (skill - shift)[:, None] > np.sqrt(0.8) * shared + np.sqrt(0.2) * own
    labels = rng.integers(0, 10, images)
    wrong = (labels + 1 + rng.integers(0, 9, (len(skill), images))) % 10
    return np.where(right, labels, wrong), labels


def test_agreement_by_hand() -> None:
    predictions = np.array([[0, 1, 2, 3], [0, 1, 0, 0], [3, 1, 2, 3]])
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    assert list(agreements(predictions, pairs)) == [0.5, 0.75, 0.25]


def test_the_line_over_pairs_matches_scipy() -> None:
    skill = np.linspace(-0.5, 1.5, 8)
    known, shifted = (population(skill, shift, 400, seed)[0] for shift, seed in ((0.0, 1), (0.6, 2)))
    line = agreement_line(known, shifted)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    assert [tuple(pair) for pair in line.pairs] == pairs
    x, y = ([float((made[i] == made[j]).mean()) for i, j in pairs] for made in (known, shifted))
    reference = stats.linregress(stats.norm.ppf(x), stats.norm.ppf(y))
    assert line.fit.weights[0] == pytest.approx(reference.slope)
    assert line.fit.intercept == pytest.approx(reference.intercept)
    assert line.fit.r2 == pytest.approx(reference.rvalue**2)
    assert line.trusted == (reference.rvalue**2 >= 0.95)


def test_both_estimates_are_their_equations() -> None:
    """ALine-S is the line at an ID accuracy; ALine-D is solved back from agreements made of known accuracies."""
    slope, bias = 0.8, -0.4
    known, shifted = np.array([0.3, 0.0, 1.1, 0.7]), np.array([-0.2, -0.5, 0.9, 0.1])
    pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    on_id = np.linspace(-0.3, 0.8, 6)
    on_ood = shifted[pairs].mean(axis=1) - slope * (known[pairs].mean(axis=1) - on_id)
    fit = LogitFit(("agreement",), np.array([slope]), bias, 6, 1.0, 0.0, Method(PROBIT))
    line = AgreementLine(fit, pairs, stats.norm.cdf(on_id), stats.norm.cdf(on_ood))
    accuracy = stats.norm.cdf(known)
    assert np.allclose(expected_accuracy(line, accuracy), stats.norm.cdf(slope * known + bias))
    assert np.allclose(refined_accuracy(line, accuracy), stats.norm.cdf(shifted))
    with pytest.raises(UserError, match="3 ID accuracies do not match the 4 models"):
        refined_accuracy(line, accuracy[:3])


def test_ood_accuracy_without_its_labels() -> None:
    """Better than to suppose that OOD accuracy is the ID accuracy, by a factor of three."""
    skill = np.linspace(0.2, 1.8, 12)
    (known, labels), (shifted, hidden) = population(skill, 0.0, 4000, 3), population(skill, 0.7, 4000, 4)
    line = agreement_line(known, shifted)
    on_id, on_ood = (known == labels).mean(axis=1), (shifted == hidden).mean(axis=1)
    assert line.trusted
    for guess in (expected_accuracy(line, on_id), refined_accuracy(line, on_id)):
        assert np.abs(guess - on_ood).mean() < np.abs(on_id - on_ood).mean() / 3


def test_models_that_always_agree_do_not_break_the_line() -> None:
    known, shifted = (population(np.linspace(0, 1, 5), shift, 200, 5)[0] for shift in (0.0, 0.5))
    known[1], shifted[1] = known[0], shifted[0]
    assert np.isfinite(agreement_line(known, shifted).fit.coefficients).all()


@pytest.mark.parametrize(
    ("known", "shifted", "message"),
    [
        (np.zeros((2, 5), int), np.zeros((2, 5), int), "at least 3 models, and there are 2"),
        (np.zeros((3, 5), int), np.zeros((4, 5), int), "3 models have ID predictions but 4"),
        (np.zeros((3, 5)), np.zeros((3, 5)), "class indices, not float64"),
        (np.zeros((3, 0), int), np.zeros((3, 5), int), "class indices"),
    ],
)
def test_refuses(known: np.ndarray, shifted: np.ndarray, message: str) -> None:
    with pytest.raises(UserError, match=message):
        agreement_line(known, shifted)


@pytest.mark.parametrize("extreme", [200, 60_000, 2**40, -3])
def test_agreement_counts_classes_of_any_size(extreme: int) -> None:
    predictions = np.random.default_rng(0).integers(0, 3, (4, 50)) * extreme
    pairs = np.column_stack(np.triu_indices(4, 1))
    expected = [float((predictions[i] == predictions[j]).mean()) for i, j in pairs]
    assert agreements(predictions, pairs).tolist() == expected


def test_refined_estimates_are_the_least_squares_of_all_pairs() -> None:
    known, shifted = (population(np.linspace(-0.5, 1.5, 30), shift, 300, seed)[0] for shift, seed in ((0, 1), (0.5, 2)))
    line = agreement_line(known, shifted)
    accuracy = np.linspace(0.2, 0.9, 30)
    halves = np.zeros((len(line.pairs), 30))
    np.put_along_axis(halves, line.pairs, 0.5, axis=1)
    on_id, on_ood = (stats.norm.ppf(each) for each in (line.id_agreement, line.ood_agreement))
    right = on_ood + line.fit.weights[0] * (halves @ stats.norm.ppf(accuracy) - on_id)
    expected = stats.norm.cdf(np.linalg.lstsq(halves, right, rcond=None)[0])
    assert np.abs(refined_accuracy(line, accuracy) - expected).max() < 1e-12
