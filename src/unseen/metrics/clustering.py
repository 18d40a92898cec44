"""Agreement of clusters with concepts: purity, adjusted and normalised mutual information, adjusted Rand index.

All are computed from the contingency table of n samples, of which only non-empty cells are stored: O(n) memory for any
number of classes and clusters. Logarithms are natural; every sum is in float64 or in integers.

The results equal scikit-learn's, whose adjusted mutual information is slow: for 1,000 classes and clusters it takes 140
times as long with 50,000 samples (4.0 s against 0.03 s on one core) and 300 times with 1.2 million.
"""

from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from unseen.errors import UserError

NEGLIGIBLE = 1e-30
"""Terms of an expectation with less than this weight, relative to the largest, are neglected."""
TERMS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class ClusteringScores:
    """The four scores of one clustering.

    I is the mutual information of classes and clusters, H and H′ are their entropies.

    Attributes:
        purity: see the function of that name.
        ami: (I − E) / (½(H + H′) − E), with E the mean of I over random partitions with the same sizes (Vinh, Epps &
            Bailey 2010): 0 at chance and 1 for equal partitions. 1 if both have a single part, 0 if only one has.
        nmi: I / ½(H + H′), and 1 if both have a single part.
        ari: (R − E) / (M − E), with R the pairs of samples together in both partitions (Hubert & Arabie 1985). Of the
            n(n−1)/2 pairs, p are together in a class and q in a cluster: E = pq/(n(n−1)/2) and M = ½(p + q). Computed
            in integers up to the last division, since a million samples have 5·10¹¹ pairs.
    """

    purity: float
    ami: float
    nmi: float
    ari: float


@dataclass(frozen=True)
class Contingency:
    """Number of samples that each class shares with each cluster.

    Attributes:
        cells: (m,) non-zero counts; `rows` and `columns`, (m,), give the class and cluster of each.
        classes, clusters: samples of each class and of each cluster, none zero.
    """

    cells: Tensor
    rows: Tensor
    columns: Tensor
    classes: Tensor
    clusters: Tensor

    @property
    def samples(self) -> int:
        return int(self.cells.sum())

    @property
    def identical(self) -> bool:
        """Whether classes and clusters partition the samples identically."""
        return len(self.cells) == len(self.classes) == len(self.clusters)


def clustering_scores(labels: Tensor, clusters: Tensor) -> ClusteringScores:
    """All four scores, from one table; arguments as in `purity`."""
    table = contingency(labels, clusters)
    return ClusteringScores(_purity(table), _adjusted_information(table), _normalised_information(table), _rand(table))


def purity(labels: Tensor, clusters: Tensor) -> float:
    """(1/n) Σ over classes of the largest number of samples a class has in one cluster.

    This is Eq. 3 of ImageNet-CoG's first version (which prints 1/1000 for 1/n). The textbook definition sums over
    clusters instead: it is `purity(clusters, labels)`. Neither penalises the number of clusters: this one is 1 if all
    samples are in a single cluster, the textbook's if each sample has its own.

    Args:
        labels, clusters: (n,) any integers; equal numbers are the same class, or the same cluster.
    """
    return _purity(contingency(labels, clusters))


def expected_mutual_information(classes: Tensor, clusters: Tensor) -> float:
    """Mean mutual information, in nats, of two random partitions of n samples with the given sizes.

    A class of a samples and a cluster of b share k of them with hypergeometric probability p(k) of mean μ = ab/n, so
    the mean is  (1/n) Σ over classes and clusters of Σₖ p(k)·k·log(k/μ)  (Vinh, Epps & Bailey 2010).

    Pairs of equal (a, b) are computed once; sizes that sum to n have at most √(2n) distinct values, so there are at
    most 2n pairs. Since Σₖ p(k)(k − μ) = 0, each term may be written k·log(k/μ) − k + μ, which is never negative, so
    nothing cancels. p is evaluated from its mode outwards by the ratio of neighbours, then divided by its sum. This
    needs no logarithms of factorials, whose rounding at n = 10⁶ leaves nine digits, and only the relevant terms: about
    12·√μ + 30 per side, with 16 flops and a logarithm each in float64.

    Args:
        classes, clusters: (r,) and (s,) sizes of the parts, positive integers with equal sums.
    """
    classes, clusters = classes.cpu(), clusters.cpu()
    n = int(classes.sum())
    (a, a_times), (b, b_times) = (torch.unique(sizes, return_counts=True) for sizes in (classes, clusters))
    times = (a_times[:, None] * b_times).flatten().double()
    a, b = (grid.flatten().double() for grid in torch.meshgrid(a, b, indexing="ij"))
    mode = ((a + 1) * (b + 1) / (n + 2)).floor()
    weight, moment = torch.ones_like(mode), _excess(mode, a * b / n)
    for step in (1, -1):
        _walk(a, b, n, mode, step, weight, moment)
    return float((times * moment / weight).sum()) / n


def contingency(labels: Tensor, clusters: Tensor) -> Contingency:
    """The table of two labellings of the same samples, on the CPU."""
    for name, values in (("labels", labels), ("clusters", clusters)):
        if values.ndim != 1 or len(values) == 0 or values.is_floating_point() or values.is_complex():
            raise UserError(f"{name} must be one integer per sample, not {values.dtype} of shape {tuple(values.shape)}")
    if len(labels) != len(clusters):
        raise UserError(f"{len(labels)} labels do not match {len(clusters)} clusters; each sample needs one of each")
    _, of_class, classes = torch.unique(labels, return_inverse=True, return_counts=True)
    _, of_cluster, sizes = torch.unique(clusters, return_inverse=True, return_counts=True)
    pairs, cells = torch.unique(of_class * len(sizes) + of_cluster.to(of_class.device), return_counts=True)
    parts = cells, pairs // len(sizes), pairs % len(sizes), classes, sizes
    return Contingency(*(part.cpu() for part in parts))


def _purity(table: Contingency) -> float:
    most = torch.zeros_like(table.classes).scatter_reduce(0, table.rows, table.cells, "amax")
    return int(most.sum()) / table.samples


def _adjusted_information(table: Contingency) -> float:
    if table.identical:
        return 1.0
    if len(table.classes) == 1 or len(table.clusters) == 1:
        return 0.0
    expected = expected_mutual_information(table.classes, table.clusters)
    entropy = (_entropy(table.classes) + _entropy(table.clusters)) / 2
    return (_information(table) - expected) / (entropy - expected)


def _normalised_information(table: Contingency) -> float:
    if table.identical:
        return 1.0
    return 2 * _information(table) / (_entropy(table.classes) + _entropy(table.clusters))


def _rand(table: Contingency) -> float:
    if table.identical:
        return 1.0
    both, in_class, in_cluster = (_pairs(sizes) for sizes in (table.cells, table.classes, table.clusters))
    pairs = comb(table.samples, 2)
    # (R − E) / (M − E) with numerator and denominator multiplied by 2·pairs: exact integers.
    return 2 * (both * pairs - in_class * in_cluster) / (pairs * (in_class + in_cluster) - 2 * in_class * in_cluster)


def _pairs(sizes: Tensor) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _information(table: Contingency) -> float:
    """Mutual information of classes and clusters, in nats."""
    n = table.samples
    cells, rows, columns = (
        count.double() for count in (table.cells, table.classes[table.rows], table.clusters[table.columns])
    )
    # A product of counts is exact below 2⁵³, so independent partitions give the logarithm of exactly 1.
    return max(float((cells / n * (cells * n / (rows * columns)).log()).sum()), 0.0)


def _entropy(sizes: Tensor) -> float:
    """Entropy of a partition, in nats."""
    shares = sizes.double() / sizes.sum()
    return -float((shares * shares.log()).sum())


def _walk(a: Tensor, b: Tensor, n: int, mode: Tensor, step: int, weight: Tensor, moment: Tensor) -> None:
    """Add to `weight` and `moment` the terms on one side of the mode, until they are negligible.

    p(k + 1)/p(k) = (a − k)(b − k) / ((k + 1)(n − a − b + k + 1)), which is 0 at the end of the range of k. Each round
    takes enough steps at once for about 4,000 terms, since a few pairs of large parts need thousands of steps.
    """
    pair = torch.arange(len(a))
    a, b, k = a[:, None], b[:, None], mode[:, None]
    rest, w = n - a - b, torch.ones_like(k)
    while len(pair):
        k = k + step * torch.arange(1 + TERMS_AT_ONCE // len(pair))
        if step > 0:
            ratio = (a - k) * (b - k) / ((k + 1) * (rest + k + 1))
        else:
            ratio = k * (rest + k) / ((a - k + 1) * (b - k + 1))
        k, w = k + step, w * ratio.cumprod(dim=1)
        weight[pair] += w.sum(dim=1)
        # Below the range of k the weight is 0; the excess must still be finite.
        moment[pair] += (w * _excess(k.clamp(min=0), a * b / n)).sum(dim=1)
        left = w[:, -1] > NEGLIGIBLE
        pair, a, b, rest = (values[left] for values in (pair, a, b, rest))
        k, w = k[left, -1:], w[left, -1:]


def _excess(k: Tensor, mean: Tensor) -> Tensor:
    """k·log(k/μ) − k + μ, with 0·log 0 = 0."""
    return torch.xlogy(k, k / mean) - k + mean
