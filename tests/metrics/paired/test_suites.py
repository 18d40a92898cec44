"""Means over data sets, by hand and against SciPy."""

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.paired.crossed import PLUS_MINUS, crossed
from unseen.metrics.paired.estimate import Estimate, PairEstimates
from unseen.metrics.paired.pairs import all_pairs
from unseen.metrics.paired.suites import combined, mean_of_pairs, mean_over_others, suite_means


def test_data_sets_as_fixed_and_as_random() -> None:
    rng = np.random.default_rng(0)
    differences = [crossed(rng.normal(center, 0.3, (3, 40))) for center in (0.0, 0.2, 0.5, 0.3)]
    result = suite_means(differences)
    values, errors = np.array([one.value for one in differences]), np.array([one.error for one in differences])
    assert result.over_these.value == pytest.approx(values.mean())
    assert result.over_these.error == pytest.approx(np.sqrt((errors**2).sum()) / 4)
    assert result.over_others is not None
    reference = stats.ttest_1samp(values, 0)
    assert (result.over_others.p_value, result.over_others.df) == (pytest.approx(reference.pvalue), 3)


def test_a_difference_of_two_estimates_is_welchs_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.5, 1, 9), rng.normal(0.1, 3, 14)
    result = combined([crossed(first[None]), crossed(second[None])], [1, -1])
    reference = stats.ttest_ind(first, second, equal_var=False)
    assert (result.value, result.p_value) == pytest.approx((first.mean() - second.mean(), reference.pvalue))
    assert result.df == pytest.approx(reference.df)


def test_limits_are_combined() -> None:
    hits = [crossed(np.array([[1.0] * 9 + [-1.0]]), pseudo_units=PLUS_MINUS)] * 2
    assert combined(hits, [1, -2]).limits == (-3, 3)
    assert suite_means(hits).over_these.limits == (-1, 1)
    assert combined([crossed(np.eye(3))], [-1]).limits == (-np.inf, np.inf)


def test_edges() -> None:
    single = suite_means([Estimate(0.1, 0.1, 0.0, 5.0)])
    assert (single.over_these.error, single.over_these.df, single.over_others) == (0, 5, None)
    equal = suite_means([Estimate(0.1, 0.1, 0.05, 5.0)] * 3).over_others
    assert equal is not None
    assert equal.error == pytest.approx(0)
    with pytest.raises(UserError):
        suite_means([])
    for weights in ([1.0], [1.0, 0.0], [1.0, np.nan]):
        with pytest.raises(UserError):
            combined([Estimate(0.1, 0.1, 0.05, 5.0)] * 2, weights)


def made_pairs() -> tuple[list[PairEstimates], list[np.ndarray]]:
    """Hits of four backbones on three data sets, and the estimates of all pairs."""
    rng = np.random.default_rng(2)
    hits = [rng.random((4, seeds, 90)) < np.linspace(0.5, 0.7, 4)[:, None, None] for seeds in (1, 3, 2)]
    return [all_pairs(each, pseudo_units=PLUS_MINUS).estimates for each in hits], hits


def test_means_of_all_pairs_are_those_of_each_pair() -> None:
    estimates, hits = made_pairs()
    fixed, random = mean_of_pairs(estimates), mean_over_others(estimates)
    assert random is not None
    for one in range(4):
        for other in range(4):
            each = [crossed(of[one].astype(float) - of[other], pseudo_units=PLUS_MINUS) for of in hits]
            means = suite_means(each)
            assert means.over_others is not None
            assert fixed.p_values[one, other] == pytest.approx(means.over_these.p_value)
            assert fixed.df[one, other] == pytest.approx(means.over_these.df)
            assert fixed.value[one, other] == pytest.approx(means.over_these.value)
            if one != other:
                assert random.p_values[one, other] == pytest.approx(means.over_others.p_value)
    assert random.p_values.diagonal().tolist() == [1.0] * 4
    assert mean_over_others(estimates[:1]) is None


def test_errors_of_one_group_are_added() -> None:
    estimates, _ = made_pairs()
    errors = [each.error for each in estimates]
    grouped = mean_of_pairs(estimates, ["a", "a", "b"])
    assert grouped.error == pytest.approx(np.hypot(errors[0] + errors[1], errors[2]) / 3)
    together = mean_of_pairs(estimates, ["a"] * 3)
    assert together.error == pytest.approx(sum(errors) / 3)
    assert together.df == pytest.approx(np.min([each.df for each in estimates], axis=0))
    assert (together.error >= mean_of_pairs(estimates).error).all()


def test_equal_scores_are_equal_on_other_data_sets_despite_rounding() -> None:
    alike = PairEstimates(*(np.full((2, 2), number) for number in (1e-17, 0.0, 0.1, 5.0)))
    random = mean_over_others([alike] * 3)
    assert random is not None
    assert (random.p_values == 1).all()
    known = PairEstimates(*(np.full((2, 2), number) for number in (0.1, 0.1, 0.05, 5.0)))
    assert np.isnan(mean_of_pairs([known, PairEstimates(*np.full((4, 2, 2), np.nan))]).p_values).all()


def test_another_scale_keeps_p_values() -> None:
    estimates, _ = made_pairs()
    scaled = estimates[0].scaled(np.full((4, 4), -3.0))
    assert scaled.p_values == pytest.approx(estimates[0].p_values)
    assert scaled.value == pytest.approx(-3 * estimates[0].value)
    few = estimates[0].among([2, 0])
    assert few.p_values[0, 1] == estimates[0].p_values[2, 0]
