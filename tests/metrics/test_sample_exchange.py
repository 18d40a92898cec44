"""Samples against accuracy."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.metrics.sample_exchange import samples_for


def test_between_two_numbers_it_is_the_geometric_mean() -> None:
    assert samples_for({1: 0.2, 4: 0.4, 16: 0.6}, 0.5) == pytest.approx(8)


def test_beyond_the_ends() -> None:
    assert samples_for({2: 0.3, 8: 0.5}, 0.51) == inf
    assert samples_for({2: 0.3, 8: 0.5}, 0.1) == 2


def test_a_dip_by_chance_does_not_count() -> None:
    assert samples_for({1: 0.2, 2: 0.4, 4: 0.39, 8: 0.6}, 0.4) == pytest.approx(2)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.floats(0, 1))
def test_it_is_the_inverse_of_interpolation(values: list[float], target: float) -> None:
    curve = {2**place: value for place, value in enumerate(sorted(values))}
    found = samples_for(curve, target)
    if found == inf:
        assert target > max(values)
    elif target > min(values):
        back = np.interp(np.log2(found), np.log2(list(curve)), list(curve.values()))
        assert back == pytest.approx(target, abs=1e-6)
