"""Fits and scores of effective robustness, against NumPy, SciPy, statistics of resamples and published figures."""

from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats
from sklearn.linear_model import LinearRegression

from unseen.errors import UserError
from unseen.metrics import model_draws, planes, rho_intervals, robustness
from unseen.metrics.accuracy_scales import PROBIT
from unseen.metrics.robustness import (
    METHODS,
    Method,
    bootstrap_fits,
    bootstrap_robustness,
    fit_accuracies,
    fit_logits,
    interval,
    robustness_intervals,
)

TESTBED = Path(__file__).parents[3] / "shared/data/imagenet_testbed_top1.csv"


def some_models(n: int, k: int, seed: int = 0, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = special.expit(rng.normal(0.5, 1, (n, 1)) + rng.normal(0, 0.5, (n, k)))
    logits = special.logit(x) @ np.linspace(0.3, 0.9, k) - 0.7 + rng.normal(0, noise, n)
    return x, special.expit(logits)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (40, 2), (200, 3), (30, 6)])
def test_matches_scikit_learn(n: int, k: int) -> None:
    x, y = some_models(n, k)
    reference = LinearRegression().fit(special.logit(x), special.logit(y))
    fit = fit_logits(x, y, [f"set{i}" for i in range(k)])
    assert fit.n == n
    assert np.allclose(fit.weights, reference.coef_, atol=1e-10)
    assert fit.intercept == pytest.approx(reference.intercept_, abs=1e-10)
    assert fit.r2 == pytest.approx(reference.score(special.logit(x), special.logit(y)), abs=1e-12)
    expected = special.expit(reference.predict(special.logit(x)))
    assert np.allclose(fit.predict(x), expected)
    assert fit.mae == pytest.approx(100 * np.abs(y - expected).mean())
    assert np.allclose(fit.rho(x[:3], y[:3]), y[:3] - expected[:3])


def test_a_single_id_set_may_be_one_column() -> None:
    x, y = some_models(20, 1)
    assert fit_logits(x[:, 0], y).weights == pytest.approx(fit_logits(x, y).weights)
    assert fit_logits(x, y).names == ("id1",)


def test_the_public_testbed() -> None:
    """Figures of Taori et al.'s table, in PROTOCOLS.md §3."""
    if not TESTBED.is_file():
        pytest.skip("needs imagenet_testbed_top1.csv in ../shared/data")
    table = np.genfromtxt(
        TESTBED, delimiter=",", names=True, deletechars="", replace_space=" ", encoding="utf-8", dtype=None
    )
    x, y = table["val"] / 100, table["imagenetv2-matched-frequency-format-val"] / 100
    both = ~np.isnan(x) & ~np.isnan(y)
    fit = fit_logits(x[both], y[both], ["val"])
    assert fit.n == 335
    assert (round(float(fit.weights[0]), 4), round(fit.intercept, 4)) == (0.9337, -0.4961)
    assert (round(fit.r2, 4), round(fit.mae, 3)) == (0.9994, 0.459)


def test_exact_data_give_exact_coefficients_and_models_outside_are_scored() -> None:
    x = np.array([[0.2, 0.6], [0.5, 0.5], [0.8, 0.3], [0.6, 0.9]])
    y = special.expit(special.logit(x) @ [0.5, 0.25] - 1)
    fit = fit_logits(x, y)
    assert np.allclose(fit.coefficients, [0.5, 0.25, -1])
    assert (fit.r2, fit.mae) == (pytest.approx(1), pytest.approx(0, abs=1e-10))
    # expit(-1) = 0.2689… is expected of a model at 50% on both.
    assert fit.rho([[0.5, 0.5]], [0.4]) == pytest.approx(0.4 - 1 / (1 + np.e))


@given(st.integers(0, 10**6), st.floats(0.2, 3), st.floats(-2, 2))
@examples(40)
def test_moving_ood_logits_moves_the_plane(seed: int, stretch: float, shift: float) -> None:
    """a·logit(y) + c has a·w and a·b + c: least squares is equivariant; R² stays."""
    x, y = some_models(15, 2, seed)
    moved = special.expit(stretch * special.logit(y) + shift)
    for method in METHODS[:2]:
        before, after = fit_accuracies(x, y, method=method), fit_accuracies(x, moved, method=method)
        assert np.allclose(after.weights, stretch * before.weights, atol=1e-5)
        assert after.intercept == pytest.approx(stretch * before.intercept + shift, abs=1e-5)
        assert after.r2 == pytest.approx(before.r2, abs=1e-5)


def test_probit_matches_scipy() -> None:
    x, y = some_models(50, 2)
    reference = LinearRegression().fit(stats.norm.ppf(x), stats.norm.ppf(y))
    fit = fit_accuracies(x, y, method=Method(PROBIT))
    assert np.allclose(fit.coefficients, [*reference.coef_, reference.intercept_], atol=1e-9)
    assert np.allclose(fit.predict(x), stats.norm.cdf(reference.predict(stats.norm.ppf(x))), atol=1e-9)


def test_huber_minimises_its_loss_and_resists_outliers() -> None:
    x, y = some_models(60, 2, noise=0.05)
    y = y.copy()
    y[:6] = 0.97
    design, target = np.column_stack([special.logit(x), np.ones(60)]), special.logit(y)
    residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    corner = 1.345 * np.median(np.abs(residuals)) / stats.norm.ppf(0.75)
    start = np.zeros(3)
    reference = optimize.minimize(
        lambda c: special.huber(corner, target - design @ c).sum(), start, method="BFGS", options={"gtol": 1e-9}
    )
    robust = fit_accuracies(x, y, method=Method(robust=True))
    assert np.allclose(robust.coefficients, reference.x, atol=1e-5)
    clean = fit_logits(x[6:], y[6:])
    errors = [np.abs(fit.predict(x[6:]) - clean.predict(x[6:])).max() for fit in (robust, fit_logits(x, y))]
    assert errors[0] < errors[1] / 2


def test_huber_on_a_plane_is_that_plane() -> None:
    x, _ = some_models(20, 2)
    y = special.expit(special.logit(x) @ [1.0, -0.5])
    y[0] = 0.9
    assert np.isfinite(fit_accuracies(x, y, method=Method(robust=True)).coefficients).all()


@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: method.name)
def test_bootstrap_is_the_fit_to_drawn_models(method: Method) -> None:
    """Drawn by the same generator, fitted by NumPy one by one; Huber's by repeated weighted least squares."""
    x, y = some_models(30, 2)
    found = bootstrap_fits(x, y, resamples=20, seed=3, method=method)
    counts = np.random.default_rng(3).multinomial(30, np.full(30, 1 / 30), size=20)
    design, target = np.column_stack([special.logit(x), np.ones(30)]), special.logit(y)
    whole = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    corner = 1.345 * np.median(np.abs(whole)) / stats.norm.ppf(0.75)
    for coefficients, drawn in zip(found, counts, strict=True):
        rows = np.repeat(np.arange(30), drawn)
        expected = np.linalg.lstsq(design[rows], target[rows], rcond=None)[0]
        if method.robust:
            # The loss has corners in its second derivative: only a simple loop finds its minimum reliably.
            for _ in range(300):
                sizes = np.abs(target[rows] - design[rows] @ expected)
                root = np.sqrt(np.minimum(1, corner / sizes))
                expected = np.linalg.lstsq(root[:, None] * design[rows], root * target[rows], rcond=None)[0]
        assert np.allclose(coefficients, expected, atol=1e-6)


def test_bootstrap_spread_is_the_standard_error() -> None:
    """With many models and equal noise, the bootstrap's deviation is the textbook's standard error."""
    x, y = some_models(400, 2, noise=0.2)
    design, target = np.column_stack([special.logit(x), np.ones(400)]), special.logit(y)
    residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    errors = np.sqrt(residuals.var() * np.diag(np.linalg.inv(design.T @ design)))
    draws = bootstrap_fits(x, y, resamples=4000)
    assert np.allclose(draws.std(axis=0), errors, rtol=0.1)
    low, high = interval(draws)
    assert np.allclose(high - low, 2 * 1.96 * errors, rtol=0.12)


def test_bootstrap_is_repeatable_and_survives_few_models() -> None:
    x, y = some_models(4, 2)
    draws = bootstrap_fits(x, y, resamples=50, seed=1)
    assert draws.shape == (50, 3)
    assert np.isfinite(draws).all()
    assert (draws == bootstrap_fits(x, y, resamples=50, seed=1)).all()
    assert (draws != bootstrap_fits(x, y, resamples=50, seed=2)).any()


def test_batches_of_resamples_and_models_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = some_models(5, 2)  # so few that some draws are drawn again
    draws = bootstrap_fits(x, y, resamples=40)
    ends = robustness_intervals(draws, x, y)
    assert (ends == interval(bootstrap_robustness(draws, x, y))).all()
    model_draws._kept.cache_clear()
    monkeypatch.setattr(robustness, "ENTRIES", 60)
    monkeypatch.setattr(model_draws, "ENTRIES", 60)
    monkeypatch.setattr(planes, "ROWS_TOGETHER", 10)
    monkeypatch.setattr(rho_intervals, "TOGETHER", 100)
    assert np.allclose(bootstrap_fits(x, y, resamples=40), draws, rtol=1e-10)
    assert np.allclose(robustness_intervals(draws, x, y), ends, rtol=1e-12)


def test_robustness_of_resamples_with_and_without_noise_of_the_test_set() -> None:
    x, y = some_models(50, 2)
    draws = bootstrap_fits(x, y, resamples=3000)
    plain = bootstrap_robustness(draws, x, y)
    first = y - special.expit(special.logit(x) @ draws[0, :2] + draws[0, 2])
    assert np.allclose(plain[0], first)
    noisy = bootstrap_robustness(draws, x, y, sizes={2: 500})
    # A test set of 500 adds the variance of a binomial share to each model's ρ, and nothing else.
    added = noisy.var(axis=0) - plain.var(axis=0)
    assert np.allclose(added, y * (1 - y) / 500, rtol=0.2)
    on_id = bootstrap_robustness(draws, x, y, sizes={0: 500, 1: 500})
    slopes = fit_logits(x, y).weights
    expected = special.expit(special.logit(x) @ slopes + fit_logits(x, y).intercept)
    # To first order d expit = p(1 − p), and d logit = 1/(x(1 − x)).
    variance = (expected * (1 - expected)) ** 2 * (slopes**2 / (x * (1 - x)) / 500).sum(axis=1)
    middle = (x > 0.1).all(axis=1) & (x < 0.9).all(axis=1)
    assert np.allclose((on_id.var(axis=0) - plain.var(axis=0))[middle], variance[middle], rtol=0.25)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.full((5, 1), 0.5), np.linspace(0.1, 0.9, 5), "all 5 models have the same accuracy on val"),
        (np.linspace(0.1, 0.9, 5)[:, None], np.full(5, 0.5), "all 5 models have the same accuracy on the OOD"),
        (np.array([[0.5]]), [0.5], "a fit of 2 coefficients needs at least 2 models, and there are 1"),
        (np.linspace(0.0, 0.9, 5)[:, None], np.linspace(0.1, 0.9, 5), "fractions above 0 and below 1"),
        (np.linspace(0.1, 1.0, 5)[:, None], np.linspace(0.1, 0.9, 5), "fractions above 0 and below 1"),
        (np.array([0.2, np.nan, 0.3])[:, None], [0.1, 0.2, 0.3], "fractions above 0 and below 1"),
        (np.linspace(0.1, 0.9, 5)[:, None], np.linspace(0.1, 0.9, 4), "5 models have ID accuracies but 4"),
        (np.zeros((3, 0)), [0.1, 0.2, 0.3], "ID accuracies must be models × test sets"),
        (np.linspace(0.1, 0.9, 5)[:, None], np.full((5, 1), 0.5), "OOD accuracies must be one per model"),
    ],
)
def test_refuses_what_determines_no_plane(x: np.ndarray, y: np.ndarray, message: str) -> None:
    with pytest.raises(UserError, match=message):
        fit_logits(x, y, ["val"] if np.shape(x)[1] == 1 else [])


def test_refuses_collinear_sets_wrong_names_and_shapes() -> None:
    x, y = some_models(10, 1)
    twin = np.column_stack([x, special.expit(2 * special.logit(x) + 1)])
    with pytest.raises(UserError, match="the accuracies on a, b determine each other"):
        fit_logits(twin, y, ["a", "b"])
    with pytest.raises(UserError, match="1 ID test sets do not match 2 names"):
        fit_logits(x, y, ["a", "b"])
    with pytest.raises(UserError, match="models × 1 test sets"):
        fit_logits(x, y).predict(twin)
    with pytest.raises(UserError, match="from one to 1,000,000 resamples, not 0"):
        bootstrap_fits(x, y, resamples=0)
