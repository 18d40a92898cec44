"""Near-copies: the excess against regressions in a loop, who is found, and false alarms of the search."""

import numpy as np
import pytest
from made_subsets import made_hits
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.near_copies import agreement_excess, near_copies
from unseen.metrics.subsets import search_subset


def pairs(seed: int, flipped: float, images: int = 300) -> tuple[NDArray[np.bool_], NDArray[np.float64], list[str]]:
    """Three groups of four checkpoints with two near-copies each, whose hits say nothing of ID accuracy."""
    rng = np.random.default_rng(seed)
    ability = np.repeat(rng.normal(size=12), 2) + 0.05 * rng.normal(size=24)
    hits = np.repeat(rng.random((images, 12)) < rng.random(images)[:, None], 2, axis=1)
    return hits ^ (rng.random(hits.shape) < flipped), ability, [f"g{number}" for number in np.arange(24) // 8]


def test_excess_is_that_of_residuals_image_by_image() -> None:
    hits, ability, groups = pairs(0, 0.1, images=60)
    group = np.unique(groups, return_inverse=True)[1]
    design = np.column_stack([np.eye(3)[group], ability])
    centred = hits - hits.mean(axis=0)
    left = np.stack([row - design @ np.linalg.lstsq(design, row, rcond=None)[0] for row in centred])
    hat = np.eye(24) - design @ np.linalg.inv(design.T @ design) @ design.T
    found = agreement_excess(hits, ability, group)
    for a, b in ((0, 1), (3, 6), (16, 23)):
        r = (left[:, a] @ left[:, b]) / np.sqrt((left[:, a] ** 2).sum() * (left[:, b] ** 2).sum())
        expected = hat[a, b] / np.sqrt(hat[a, a] * hat[b, b])
        assert found[a, b] == pytest.approx((r - expected) / (1 - expected), abs=1e-5)
    assert found[0, 0] == found[0, 8] == -1


def test_copies_are_found_and_independent_models_are_not() -> None:
    hits, ability, groups = pairs(0, 0.05)
    group = np.unique(groups, return_inverse=True)[1]
    assert near_copies(hits, ability, group).tolist() == [n - 1 if n % 2 else -1 for n in range(24)]
    for seed in range(5):
        made = made_hits(seed)
        assert (near_copies(made.hits, made.ability, np.unique(made.groups, return_inverse=True)[1]) < 0).all()
    never = np.zeros((50, 6), dtype=np.bool_)
    assert (near_copies(never, np.arange(6.0), np.zeros(6, dtype=np.intp)) < 0).all()


def test_one_of_each_pair_counts() -> None:
    hits, ability, groups = pairs(1, 0.05)
    found = search_subset(hits, ability, size=15, groups=groups, permutations=19)
    assert (found.used.sum(), found.searching.sum(), (found.copy_of >= 0).sum()) == (12, 6, 12)
    assert not (found.used & (found.copy_of >= 0)).any()
    with pytest.raises(UserError, match="near-copies"):
        search_subset(hits[:, :8], ability[:8], size=15, permutations=19)


@pytest.mark.long_suite
def test_false_alarms_are_rare() -> None:
    """Without leaving them out, 97% of such searches find a subset."""
    alarms = 0
    for seed in range(200):
        hits, ability, groups = pairs(1000 + seed, 0.05)
        found = search_subset(hits, ability, size=15, groups=groups, permutations=99, seed=seed)
        alarms += bool(found.p_values[0] <= 0.05)
    assert alarms <= 18  # 5% of 200 is 10; P(X > 18) = 0.6%
