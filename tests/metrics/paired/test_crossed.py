"""The mean over seeds and units against SciPy, plain sums of squares and simulations with known truth."""

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from made_hits import World, draw
from unseen.errors import UserError
from unseen.metrics.comparisons import mcnemar
from unseen.metrics.paired.bootstrap import crossed_bootstrap
from unseen.metrics.paired.crossed import PLUS_MINUS, crossed, squares
from unseen.metrics.paired.estimate import quantile


def by_hand(values: Any) -> tuple[float, float, float]:
    """Mean, error and degrees of freedom from a plain two-way analysis of variance."""
    seeds, units = values.shape
    mean, of_seeds, of_units = values.mean(), values.mean(axis=1), values.mean(axis=0)
    ms_units = seeds * sum((one - mean) ** 2 for one in of_units) / (units - 1)
    ms_seeds = units * sum((one - mean) ** 2 for one in of_seeds) / (seeds - 1)
    rest = sum(
        (values[s, u] - of_seeds[s] - of_units[u] + mean) ** 2 for s in range(seeds) for u in range(units)
    ) / ((units - 1) * (seeds - 1))  # fmt: skip
    total = max(ms_units + ms_seeds - rest, ms_units, ms_seeds)
    share = ms_seeds / total
    df = 1 / (share / (seeds - 1) + (1 - share) / (units - 1))
    return mean, np.sqrt(total / values.size), df


@pytest.mark.parametrize(("seeds", "units", "of_seeds"), [(2, 5, 0.0), (3, 30, 1.0), (6, 4, 0.3)])
def test_the_error_is_that_of_a_plain_analysis_of_variance(seeds: int, units: int, of_seeds: float) -> None:
    rng = np.random.default_rng(seeds)
    values = rng.normal(size=(seeds, units)) + of_seeds * rng.normal(size=(seeds, 1)) + rng.normal(size=units)
    result = crossed(values)
    assert (result.value, result.error, result.df) == pytest.approx(by_hand(values))
    half = stats.t.ppf(0.975, result.df) * result.error
    assert result.interval().low == pytest.approx(result.value - half)
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(result.value) / result.error, result.df))


def test_one_seed_is_the_t_test_of_these_fits() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, (1, 25))
    result, reference = crossed(values), stats.ttest_1samp(values[0], 0)
    assert result.these_fits_only
    assert (result.p_value, result.df) == (pytest.approx(reference.pvalue), 24)
    assert (result.of_seeds, result.of_rest) == (None, None)
    low, high = reference.confidence_interval(0.9)
    assert (result.interval(0.9).low, result.interval(0.9).high) == pytest.approx((low, high))


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("constant", [0.0, 1.0, -0.3])
def test_constants_have_a_defined_result(seeds: int, constant: float) -> None:
    result = crossed(np.full((seeds, 7), constant))
    assert (result.value, result.error) == (pytest.approx(constant), 0)
    assert result.p_value == (0 if constant else 1)
    widened = crossed(np.full((seeds, 7), constant), pseudo_units=PLUS_MINUS)
    assert widened.value == pytest.approx(constant)
    assert 0 < widened.p_value <= 1
    assert -1 <= widened.interval().low < constant + 1e-9
    assert constant - 1e-9 < widened.interval().high <= 1


def test_units_or_seeds_alone_leave_their_degrees_of_freedom() -> None:
    units, seeds = np.random.default_rng(1).normal(size=(1, 12)), np.random.default_rng(2).normal(size=(4, 1))
    assert crossed(np.repeat(units, 4, axis=0)).df == pytest.approx(11)
    assert crossed(np.repeat(units, 4, axis=0)).error == pytest.approx(stats.sem(units[0]))
    assert crossed(np.repeat(seeds, 12, axis=1)).df == pytest.approx(3)
    assert crossed(np.repeat(seeds, 12, axis=1)).error == pytest.approx(stats.sem(seeds[:, 0]))


def test_pseudo_units_are_appended_units() -> None:
    values = np.zeros((3, 20))
    values[:, :2], values[1, 2:4] = 1, -1
    result = crossed(values, pseudo_units=PLUS_MINUS)
    appended = crossed(np.concatenate([values, np.tile(PLUS_MINUS, (3, 1))], axis=1))
    assert result.value == pytest.approx(values.mean())
    assert (result.centre, result.error, result.df) == pytest.approx((appended.value, appended.error, appended.df))
    assert result.p_value == pytest.approx(appended.p_value)


def test_pseudo_units_weigh_less_where_many_images_differ() -> None:
    values = np.repeat([1.0, -1.0, 0.0], [25, 25, 50])[None]
    result = crossed(values, pseudo_units=PLUS_MINUS)
    # 50 images differ: a tenth of a unit on either side.
    assert result.error == pytest.approx(np.sqrt(50.2 / (100.2 - 1) / 100.2))
    assert result.error == pytest.approx(crossed(values).error, rel=0.003)


def test_one_fit_of_each_agrees_with_mcnemar() -> None:
    """The t test over images is McNemar's test but for its approximation, as long as some images differ."""
    rng = np.random.default_rng(4)
    for better in (0.0, 0.03, 0.05):
        first, second = rng.random(1500) < 0.7 + better, rng.random(1500) < 0.7
        result = crossed((first.astype(float) - second)[None], pseudo_units=PLUS_MINUS)
        assert result.p_value == pytest.approx(mcnemar(first, second).p_value, abs=0.03)


def test_unequal_sizes_give_the_exact_accuracy_and_about_the_error_of_a_jackknife() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(5, 60, 80)
    accuracies = rng.binomial(sizes, rng.beta(5, 5, 80), size=(1, 80)) / sizes
    result = crossed(accuracies, sizes=sizes)
    assert result.value == pytest.approx((accuracies * sizes).sum() / sizes.sum())
    without = np.array([np.average(np.delete(accuracies[0], u), weights=np.delete(sizes, u)) for u in range(80)])
    assert result.error == pytest.approx(np.sqrt(79 / 80 * ((without - without.mean()) ** 2).sum()), rel=0.05)
    equal = crossed(accuracies, sizes=np.full(80, 7))
    assert (equal.value, equal.error) == pytest.approx((crossed(accuracies).value, crossed(accuracies).error))


def test_mean_per_class_is_exact_and_its_error_that_of_strata() -> None:
    rng = np.random.default_rng(6)
    classes = np.repeat(np.arange(12), rng.integers(2, 90, 12))
    hits = (rng.random((1, len(classes))) < rng.uniform(0.2, 0.9, 12)[classes]).astype(float)
    result = crossed(hits, classes=classes)
    members = [hits[0, classes == c] for c in range(12)]
    assert result.value == pytest.approx(np.mean([one.mean() for one in members]))
    strata = np.sqrt(sum(one.var(ddof=1) / len(one) for one in members)) / 12
    assert result.error == pytest.approx(strata, rel=0.005)
    # Permuted images and other names of classes change nothing.
    order = rng.permutation(len(classes))
    again = crossed(hits[:, order], classes=100 - 3 * classes[order])
    assert (again.value, again.error) == pytest.approx((result.value, result.error))


def test_the_seed_means_per_class_are_exact() -> None:
    """What seeds change in a mean per class is in its error, also where classes have one image."""
    rng = np.random.default_rng(7)
    classes = np.array([0] * 30 + [1] * 3 + [2] + [3])
    hits = rng.random((4, 35))
    result = crossed(hits, classes=classes)
    by_seed = np.mean([hits[:, classes == c].mean(axis=1) for c in range(4)], axis=0)
    assert result.value == pytest.approx(by_seed.mean())
    shifts = np.array([0.0, 5.0, 9.0, 2.0])
    changed = crossed(hits + shifts[:, None], classes=classes)
    assert changed.error == pytest.approx(stats.sem(by_seed + shifts), rel=0.05)


@examples(60)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 12)), elements=st.sampled_from([-1.0, 0.0, 1.0])),
    st.booleans(),
)
def test_properties_of_any_differences_of_hits(values: Any, widened: bool) -> None:
    pseudo = PLUS_MINUS if widened else ()
    result, mirrored = crossed(values, pseudo_units=pseudo), crossed(-values, pseudo_units=pseudo)
    ends, others = result.interval(), mirrored.interval()
    assert (ends.low, ends.high) == pytest.approx((-others.high, -others.low))
    assert ends.low - 1e-12 <= result.value <= ends.high + 1e-12
    least = min(len(values) - 1 or np.inf, values.shape[1] - 1)
    assert least - 1e-9 <= result.df <= max(len(values), values.shape[1]) + 1
    assert 0 <= result.p_value <= 1
    assert (result.p_value < 0.05) == (not ends.low <= 0 <= ends.high) or result.p_value == pytest.approx(0.05)
    shuffled = crossed(np.random.default_rng(0).permutation(values.T).T, pseudo_units=pseudo)
    assert (shuffled.error, shuffled.df) == pytest.approx((result.error, result.df))
    assert result.detectable(0.9) >= result.detectable(0.8) >= 0


def test_the_detectable_difference_is_2_8_errors_with_many_units() -> None:
    result = crossed(np.random.default_rng(8).normal(size=(1, 100_000)))
    assert result.detectable() == pytest.approx(2.8 * result.error, rel=0.002)


@pytest.mark.parametrize(
    ("world", "seeds"),
    [(World(200, 10), 2), (World(200, 10), 3), (World(10, 200, fixed=True), 3)],
)
def test_intervals_cover_where_those_of_the_bootstrap_do_not(world: World, seeds: int) -> None:
    """Three points of difference, with as much between seeds."""
    drawn = draw(np.random.default_rng(1), world, seeds=seeds, number=400)
    hits = drawn.hits(np.array([0.715, 0.685]), 0.03)
    differences = hits[:, 0].astype(np.float32) - hits[:, 1]
    values = differences.reshape(400, seeds, -1) if world.fixed else differences.mean(axis=-1)
    sums = squares(values)
    error, df = sums.error_and_df()
    covered = np.abs(sums.mean - 0.03) <= quantile(0.975, df) * error
    low, high = np.quantile(crossed_bootstrap(values, resamples=300), [0.025, 0.975], axis=0)
    least = (0.90 if seeds == 2 else 0.93) - 2 * np.sqrt(0.05 * 0.95 / 400)
    assert covered.mean() > least
    assert ((low <= 0.03) & (high >= 0.03)).mean() < least


def test_bad_input_is_refused() -> None:
    for values in (np.zeros(5), np.zeros((2, 1)), np.zeros((0, 5)), np.array([[0.0, np.nan]])):
        with pytest.raises(UserError):
            crossed(values)
    for sizes in (np.ones(4, int), np.array([1, 0, 2])):
        with pytest.raises(UserError):
            crossed(np.zeros((2, 3)), sizes=sizes)
    with pytest.raises(UserError):
        crossed(np.zeros((2, 3)), sizes=np.ones(3, int), classes=np.zeros(3, int))
    with pytest.raises(UserError):
        crossed(np.eye(3)).detectable(1.0)
