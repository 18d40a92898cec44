"""Few-shot episodes: the draws, and accuracies against a loop over episodes."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.centroids import centroids, draw_episodes


def samples(sizes: list[int], d: int, spread: float = 1.5) -> tuple[Tensor, Tensor]:
    """Overlapping classes of given sizes, in no order."""
    generator = Generator().manual_seed(sum(sizes) + d)
    y = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    y = y[torch.randperm(len(y), generator=generator)]
    centres = torch.randn(len(sizes), d, generator=generator)
    return centres[y] + spread * torch.randn(len(y), d, generator=generator), y


def loop(X: Tensor, drawn: Tensor, shots: int) -> list[float]:
    """One episode after another, in double precision."""
    accuracies = []
    for episode in X.double().numpy()[drawn.numpy()]:
        means, queries = episode[:, :shots].mean(axis=1), episode[:, shots:]
        found = [cdist(of_class, means).argmin(axis=1) for of_class in queries]
        accuracies.append(float(np.mean([nearest == label for label, nearest in enumerate(found)])))
    return accuracies


@pytest.mark.parametrize(
    ("shots", "ways", "queries", "d"), [(1, 5, 15, 32), (5, 5, 15, 32), (20, 3, 4, 8), (2, 2, 1, 1), (5, 5, 15, 6000)]
)
def test_matches_a_loop_over_episodes(shots: int, ways: int, queries: int, d: int) -> None:
    X, y = samples([40, 25, 60, 24, 30, 33], d)
    settings = {"ways": ways, "shots": shots, "queries": queries, "episodes": 30, "seed": 3}
    found = centroids(X, y, **settings)
    expected = loop(X, draw_episodes(y, **settings), shots)
    assert found.accuracies.tolist() == pytest.approx(expected)
    assert found.accuracy == pytest.approx(np.mean(expected))
    assert found.interval == pytest.approx(1.96 * np.std(expected) / np.sqrt(30))


@examples(40)
@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=8),
    st.integers(2, 4),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 5),
)
def test_episodes_are_of_distinct_classes_and_samples(
    sizes: list[int], ways: int, shots: int, queries: int, seed: int
) -> None:
    y = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    y = y[torch.randperm(len(y), generator=Generator().manual_seed(seed))]
    enough = sum(size >= shots + queries for size in sizes)
    options = {"ways": ways, "shots": shots, "queries": queries, "episodes": 20, "seed": seed}
    if enough < ways:
        with pytest.raises(UserError, match=f"{enough} of {sum(size > 0 for size in sizes)} classes have as many"):
            draw_episodes(y, **options)
        return
    drawn = draw_episodes(y, **options)
    assert drawn.shape == (20, ways, shots + queries)
    for episode in drawn:
        assert len(set(episode.flatten().tolist())) == episode.numel()
        assert (y[episode] == y[episode[:, :1]]).all()
        assert len(set(y[episode[:, 0]].tolist())) == ways


def test_every_class_sample_and_place_is_as_likely() -> None:
    """Class 0 is too small to be drawn. Of 4000 episodes a class of the 4 others is in half, a sample of one of 5 in
    2/5 of those, and first in 1/5; deviations are 32, 25 and 19.
    """
    y = torch.tensor([0] + [1, 2, 3, 4] * 5)
    drawn = draw_episodes(y, ways=2, shots=1, queries=1, episodes=4000, seed=0)
    assert torch.bincount(y[drawn[..., 0]].flatten()).tolist() == pytest.approx([0, *[2000] * 4], abs=5 * 32)
    assert torch.bincount(drawn.flatten()).tolist() == pytest.approx([0, *[800] * 20], abs=5 * 25)
    assert torch.bincount(drawn[..., 0].flatten()).tolist() == pytest.approx([0, *[400] * 20], abs=5 * 19)
    assert torch.bincount(y[drawn[:, 0, 0]]).tolist() == pytest.approx([0, *[1000] * 4], abs=5 * 28)


def test_pairs_of_samples_are_as_likely() -> None:
    """The 6 pairs out of 4 samples, 3000 times: 500 each, deviation 20."""
    y = torch.arange(2).repeat(4)
    drawn = draw_episodes(y, ways=2, shots=1, queries=1, episodes=1500, seed=1)
    pairs = (drawn // 2).flatten(0, 1).sort(dim=1).values
    assert torch.unique(pairs, dim=0, return_counts=True)[1].tolist() == pytest.approx([500] * 6, abs=5 * 20)


def test_draws_follow_the_seed() -> None:
    X, y = samples([30] * 6, 16)
    first, same, other = (centroids(X, y, shots=5, episodes=50, seed=seed).accuracies for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_normalised_features_are_compared_by_direction() -> None:
    X, y = samples([30] * 5, 16)
    lengths = torch.rand(len(X), 1, generator=Generator().manual_seed(0)) + 0.5
    options = {"shots": 5, "episodes": 40}
    assert torch.equal(
        centroids(X * lengths, y, normalise=True, **options).accuracies,
        centroids(X, y, normalise=True, **options).accuracies,
    )
    assert not torch.equal(centroids(X * lengths, y, **options).accuracies, centroids(X, y, **options).accuracies)


@pytest.mark.parametrize("change", [lambda X: X * 1e30, lambda X: X * 1e-30, lambda X: X.double() + 1e6])
def test_scale_and_offset_do_not_matter(change) -> None:  # noqa: ANN001
    X, y = samples([30] * 6, 16)
    usual, changed = (centroids(Z, y, shots=5, episodes=100).accuracy for Z in (X, change(X)))
    assert changed == pytest.approx(usual, abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.float64])
def test_other_types_and_views(dtype: torch.dtype) -> None:
    X, y = samples([30] * 5, 16)
    X = (X * 16).to(dtype).T.contiguous().T[:, ::2]
    options = {"ways": 5, "shots": 3, "queries": 5, "episodes": 20, "seed": 0}
    found = centroids(X, y.to(torch.uint8), **options)
    assert found.accuracies.tolist() == pytest.approx(loop(X, draw_episodes(y, **options), 3))


def test_equal_features_are_all_taken_for_the_first_class() -> None:
    _, y = samples([30] * 5, 1)
    for value in (0.0, 0.1, 1e30):
        found = centroids(torch.full((len(y), 3), value), y, shots=5, episodes=10)
        assert (found.accuracy, found.interval) == (0.2, 0)


def test_mistakes_are_told() -> None:
    X, y = samples([30, 30, 10], 4)
    with pytest.raises(UserError, match="5-way 20-shot episodes with 15 queries need 5 classes of 35 samples; 0 of 3"):
        centroids(X, y, shots=20)
    with pytest.raises(UserError, match="need 2 classes of 16 samples; 1 of 1 classes"):
        centroids(X[y == 0], y[y == 0], ways=2, shots=1)
    for wrong in ({"ways": 1}, {"shots": 0}, {"queries": 0}, {"episodes": 0}):
        with pytest.raises(UserError, match="at least 2 classes"):
            centroids(X, y, **{"shots": 1, "ways": 2, **wrong})
    with pytest.raises(UserError, match="not finite"):
        centroids(X / 0, y, shots=1, ways=2)
    with pytest.raises(UserError, match="distances .* are not finite"):
        centroids(X.double() * 1e90, y, shots=1, ways=2)
    with pytest.raises(UserError, match="do not match labels"):
        centroids(X, y[1:], shots=1, ways=2)


def test_rows_of_zeros_stay_zero_when_normalised() -> None:
    X, y = samples([40] * 3, 8)
    X[::7] = 0
    unit = torch.nn.functional.normalize(X)
    found = centroids(X, y, shots=2, ways=3, normalise=True)
    # Centroids of rows of zeros alone are equally near, so that rounding decides between them.
    assert found.accuracy == pytest.approx(centroids(unit, y, shots=2, ways=3).accuracy, abs=0.01)
    assert centroids(0 * X, y, shots=1, ways=2, normalise=True).accuracies.isfinite().all()


@pytest.mark.gpu
def test_a_gpu_gives_the_same() -> None:
    X, y = samples([100] * 20, 64)
    here, there = centroids(X, y, shots=5), centroids(X.cuda(), y.cuda(), shots=5)
    assert torch.equal(there.accuracies, centroids(X.cuda(), y.cuda(), shots=5).accuracies)
    assert there.accuracy == pytest.approx(here.accuracy, abs=1e-4)
