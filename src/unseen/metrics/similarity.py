"""Similarity of representations of the same images: linear CKA and mutual nearest neighbours, beside chance.

Both are inner products of one n × n matrix per representation: of the Gram matrix that the unbiased estimator of HSIC
centres (Song et al. 2012; Kornblith et al. 2019), scaled to length 1, and of the matrix that says who is among the k
nearest neighbours of whom (Huh et al. 2024). So the values of all pairs of B representations are one product, of
2·B²·n² flops, after 2·n²·d for each representation.

Chance is what the images of one representation in another order give. Over all orders, the mean and the variance of
such an inner product are known exactly (Mantel 1967); the shape of its distribution, from which the 95% quantile
follows, is that of random orders of at most 128 of the images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from unseen.errors import UserError

Floats = NDArray[np.float64]
NEIGHBOURS = 10
PERMUTATIONS = 100
QUANTILE = 0.95
SHAPED = 128
"""Images whose random orders give the shape of the distribution."""


@dataclass(frozen=True, eq=False)
class PairSimilarity:
    """One measure of all pairs of representations.

    Attributes:
        value: (B, B).
        mean, level: (B, B) mean over all orders of the images of one of the two, and the 95% quantile.
    """

    value: Floats
    mean: Floats
    level: Floats

    @property
    def above(self) -> Floats:
        """(B, B) share of what is possible above the level: (value − level) / (1 − level), and 0 below it."""
        room = np.maximum(1 - self.level, np.finfo(np.float64).tiny)
        return np.clip((self.value - self.level) / room, 0, 1)


@dataclass(frozen=True, eq=False)
class Similarities:
    """Similarities of B representations of n images; `neighbours` is k."""

    images: int
    neighbours: int
    cka: PairSimilarity
    mutual_knn: PairSimilarity


@dataclass(frozen=True)
class _Sums:
    """Sums over pairs of different entries of a matrix with a zero diagonal, on which Mantel's moments depend.

    Attributes:
        total: Σ aᵢⱼ.
        same, mirrored: Σ aᵢⱼ², Σ aᵢⱼ aⱼᵢ.
        rows, columns, chained: Σ of aᵢⱼ aᵢₗ, aᵢⱼ aₗⱼ and aᵢⱼ aₗᵢ over different i, j, l.
    """

    total: float
    same: float
    mirrored: float
    rows: float
    columns: float
    chained: float

    @classmethod
    def of(cls, matrix: Any) -> "_Sums":
        """Of a dense or sparse (n, n) matrix."""
        across, down = (np.asarray(matrix.sum(axis=axis)).ravel().astype(np.float64) for axis in (1, 0))
        same, mirrored = float((matrix * matrix).sum()), float((matrix * matrix.T).sum())
        return cls(
            float(across.sum()), same, mirrored, float(across @ across) - same, float(down @ down) - same,
            float(across @ down) - mirrored,
        )  # fmt: skip

    @property
    def apart(self) -> float:
        """Σ aᵢⱼ aₖₗ over four different indices."""
        return self.total**2 - self.same - self.mirrored - self.rows - self.columns - 2 * self.chained


def similarities(
    features: Sequence[NDArray[Any]],
    *,
    k: int = NEIGHBOURS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    names: Sequence[str] = (),
) -> Similarities:
    """Linear CKA and mutual k-nearest neighbours of every pair of representations.

    Args:
        features: (n, d) features of the same n images in the same order, of any widths; each is read once, so a lazy
            sequence is held in memory one at a time.
        k: neighbours by cosine similarity. Ties at the k-th are broken arbitrarily.
        permutations: random orders, two for each one that is drawn.
        names: of the representations, for errors.
    """
    centred, near, sums = list[Floats](), list[csr_array](), list[_Sums]()
    small_centred, small_near = list[Floats](), list[Floats]()
    n, chosen, upper = 0, np.arange(0), np.arange(0)
    for number, X in enumerate(features):
        name = names[number] if names else f"representation {number}"
        gram = _gram(X, name)
        if number == 0:
            n = len(gram)
            if n < k + 2:
                raise UserError(f"{n} images are too few for {k} neighbours; give at least {k + 2}")
            upper = np.flatnonzero(np.triu(np.ones((n, n), dtype=np.bool_), 1))
            chosen = np.sort(np.random.default_rng(seed).permutation(n)[:SHAPED])
        elif len(gram) != n:
            raise UserError(f"{name} is of {len(gram)} images, and others are of {n}; give the same ones")
        small = gram[np.ix_(chosen, chosen)]
        small_centred.append(_unit_centred(small, name))
        small_near.append(_neighbours(small, min(k, len(chosen) - 2)).toarray())
        near.append(_neighbours(gram, k))
        sums.append(_Sums.of(near[-1]))
        centred.append(_unit_centred(gram, name).ravel()[upper])
    flat = np.stack(centred)
    together = vstack([each.reshape(1, n * n) for each in near]).tocsr()
    mutual = np.asarray((together @ together.T).todense(), dtype=np.float64) / (n * k)
    # Every row of a centred matrix sums to 0, which leaves nothing of the moments but the number of images.
    cka = _Chance(np.zeros((len(flat),) * 2), np.full((len(flat),) * 2, np.sqrt(2 / (n * (n - 3)))))
    knn = _moments(sums, n).scaled(1 / (n * k))
    return Similarities(
        n, k,
        cka.beside(2 * flat @ flat.T, _shape(np.stack(small_centred), permutations, seed)),
        knn.beside(mutual, _shape(np.stack(small_near), permutations, seed)),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Chance:
    """(B, B) mean and standard deviation over all orders of the images."""

    mean: Floats
    deviation: Floats

    def scaled(self, factor: float) -> "_Chance":
        return _Chance(self.mean * factor, self.deviation * factor)

    def beside(self, value: Floats, shape: Floats) -> PairSimilarity:
        """A measure with its level; `shape` is the quantile in standard deviations from the mean."""
        return PairSimilarity(value, self.mean, self.mean + shape * self.deviation)


def _moments(sums: Sequence[_Sums], n: int) -> _Chance:
    """Mean and standard deviation of Σ aᵢⱼ b_π(i)π(j) over all n! orders π, for all pairs of matrices (Mantel 1967)."""

    def products(name: str) -> Floats:
        own = np.array([getattr(each, name) for each in sums])
        return np.outer(own, own)

    pairs = n * (n - 1)
    mean = products("total") / pairs
    triples = products("rows") + products("columns") + 2 * products("chained")
    square = (products("same") + products("mirrored")) / pairs
    square += triples / (pairs * (n - 2)) + products("apart") / (pairs * (n - 2) * (n - 3))
    return _Chance(mean, np.sqrt(np.maximum(square - mean**2, 0)))


def _shape(matrices: Floats, permutations: int, seed: int) -> Floats:
    """(B, B) the quantile of random orders in standard deviations from the mean, of (B, m, m) matrices."""
    B, m, _ = matrices.shape
    flat, rng = matrices.reshape(B, -1).astype(np.float32), np.random.default_rng([seed, 1])
    drawn = np.empty((2, permutations // 2, B, B))
    for place in range(permutations // 2):
        order = rng.permutation(m)
        # The order and its inverse are two draws.
        drawn[0, place] = flat @ np.take(flat, (order[:, None] * m + order).ravel(), axis=1).T
        drawn[1, place] = drawn[0, place].T
    chance = _moments([_Sums.of(each) for each in matrices], m)
    there = chance.deviation > 0
    away = np.quantile(drawn.reshape(-1, B, B), QUANTILE, axis=0) - chance.mean
    return np.divide(away, chance.deviation, out=np.zeros((B, B)), where=there)


def _gram(X: NDArray[Any], name: str) -> Floats:
    """(n, n) inner products in float64, of features scaled to magnitude 1."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise UserError(f"{name} is no matrix of finite features, but of shape {rows.shape}")
    rows = rows / (np.abs(rows).max() or 1.0)
    return rows @ rows.T


def _unit_centred(gram: Floats, name: str) -> Floats:
    """(n, n) the matrix whose inner products are unbiased HSIC (Székely & Rizzo 2014), divided by its length.

    ũᵢⱼ = kᵢⱼ − rᵢ/(n − 2) − rⱼ/(n − 2) + r/((n − 1)(n − 2)) for i ≠ j, with sums r of the matrix without its diagonal.
    A first centring about the mean of all images, which changes nothing but rounding, keeps digits of offset features.
    """
    n, means = len(gram), gram.mean(axis=0)
    centred: Floats = gram - means - means[:, None] + means.mean()
    np.fill_diagonal(centred, 0)
    sums = centred.sum(axis=0)
    centred -= (sums + sums[:, None]) / (n - 2)
    centred += sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0)
    length = float(np.linalg.norm(centred))
    if length <= 1e-12 * n * float(np.abs(gram).max()):
        raise UserError(f"{name} is the same for all images, so it resembles nothing")
    centred /= length
    return centred


def _neighbours(gram: Floats, k: int) -> csr_array:
    """(n, n) with ones at the k images of greatest cosine similarity of each image; zero rows are at right angles."""
    n, lengths = len(gram), np.sqrt(np.diag(gram))
    cosine = gram / np.where(lengths > 0, lengths, 1)  # the length of the image itself changes no order in its row
    np.fill_diagonal(cosine, -np.inf)
    nearest = np.argpartition(cosine, n - k, axis=1)[:, n - k :]
    return csr_array((np.ones(n * k), nearest.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
