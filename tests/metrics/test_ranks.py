"""Ranks against their definition, and their uncertainty where it can be worked out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from unseen.errors import UserError
from unseen.metrics.ranks import rank, ranks_from_draws


@given(st.lists(st.integers(0, 8), min_size=1, max_size=30))
def test_a_rank_is_one_more_than_how_many_are_greater(values: list[int]) -> None:
    array = np.array(values, dtype=float)
    assert rank(array).tolist() == [1 + sum(other > value for other in values) for value in values]
    assert rank(np.stack([array, -array])).tolist() == [rank(array).tolist(), rank(-array).tolist()]


def test_two_models_exchange_places_as_often_as_their_difference_is_negative() -> None:
    values = np.array([0.60, 0.59, 0.30])
    draws = values + np.random.default_rng(0).normal(0, 0.01, (40_000, 3))
    found = ranks_from_draws(values, draws)
    assert found.rank.tolist() == [1, 2, 3]
    assert found.best == pytest.approx([norm.cdf(1 / np.sqrt(2)), norm.cdf(-1 / np.sqrt(2)), 0], abs=0.01)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_sure_models_keep_their_rank() -> None:
    values = np.array([0.1, 0.5, 0.3])
    found = ranks_from_draws(values, np.tile(values, (10, 1)))
    assert found.rank.tolist() == found.low.tolist() == found.high.tolist() == [3, 1, 2]


def test_draws_of_other_models_are_refused() -> None:
    with pytest.raises(UserError, match="do not match draws"):
        ranks_from_draws(np.zeros(3), np.zeros((10, 4)))
