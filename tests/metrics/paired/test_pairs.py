"""All pairs at once equal each pair alone, and the bootstrap by matrix products a plain loop."""

from typing import Any

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.metrics.paired import pairs as module
from unseen.metrics.paired.bootstrap import crossed_bootstrap
from unseen.metrics.paired.crossed import PLUS_MINUS, crossed
from unseen.metrics.paired.pairs import all_pairs

RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 40, 150)
CLASSES = np.concatenate([[50, 51, 52], RNG.integers(0, 12, 147)])


def made(seeds: int) -> Any:
    """(6, seeds, 150) hits, of which two backbones agree on all images, and one is always right."""
    hits = np.random.default_rng(seeds).random((6, seeds, 150)) < np.linspace(0.4, 0.8, 6)[:, None, None]
    hits[3], hits[5] = hits[2], True
    return hits


@pytest.mark.parametrize("seeds", [1, 2, 5])
@pytest.mark.parametrize(
    "options",
    [{}, {"pseudo_units": PLUS_MINUS}, {"sizes": SIZES}, {"classes": CLASSES}],
    ids=["plain", "pseudo", "sizes", "classes"],
)
def test_all_pairs_equal_each_pair(seeds: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELLS", 1000)  # several blocks
    hits = made(seeds)
    pairs = all_pairs(hits, **options)
    for i in range(6):
        for j in range(6):
            alone, together = crossed(hits[i].astype(float) - hits[j], **options), pairs.pair(i, j)
            parts = ("of_units", "of_seeds", "of_rest") if seeds > 1 else ("of_units",)
            for name in ("value", "centre", "error", "df", "limits", *parts):
                assert getattr(together, name) == pytest.approx(getattr(alone, name), rel=1e-9, abs=1e-12), name
            assert pairs.p_values[i, j] == pytest.approx(alone.p_value, rel=1e-9)
            assert pairs.differences[i, j] == pytest.approx(alone.value, abs=1e-12)
    assert pairs.pair(2, 3).error == crossed(np.zeros((seeds, 150)), **options).error
    assert pairs.values == pytest.approx([crossed(one.astype(float), **options).value for one in hits])


def test_the_bootstrap_is_that_of_a_plain_loop() -> None:
    hits = made(3)[:3]
    means = crossed_bootstrap(hits, resamples=6000, seed=3)
    rng, plain = np.random.default_rng(4), []
    for _ in range(6000):
        drawn = hits[:, rng.integers(0, 3, 3)][:, :, rng.integers(0, 150, 150)]
        plain.append(drawn.mean(axis=(1, 2)))
    assert means.mean(axis=0) == pytest.approx(hits.mean(axis=(1, 2)), abs=0.002)
    assert np.cov(means.T) == pytest.approx(np.cov(np.transpose(plain)), rel=0.2, abs=1e-4)
    for share in (0.025, 0.5, 0.975):
        assert np.quantile(means, share, axis=0) == pytest.approx(np.quantile(plain, share, axis=0), abs=0.008)


def test_a_draw_of_the_bootstrap_is_a_mean_of_rows_and_columns() -> None:
    """With one seed and backbones that are right on one unit each, the means are the shares of units in a draw."""
    means = crossed_bootstrap(np.eye(5)[:, None, :], resamples=50)
    assert means.sum(axis=1) == pytest.approx(np.ones(50))
    assert means * 5 == pytest.approx(np.rint(means * 5))


def test_bad_input_is_refused() -> None:
    for values in (np.zeros((2, 5)), np.zeros((2, 1, 1)), np.full((2, 2, 3), np.inf)):
        with pytest.raises(UserError):
            all_pairs(values)
    with pytest.raises(UserError):
        crossed_bootstrap(np.zeros((2, 5)))
