"""Scores of clusterings against scikit-learn's, and the expected information against exact whole numbers."""

import math
from collections import Counter
from fractions import Fraction

import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.metrics.clustering import (
    clustering_scores,
    expected_mutual_information,
    purity,
)


def labelled(n: int, c: int, k: int, agreement: float) -> tuple[Tensor, Tensor]:
    """Labels of c classes, and k clusters of very unequal size that follow the labels for a share of samples."""
    generator = Generator().manual_seed(n + 7 * c + k)
    y = torch.randint(c, (n,), generator=generator)
    drawn = torch.multinomial(torch.rand(k, generator=generator) ** 3 + 0.01, n, replacement=True, generator=generator)
    return y, torch.where(torch.rand(n, generator=generator) < agreement, y % k, drawn)


def plain_purity(labels: list[int], clusters: list[int]) -> float:
    most = 0
    for label in set(labels):
        most += max(Counter(b for a, b in zip(labels, clusters, strict=True) if a == label).values())
    return most / len(labels)


@pytest.mark.parametrize("agreement", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("n", "c", "k"), [(2, 2, 2), (30, 3, 4), (300, 10, 2), (300, 2, 40), (200, 150, 150), (5000, 50, 60)]
)
def test_equal_to_scikit_learn(n: int, c: int, k: int, agreement: float) -> None:
    y, clusters = labelled(n, c, k, agreement)
    found = clustering_scores(y, clusters)
    assert found.ami == pytest.approx(adjusted_mutual_info_score(y, clusters), abs=1e-10)
    assert found.nmi == pytest.approx(normalized_mutual_info_score(y, clusters), abs=1e-12)
    assert found.ari == pytest.approx(adjusted_rand_score(y, clusters), abs=1e-12)
    assert found.purity == pytest.approx(plain_purity(y.tolist(), clusters.tolist()), abs=1e-15)
    assert purity(y, clusters) == found.purity


def test_purity_is_the_transpose_of_the_textbooks() -> None:
    labels, clusters = torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 0, 1, 1, 1, 1])
    assert purity(labels, clusters) == pytest.approx((2 + 2 + 1) / 6)
    assert purity(clusters, labels) == pytest.approx((2 + 2) / 6)  # of each cluster its most common class
    assert purity(labels, torch.zeros(6, dtype=torch.long)) == 1


@pytest.mark.parametrize(
    ("labels", "clusters", "expected"),
    [
        ([3, 3, 3], [5, 5, 5], (1, 1, 1)),
        ([0, 1, 2], [2, 0, 1], (1, 1, 1)),
        ([7], [0], (1, 1, 1)),
        ([0, 0, 1, 1], [9, 9, -4, -4], (1, 1, 1)),
        ([0, 0, 0, 0], [0, 1, 2, 3], (0, 0, 0)),
        ([0, 1, 2, 3], [0, 0, 0, 0], (0, 0, 0)),
        ([0, 0, 1, 1], [0, 1, 0, 1], (-0.5, 0, -0.5)),
    ],
    ids=["one part", "all apart", "one sample", "renamed", "split up", "lumped", "independent"],
)
def test_limits(labels: list[int], clusters: list[int], expected: tuple[float, ...]) -> None:
    found = clustering_scores(torch.tensor(labels), torch.tensor(clusters))
    assert (found.ami, found.nmi, found.ari) == pytest.approx(expected, abs=1e-12)


def test_a_sample_of_its_own_for_each_label_says_nothing() -> None:
    _, clusters = labelled(500, 4, 6, 0.0)
    found = clustering_scores(torch.arange(500), clusters)
    assert found.ami == pytest.approx(0, abs=1e-12)
    assert found.ari == 0


def exact_expectation(classes: list[int], clusters: list[int]) -> float:
    """The textbook's sum, with probabilities from whole numbers of any length."""
    n = sum(classes)
    terms = []
    for a in classes:
        for b in clusters:
            for k in range(max(1, a + b - n), min(a, b) + 1):
                share = Fraction(math.comb(a, k) * math.comb(n - a, b - k), math.comb(n, b))
                terms.append(float(share) * k / n * (math.log(n * k) - math.log(a * b)))
    return math.fsum(terms)


@pytest.mark.parametrize(
    ("classes", "clusters"),
    [
        ([1, 1], [1, 1]),
        ([5, 1], [3, 3]),
        ([9, 9, 9], [26, 1]),
        ([1] * 40, [13, 27]),
        ([100, 200, 300], [50, 150, 400]),
        ([700, 700], [1399, 1]),
        ([2000], [2000]),
        ([300] * 4 + [8] * 20, [340] * 4),
    ],
)
def test_expected_information_equals_exact_sums(classes: list[int], clusters: list[int]) -> None:
    found = expected_mutual_information(torch.tensor(classes), torch.tensor(clusters))
    assert found == pytest.approx(exact_expectation(classes, clusters), rel=1e-12, abs=1e-13)


def test_expected_information_of_a_million_samples() -> None:
    # Large independent tables: (r − 1)(s − 1)/2n to first order, which is the mean of a χ² over 2n.
    sizes = torch.full((10,), 110_000)
    assert expected_mutual_information(sizes, sizes) == pytest.approx(81 / 2.2e6, rel=1e-3)
    halves, thirds = torch.tensor([50_000] * 2), torch.tensor([33_333, 33_333, 33_334])
    assert expected_mutual_information(halves, thirds) == pytest.approx(2 / 2e5, rel=1e-3)


partitions = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=60)


@given(partitions, st.permutations(range(7)))
@examples(60)
def test_names_do_not_matter_and_all_but_purity_are_symmetric(pairs: list[tuple[int, int]], names: list[int]) -> None:
    labels, clusters = torch.tensor(pairs).T
    found = clustering_scores(labels, clusters)
    renamed = clustering_scores(labels, torch.tensor(names)[clusters] * 10**12 - 5)
    back = clustering_scores(clusters, labels)
    for name in ("ami", "nmi", "ari", "purity"):
        value = getattr(found, name)
        assert value <= 1
        assert getattr(renamed, name) == pytest.approx(value, abs=1e-12)
        if name != "purity":
            assert getattr(back, name) == pytest.approx(value, abs=1e-12)
    assert found.nmi >= 0
    assert found.ari >= -0.5


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_types_and_layout_do_not_matter(dtype: torch.dtype) -> None:
    y, clusters = labelled(120, 5, 7, 0.4)
    apart = torch.stack([y, y], dim=1).to(dtype)[:, 0]
    assert not apart.is_contiguous()
    assert clustering_scores(apart, clusters.to(dtype)) == clustering_scores(y, clusters)


def test_more_clusters_than_a_table_could_hold() -> None:
    y = torch.arange(60_000)  # 1.8·10⁹ cells
    found = clustering_scores(y, y // 2)
    assert found.purity == 1
    assert found.nmi == pytest.approx(2 * math.log(30_000) / (math.log(60_000) + math.log(30_000)))
    assert found.ari == 0


def test_bad_input_is_refused() -> None:
    y, clusters = labelled(20, 3, 3, 0.5)
    cases = [
        ((y.float(), clusters), "labels must be one integer per sample, not torch.float32"),
        ((y, clusters[:, None]), r"clusters must be one integer per sample, not torch.int64 of shape \(20, 1\)"),
        ((y[:0], clusters[:0]), r"shape \(0,\)"),
        ((y, clusters[:-1]), "20 labels do not match 19 clusters"),
    ]
    for arguments, message in cases:
        with pytest.raises(UserError, match=message):
            clustering_scores(*arguments)


@pytest.mark.gpu
def test_the_same_on_a_gpu() -> None:
    y, clusters = labelled(5000, 50, 60, 0.5)
    assert clustering_scores(y.cuda(), clusters.cuda()) == clustering_scores(y, clusters)
    assert clustering_scores(y.cuda(), clusters) == clustering_scores(y, clusters)
