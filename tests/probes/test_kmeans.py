"""k-means against scikit-learn from the same starts, and against plain Lloyd iterations in double precision."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Reference
from sklearn.cluster import kmeans_plusplus
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes.kmeans import assign, kmeans

SHAPES = pytest.mark.parametrize(
    ("n", "d", "k"),
    [(300, 8, 5), (1000, 32, 20), (150, 300, 7), (60, 1, 3), (6000, 8, 800), (40, 5, 1), (30, 4, 30)],
    ids=["few", "more", "wide", "one dimension", "several blocks", "one cluster", "one sample a cluster"],
)


def samples(n: int, d: int, groups: int, seed: int = 0) -> Tensor:
    """Overlapping groups, away from the origin."""
    generator = Generator().manual_seed(seed + n + d)
    centres = torch.randn(groups, d, generator=generator)
    return centres[torch.randint(groups, (n,), generator=generator)] + torch.randn(n, d, generator=generator) + 2


def drawn(X: Tensor, k: int, seed: int = 0) -> Tensor:
    return X[torch.randperm(len(X), generator=Generator().manual_seed(seed))[:k]]


def plain_lloyd(X: Tensor, centres: Tensor, iterations: int) -> tuple[Tensor, float]:
    """Centres after a number of updates, and the inertia of the nearest ones."""
    X, centres = X.double(), centres.double()
    for _ in range(iterations):
        nearest = torch.cdist(X, centres).argmin(dim=1)
        centres = torch.stack([X[nearest == i].mean(dim=0) for i in range(len(centres))])
    return centres, float(torch.cdist(X, centres).min(dim=1).values.square().sum())


@SHAPES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
def test_same_inertia_as_scikit_learn_from_the_same_start(n: int, d: int, k: int, dtype: torch.dtype) -> None:
    X = samples(n, d, k).to(dtype)
    start = drawn(X, k)
    ours = kmeans(X, k, start=start)
    theirs = Reference(k, init=start.numpy(), n_init=1).fit(X.numpy())
    # Rounding decides samples half-way between two centres, and later iterations follow from them.
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=5e-3 if n > 1000 else 1e-4)
    assert ours.converged
    assert ours.seed is None
    assert ours.inertias == (ours.inertia,)


@SHAPES
def test_the_result_is_a_fixed_point(n: int, d: int, k: int) -> None:
    """No sample has a nearer centre, each centre is the mean of its samples, and the inertia is theirs."""
    X = samples(n, d, k)
    found = kmeans(X, k, seeds=(0,), start="random", tol=0)
    assert (found.centres.dtype, found.centres.shape) == (torch.float32, (k, d))
    distances = torch.cdist(X.double(), found.centres.double())
    own = distances.gather(1, found.assignments[:, None])[:, 0]
    assert torch.allclose(own, distances.min(dim=1).values, atol=1e-4)
    assert found.inertia == pytest.approx(float(own.square().sum()), rel=1e-4, abs=1e-6)
    for cluster in torch.unique(found.assignments).tolist():
        mean = X[found.assignments == cluster].double().mean(dim=0)
        assert torch.allclose(found.centres[cluster].double(), mean, atol=1e-5)


@pytest.mark.parametrize("half", [False, True], ids=["single", "half"])
@pytest.mark.parametrize("iterations", [1, 2, 3, 6, 12, 25])
def test_iterations_are_those_of_plain_lloyd(iterations: int, half: bool) -> None:
    """Though most of them compare samples with few centres: the centres that moved."""
    X = samples(800, 12, 40)
    start = drawn(X, 40)
    found = kmeans(X, 40, start=start, max_iterations=iterations, tol=0, half=half)
    centres, inertia = plain_lloyd(X, start, found.iterations)
    assert found.iterations == iterations or found.converged
    assert found.inertia == pytest.approx(inertia, rel=1e-3 if half else 1e-6)
    if not half:
        assert torch.allclose(found.centres.double(), centres, atol=1e-4)


def test_converged_only_where_it_did() -> None:
    X = samples(500, 10, 10)
    assert not kmeans(X, 10, seeds=(0,), start="random", max_iterations=2).converged
    early, late = (kmeans(X, 10, seeds=(0,), start="random", tol=tol) for tol in (0.1, 0.0))
    assert early.converged
    assert late.converged
    assert early.iterations < late.iterations


@pytest.mark.parametrize("start", ["k-means++", "random"])
def test_the_seed_of_least_inertia_wins(start: str) -> None:
    X = samples(400, 6, 12)
    found = kmeans(X, 12, seeds=(5, 6, 7, 8), start=start)
    assert found.inertia == min(found.inertias)
    assert found.seed == (5, 6, 7, 8)[found.inertias.index(found.inertia)]
    assert len(set(found.inertias)) > 1
    alone = kmeans(X, 12, seeds=(found.seed,), start=start)
    assert alone.inertia == pytest.approx(found.inertia, rel=1e-6)


def test_same_seed_same_bits() -> None:
    X = samples(2000, 16, 30)
    first, second = kmeans(X, 30), kmeans(X, 30)
    assert torch.equal(first.centres, second.centres)
    assert torch.equal(first.assignments, second.assignments)
    assert first.inertias == second.inertias


def test_starts_are_as_good_as_those_of_scikit_learn() -> None:
    """Mean inertia after one update, over 30 starts, which vary by some 3 % each. Random starts are worse."""
    X = samples(600, 4, 25)
    theirs = [kmeans_plusplus(X.numpy(), 25, random_state=seed)[0] for seed in range(30)]
    expected = np.mean([plain_lloyd(X, torch.from_numpy(start), 1)[1] for start in theirs])
    greedy, random = (
        kmeans(X, 25, seeds=range(30), start=start, max_iterations=1) for start in ("k-means++", "random")
    )
    assert np.mean(greedy.inertias) == pytest.approx(expected, rel=0.02)
    assert np.mean(random.inertias) > 1.05 * expected


def test_groups_far_apart_are_all_found() -> None:
    generator = Generator().manual_seed(0)
    X = 100 * torch.randn(20, 8, generator=generator).repeat(10, 1) + torch.randn(200, 8, generator=generator)
    found = kmeans(X, 20, seeds=range(5))
    assert all(inertia == pytest.approx(found.inertia, rel=1e-4) for inertia in found.inertias)
    assert torch.equal(found.assignments.view(10, 20), found.assignments[:20].expand(10, 20))


def test_empty_clusters_get_the_farthest_samples_as_in_scikit_learn() -> None:
    X = samples(200, 5, 4)
    start = torch.cat([drawn(X, 3), torch.full((3, 5), 1e3) + torch.arange(3)[:, None]])
    theirs = Reference(6, init=start.numpy(), n_init=1).fit(X.numpy())
    ours = kmeans(X, 6, start=start)
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-4)
    assert len(torch.unique(ours.assignments)) == 6


def test_clusters_that_are_empty_together_get_different_samples() -> None:
    X = torch.tensor([[0.0], [1.0], [5.0]]).repeat(4, 1)
    found = kmeans(X, 3, start=torch.zeros(3, 1))
    assert sorted(found.centres.flatten().tolist()) == pytest.approx([0, 1, 5])


@examples(40)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 6), st.data())
def test_repeated_samples(n: int, d: int, distinct: int, data: st.DataObject) -> None:
    """All numbers are finite. Fewer different samples than clusters: each has its own, and nothing is left.

    The latter where k-means++ starts with all that differ; from a random start two clusters may share equal samples.
    """
    k = data.draw(st.integers(1, n))
    different = samples(distinct, d, 1)
    group = torch.arange(n) % distinct
    start = data.draw(st.sampled_from(["k-means++", "random"]))
    found = kmeans(different[group], k, seeds=(0,), start=start)
    assert found.converged
    assert torch.isfinite(found.centres).all()
    if k >= min(n, distinct) and start == "k-means++":
        assert found.inertia == pytest.approx(0, abs=1e-6)
        assert torch.allclose(found.centres[found.assignments], different[group], atol=1e-5)


def test_equal_samples() -> None:
    found = kmeans(torch.full((9, 3), 0.1), 4)
    assert found.inertia == pytest.approx(0, abs=1e-12)
    assert torch.allclose(found.centres, torch.tensor(0.1))


@pytest.mark.parametrize("half", [False, True], ids=["single", "half"])
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_huge_and_tiny_numbers(scale: float, half: bool) -> None:
    X = samples(200, 6, 5)
    usual, scaled = (kmeans(Z, 5, start=drawn(Z, 5), half=half) for Z in (X, X * scale))
    assert torch.equal(usual.assignments, scaled.assignments)
    assert scaled.inertia == pytest.approx(usual.inertia * scale**2, rel=1e-5)
    assert torch.allclose(scaled.centres / scale, usual.centres, atol=1e-5)
    assert torch.equal(assign(X * scale, scaled.centres), scaled.assignments)


def test_an_offset_far_greater_than_the_spread_costs_no_digits() -> None:
    X = samples(300, 6, 5).double()
    usual, shifted = (kmeans(Z, 5, start=drawn(Z, 5)) for Z in (X, X + 2**30))
    assert shifted.centres.dtype == torch.float64
    assert torch.equal(usual.assignments, shifted.assignments)
    assert shifted.inertia == pytest.approx(usual.inertia, rel=1e-5)
    assert torch.equal(assign(X + 2**30, shifted.centres), usual.assignments)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16, torch.bfloat16])
def test_other_types_and_views(dtype: torch.dtype) -> None:
    X = (samples(200, 12, 4) * 10).clamp(min=0).to(dtype).T.contiguous().T[:, ::2]
    expected = Reference(4, init=drawn(X, 4).double().numpy(), n_init=1).fit(X.double().numpy())
    found = kmeans(X, 4, start=drawn(X, 4))
    assert found.inertia == pytest.approx(expected.inertia_, rel=1e-4)
    assert found.assignments.tolist() == expected.labels_.tolist()


@pytest.mark.parametrize(("n", "d", "k"), [(500, 8, 20), (15_000, 40, 300), (50, 1, 4)])
def test_samples_are_assigned_to_the_nearest(n: int, d: int, k: int) -> None:
    X, centres = samples(n, d, 10), samples(k, d, 10, seed=1)
    distances = torch.cdist(X.double(), centres.double())
    found = assign(X, centres)
    assert torch.allclose(distances.gather(1, found[:, None])[:, 0], distances.min(dim=1).values, atol=1e-5)
    assert assign(X[:5], centres[:1].expand(3, d)).tolist() == [0] * 5


def test_mistakes_are_told() -> None:
    X = samples(20, 4, 2)
    for k in (0, 21):
        with pytest.raises(UserError, match=f"between 1 and 20 clusters for 20 samples, not {k}"):
            kmeans(X, k)
    with pytest.raises(UserError, match="at least one seed"):
        kmeans(X, 2, seeds=())
    with pytest.raises(UserError, match="at least one iteration"):
        kmeans(X, 2, max_iterations=0)
    with pytest.raises(UserError, match="'first' is not a start of k-means"):
        kmeans(X, 2, start="first")
    with pytest.raises(UserError, match="must have shape \\(2, 4\\), not \\(3, 4\\)"):
        kmeans(X, 2, start=X[:3])
    with pytest.raises(UserError, match="the start's features contain values that are not finite"):
        kmeans(X, 2, start=X[:2] / 0)
    with pytest.raises(UserError, match="the k-means features contain values that are not finite"):
        kmeans(X / 0, 2)
    with pytest.raises(UserError, match="distances .* are not finite"):
        kmeans(X.double() * 1e90, 2)
    with pytest.raises(UserError, match="distances .* are not finite"):
        assign(torch.full_like(X, 3e38), X * 1e-3)
    with pytest.raises(UserError, match="samples of 3 dimensions do not match centres of 4"):
        assign(X[:, :3], X)


@pytest.mark.gpu
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("n", "d", "k"), [(300, 8, 5), (20_000, 64, 200), (1000, 1, 7)])
def test_a_gpu_gives_the_same(n: int, d: int, k: int, half: bool) -> None:
    X = samples(n, d, k)
    here = kmeans(X, k, start=drawn(X, k))
    there, again = (kmeans(X.cuda(), k, start=drawn(X, k), half=half) for _ in range(2))
    assert there.inertia == pytest.approx(here.inertia, rel=5e-3)
    assert torch.equal(there.centres, again.centres)
    assert torch.equal(there.assignments, again.assignments)
    nearest = torch.cdist(X.double(), there.centres.cpu().double()).min(dim=1).values
    assert there.inertia == pytest.approx(float(nearest.square().sum()), rel=1e-4)


@pytest.mark.gpu
def test_starts_on_a_gpu_are_the_same_each_time() -> None:
    X = samples(50_000, 32, 50).cuda()
    first, second = kmeans(X, 50), kmeans(X, 50)
    assert first.inertias == second.inertias
    assert torch.equal(first.centres, second.centres)
    assert first.inertia == pytest.approx(kmeans(X.cpu(), 50).inertia, rel=0.01)
