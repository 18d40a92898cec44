"""Ranks with their resolution: by hand, against their definition, and in a simulation."""

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.paired.standings import Standings, standings


def ranked(values: Any, p_values: dict[tuple[int, int], float], **options: Any) -> Standings:
    """Standings of a, b, c, … with p-values of 1 where none is given."""
    count = len(values)
    p = np.ones((count, count))
    for (i, j), value in p_values.items():
        p[i, j] = p[j, i] = value
    scores = np.array(values, dtype=float)
    return standings("abcdefgh"[:count], scores, np.subtract.outer(scores, scores), p, **options)


def test_by_hand() -> None:
    result = ranked([0.6, 0.9, 0.5, 0.61], {(0, 1): 0.01, (1, 2): 0.001, (1, 3): 0.02, (0, 2): 0.03, (2, 3): 0.2})
    assert result.names == ("b", "d", "a", "c")
    assert result.rank.tolist() == [1, 2, 3, 4]
    # b: 0.001·3, 0.01·2, 0.02; d: 0.02·3 is not below 5%; a: 0.01·3, then 0.03·2 is not; c: 0.001·3.
    assert list(zip(result.low.tolist(), result.high.tolist(), strict=True)) == [(1, 1), (1, 4), (2, 4), (2, 4)]
    assert result.groups == (("b",), ("d", "a", "c"))
    assert result.winner == "b"


def test_without_resolution_there_is_one_group_and_no_winner() -> None:
    result = ranked([0.3, 0.3, 0.1], {})
    assert result.rank.tolist() == [1, 1, 3]
    assert (result.low.tolist(), result.high.tolist()) == ([1] * 3, [3] * 3)
    assert (result.winner, result.groups) == (None, (("a", "b", "c"),))


def test_lower_can_be_better() -> None:
    result = ranked([3.0, 1.0], {(0, 1): 1e-6}, higher_is_better=False)
    assert (result.names, result.winner) == (("b", "a"), "b")
    assert result.low.tolist() == result.high.tolist() == [1, 2]


def test_a_missing_pair_leaves_the_order_open() -> None:
    result = ranked([0.9, 0.5, 0.1], {(0, 1): np.nan, (0, 2): 1e-4, (1, 2): 1e-4})
    assert list(zip(result.low.tolist(), result.high.tolist(), strict=True)) == [(1, 2), (1, 2), (3, 3)]
    assert (result.winner, result.groups) == (None, (("a", "b"), ("c",)))


def test_one_backbone_has_no_winner() -> None:
    assert ranked([0.5], {}).winner is None


@examples(60)
@given(st.integers(2, 7), st.integers(0, 10_000))
def test_properties_of_any_tests(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.random(count), 1)
    p = rng.choice([1e-6, 0.01, 0.04, 0.5, np.nan], size=(count, count))
    p = np.where(np.tri(count, dtype=bool), p, p.T)
    result = standings([str(i) for i in range(count)], values, np.subtract.outer(values, values), p)
    assert sorted(result.names) == [str(i) for i in range(count)]
    assert ((result.low >= 1) & (result.low <= result.rank) & (result.rank <= result.high)).all()
    assert (result.high <= count).all()
    assert (np.diff(result.value) <= 0).all()
    assert result.group[0] == 1
    assert sorted(set(result.group.tolist())) == list(range(1, int(result.group.max()) + 1))
    flipped = standings(result.names[::-1], -result.value[::-1], *mirrored(result, p), higher_is_better=False)
    assert sorted(flipped.groups[0]) == sorted(result.groups[0]) or len(set(values.tolist())) < count


def mirrored(result: Standings, p: Any) -> tuple[Any, Any]:
    """Differences and p-values of the negative scores in the reverse order."""
    places = np.array([int(name) for name in result.names[::-1]])
    values = -result.value[::-1]
    return np.subtract.outer(values, values), p[np.ix_(places, places)]


def test_true_ranks_are_in_their_intervals_where_a_bootstrap_of_ranks_misses_them() -> None:
    """Near-ties: with independent normal estimates, ranks of the middle of five are outside in over 5% of draws."""
    rng, truth = np.random.default_rng(0), np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    inside, drawn_inside = [], []
    for _ in range(300):
        values = truth + rng.standard_normal(5)
        differences = np.subtract.outer(values, values)
        result = standings("abcde", values, differences, 2 * stats.norm.sf(np.abs(differences) / np.sqrt(2)))
        place = np.array(["abcde".index(name) for name in result.names])
        inside.append(((result.low <= place + 1) & (place + 1 <= result.high))[np.argsort(place)])
        ranks = 1 + (-(values + rng.standard_normal((300, 5)))).argsort(axis=1).argsort(axis=1)
        low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
        drawn_inside.append((low <= np.arange(1, 6)) & (np.arange(1, 6) <= high))
    assert np.mean(inside, axis=0).min() >= 0.95
    assert np.mean(drawn_inside, axis=0).min() < 0.93


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError):
        standings("ab", np.zeros(2), np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(UserError):
        standings("ab", np.array([0, np.nan]), np.zeros((2, 2)), np.zeros((2, 2)))
