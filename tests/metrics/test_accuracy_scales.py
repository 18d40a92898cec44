"""Logits and probits against the standard library, and accuracies of exactly 0 and 1."""

from math import erfc, exp, log, log1p
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.metrics.accuracy_scales import LOGIT, PROBIT, redraw, within_unit

SHARES = np.array([1e-12, 1e-4, 0.02, 0.5, 0.731, 0.999, 1 - 1e-9])


def test_scales_match_references() -> None:
    normal = NormalDist()
    assert np.allclose(LOGIT.forward(SHARES), [log(share) - log1p(-share) for share in SHARES], rtol=1e-12)
    assert np.allclose(PROBIT.forward(SHARES), [normal.inv_cdf(share) for share in SHARES], rtol=1e-9)
    z = np.array([[-800.0, -30, -2.5], [0, 4, 800]])
    assert np.allclose(
        LOGIT.back(z), [[exp(min(value, 0)) / (1 + exp(-abs(value))) for value in row] for row in z], rtol=1e-12
    )
    assert np.allclose(PROBIT.back(z), [[0.5 * erfc(-value / 2**0.5) for value in row] for row in z], rtol=1e-12)


@given(st.floats(1e-9, 1 - 1e-9))
def test_back_undoes_forward(share: float) -> None:
    for scale in (LOGIT, PROBIT):
        assert float(scale.back(scale.forward(share))) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.1, float("nan")])
def test_nothing_outside(share: float) -> None:
    for scale in (LOGIT, PROBIT):
        with pytest.raises(UserError, match="above 0 and below 1"):
            scale.forward([0.5, share])


def test_ends_are_half_an_image_and_the_rest_is_as_printed() -> None:
    """Of 9 images, none right is read as ½ of 10 and all right as 9½ of 10."""
    given_ = np.array([0, 1, 0.25, np.nan])
    assert np.array_equal(within_unit(given_, 9), [0.05, 0.95, 0.25, np.nan], equal_nan=True)
    assert given_[0] == 0
    with pytest.raises(UserError, match="at least one image"):
        within_unit([0.5], 0)


def test_redrawn_accuracies_are_binomial_and_inside() -> None:
    draws = redraw([0.3, 0.99], 50, 20_000, np.random.default_rng(0))
    assert draws.shape == (20_000, 2)
    assert np.allclose(draws.mean(axis=0), [0.3, 0.99], atol=0.01)
    assert draws[:, 0].std() == pytest.approx(np.sqrt(0.3 * 0.7 / 50), rel=0.03)
    assert draws.max() == 50.5 / 51
