"""The detectable effect: its power by the noncentral t, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.paired.estimate import Estimate, detectable


@pytest.mark.parametrize("df", [1.0, 2.5, 5.0, 30.0, 1000.0])
@pytest.mark.parametrize("level", [0.95, 0.998])
def test_its_power_is_exact(df: float, level: float) -> None:
    for power in (0.5, 0.8, 0.9):
        effect = Estimate(0.0, 0.0, 2.0, df).detectable(power, level)
        assert stats.nct(df, effect / 2).sf(stats.t(df).ppf(0.5 + level / 2)) == pytest.approx(power, abs=3e-5)


def test_so_many_simulated_studies_resolve_it() -> None:
    rng = np.random.default_rng(0)
    effect = float(detectable(np.float64(1 / np.sqrt(5)), np.float64(4)))
    found = stats.ttest_1samp(rng.normal(effect, 1, (20_000, 5)), 0, axis=1).pvalue <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.015)


def test_arrays_keep_gaps_and_many_degrees_of_freedom() -> None:
    found = detectable(np.array([1.0, np.nan, 1.0]), np.array([np.inf, 3.0, 1e9]))
    assert found[[0, 2]] == pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.8), abs=1e-3)
    assert np.isnan(found[1])
    with pytest.raises(UserError):
        detectable(np.float64(1), np.float64(3), power=0.3)
