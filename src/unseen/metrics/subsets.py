"""Subsets of a test set on which models of higher in-distribution (ID) accuracy are less accurate.

Within one shifted test set there can be subsets, sometimes over half of it, on which ID and out-of-distribution
accuracy are negatively correlated (arXiv 2510.24884). Among many images, some subset always is, by chance. Here half of
the models choose the subset, the other half confirms it, and the same search under permuted models says how far chance
gets:

    cᵢ = Σₘ xₘ hᵢₘ / sᵢ          over the models m of the choosing half, for the hits h of image i
    r(S) = corr(x, Σ_{i∈S} hᵢ)   over the models of either half, for the images S with the lowest c

x is the ID accuracy on a linear scale (logits), less its mean over the models of one group and half, and s the standard
deviation of hits within groups. Groups (training data, families) therefore have no part in any correlation: models of
one group share hits, so the difference between two groups is one observation and not as many as they have models. x is
permuted within groups, which keeps everything that models share except its relation to their own ID accuracy.

The sizes of S are a grid from the stated size to all images. r(S) on the choosing half does not tell which is best, as
it is low by selection. They are tested on the confirming half one after another, the smallest first, up to the first
one that is not confirmed, which needs no correction (a fixed sequence, Maurer, Hothorn and Lehmacher 1995): so the test
is the one of the stated size, and the subset is the largest that is confirmed.

Images that (nearly) all models get right, or wrong, cannot correlate with anything. They are not searched, and do not
count for the stated size, which they would fill without changing a correlation.

If models of a group are exchangeable apart from their ID accuracy, p-values are exact for hits that have no relation
to it, and conservative if the relation is positive everywhere. Near-copies within a group are not: neighbours in ID
accuracy with the same hits are in different halves, so one confirms what the other chose. Of each set of them only one
model counts (`near_copies`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UserError
from unseen.metrics.comparisons import LEVEL
from unseen.metrics.near_copies import near_copies

Array = NDArray[np.float64]
Hits = NDArray[np.bool_]

FEWEST_MODELS = 8
FEWEST_IMAGES = 2
SIZES = 10
"""Number of sizes that are compared."""
LEAST_APART = 0.05
"""The share of models, at least two of them, that an image must separate from the others."""
ENTRIES = 2**25
"""Cells of a matrix of chosen images × permutations and sizes that are processed at once: 128 MB."""
CHANCE = LEVEL


@dataclass(frozen=True, eq=False)
class SubsetSearch:
    """A search, its confirmation, and the same under permuted models.

    Attributes:
        order: the searched images, the lowest correlation first: a subset is the first of them.
        searched: (n,) whether an image was searched: enough models of a group differ on it.
        searching: (m,) whether a model belongs to the half that chose the order; the others confirm.
        used: (m,) whether a model counts; near-copies do not, nor models of groups with fewer than four others.
        copy_of: (m,) the model that each one is a near-copy of; −1 for those that are none.
        slopes: (J,) change of the accuracy on the subset per unit of ID accuracy (both fractions), by size, over the
            confirming half.
        whole: r of all images of the test set on the confirming half.
        sizes: (J,) the sizes that were compared.
        found: (J,) r(S) on the choosing half, by size.
        confirmed: (J,) r(S) on the confirming half.
        null: (P, J) the same for permuted models.
        null_counts: (P, J, C) images of each class in the subsets of permuted searches; (P, J, 0) without classes.
    """

    order: NDArray[np.intp]
    searched: Hits
    searching: Hits
    used: Hits
    copy_of: NDArray[np.intp]
    slopes: Array
    whole: float
    sizes: NDArray[np.intp]
    found: Array
    confirmed: Array
    null: Array
    null_counts: NDArray[np.intp]

    @property
    def p_values(self) -> Array:
        """(J,) the share of searches, this one included, that are confirmed by as low a correlation, by size."""
        return np.asarray((1 + (self.null <= self.confirmed).sum(axis=0)) / (1 + len(self.null)))

    def largest(self, level: float = CHANCE) -> int | None:
        """The place of the largest size that is confirmed, as all smaller ones are; None if the smallest is not."""
        refused = np.flatnonzero((self.confirmed >= 0) | (self.p_values > level))
        many = int(refused[0]) if len(refused) else len(self.sizes)
        return many - 1 if many else None

    def subset(self, place: int) -> NDArray[np.intp]:
        """The images of the subset of a size."""
        return self.order[: self.sizes[place]]

    @property
    def resolvable(self) -> float:
        """The correlation at the stated size that so many models could have told from chance."""
        place = int(CHANCE * (1 + len(self.null))) - 1
        return float(np.sort(self.null[:, 0])[place]) if place >= 0 else -1.0


def search_subset(
    hits: ArrayLike,
    ability: ArrayLike,
    *,
    size: int,
    groups: Sequence[str] = (),
    accuracy: ArrayLike | None = None,
    classes: NDArray[np.integer] | None = None,
    permutations: int = 200,
    seed: int = 0,
) -> SubsetSearch:
    """The subsets of a test set on which the relation with ID accuracy is lowest, confirmed and compared with chance.

    Costs 2·n·m·(P + 1)·(J + 1) flops in float32 for J sizes, as products of matrices, and sorting.

    Args:
        hits: (n, m) whether each model is right on each image.
        ability: (m,) ID accuracies on the scale of the relation, such as logits.
        size: the fewest images of a subset.
        groups: (m,) names; by default all models are exchangeable.
        accuracy: (m,) ID accuracies as fractions, for the slope; by default `ability`.
        classes: (n,) class of each image, for `null_counts`.
        permutations: number of permuted searches, P.
        seed: of the halves and permutations.
    """
    right, x = np.asarray(hits, dtype=np.bool_), np.asarray(ability, dtype=np.float64)
    _, group = np.unique([*groups] or [""] * len(x), return_inverse=True)
    _check(right, x, group, size, permutations)
    copy_of = near_copies(right, x, group)
    single = np.flatnonzero(copy_of < 0)
    plain = (x if accuracy is None else np.asarray(accuracy, dtype=np.float64))[single]
    generator = np.random.default_rng(seed)
    found = _search(right[:, single], x[single], group[single], plain, size, classes, permutations, generator)
    searching, used = np.zeros((2, len(x)), dtype=np.bool_)
    searching[single], used[single] = found.searching, found.used
    return replace(found, searching=searching, used=used, copy_of=copy_of)


def _search(
    right: Hits,
    x: Array,
    group: NDArray[np.intp],
    plain: Array,
    size: int,
    classes: NDArray[np.integer] | None,
    permutations: int,
    generator: np.random.Generator,
) -> SubsetSearch:
    """The search with models that are no near-copies of each other; `plain` are ID accuracies as fractions."""
    _check_models(x, group)
    searching = halves(x, group, generator)
    used = np.isin(group, np.flatnonzero(np.bincount(group) >= 4))
    spread, searched = _spread(right, group, used)
    if searched.sum() < size:
        raise UserError(
            f"{int(searched.sum()):,} of {len(right):,} images separate enough of the models to be searched, fewer "
            f"than the {size:,} that a subset should have; ask for fewer"
        )
    sides = [_design(x, group, side & used) for side in (searching, ~searching)]
    if not all(side.any() for side in sides):
        raise UserError("within every group, the models have the same ID accuracy, so nothing can be related to it")
    slots = _permuted(group, permutations, generator)
    kept = np.flatnonzero(searched)
    dense = right[kept].astype(np.float32)
    weights = np.zeros((len(x), len(slots)), dtype=np.float32)
    np.put_along_axis(weights, slots.T, sides[0].astype(np.float32)[:, None], axis=0)
    order = np.argsort(weights.T @ dense.T / spread[kept], axis=1, kind="stable")
    sizes = np.unique(np.geomspace(size, len(kept), SIZES).round().astype(np.intp))
    means = _subset_accuracies(dense, order, sizes)
    placed = np.take_along_axis(means, slots[:, None], axis=2)
    found = _correlations(placed, sides[0], group, searching & used)
    confirmed = _correlations(placed, sides[1], group, ~searching & used)
    whole = _correlations(right.mean(axis=0)[None, None], sides[1], group, ~searching & used)
    other = _design(plain, group, ~searching & used)
    return SubsetSearch(
        order=kept[order[0]], searched=searched, searching=searching, used=used, copy_of=np.full(len(x), -1),
        slopes=means[0] @ other / (other @ other), whole=float(whole[0, 0]), sizes=sizes, found=found[0],
        confirmed=confirmed[0], null=confirmed[1:], null_counts=_counts(classes, kept, order[1:], sizes),
    )  # fmt: skip


def _check(hits: Hits, x: Array, group: NDArray[np.intp], size: int, permutations: int) -> None:
    if hits.ndim != 2 or x.ndim != 1 or hits.shape[1] != len(x) or len(group) != len(x):
        raise UserError(
            f"hits are images × models, not {hits.shape} for {len(x)} ID accuracies and {len(group)} groups"
        )
    if not np.isfinite(x).all():
        raise UserError("an ID accuracy is not a finite number on the scale of the relation")
    _check_models(x, group)
    if np.ptp(x) == 0:
        raise UserError(f"all {len(x)} models have the same ID accuracy, so nothing can be related to it")
    if size < FEWEST_IMAGES:
        raise UserError(f"a subset has at least {FEWEST_IMAGES} images, not {size}")
    if len(hits) < size:
        raise UserError(f"a test set of {len(hits):,} images has no subset of {size:,}; ask for fewer")
    if permutations < 1:
        raise UserError(f"chance needs at least one permuted search, not {permutations}")


def _check_models(x: Array, group: NDArray[np.intp]) -> None:
    count = int((np.bincount(group, minlength=1) >= 4)[group].sum())
    if count < FEWEST_MODELS:
        within = " in groups of at least four" if group.max(initial=0) else ""
        raise UserError(
            f"the search divides the models into halves, and needs at least {FEWEST_MODELS}{within} that are no "
            f"near-copies of each other, not {count}"
        )


def halves(x: Array, group: NDArray[np.intp], generator: np.random.Generator) -> Hits:
    """(m,) whether a model belongs to the searching half: one of each two neighbours in ID accuracy, within groups.

    Both halves then span the same range, which a division at random would leave to chance.
    """
    searching = np.zeros(len(x), dtype=np.bool_)
    extra = bool(generator.integers(2))
    for one in range(int(group.max()) + 1):
        members = np.flatnonzero(group == one)
        members = members[np.argsort(x[members], kind="stable")]
        for first in range(0, len(members) - 1, 2):
            searching[members[first + generator.integers(2)]] = True
        if len(members) % 2:
            searching[members[-1]] = extra
            extra = not extra
    return searching


def _design(x: Array, group: NDArray[np.intp], half: Hits) -> Array:
    """(m,) x less the mean of its group in this half, and 0 for the models of the other half."""
    return np.where(half, x - _cell_means(x, group, half)[group], 0.0)


def _cell_means(values: Array, group: NDArray[np.intp], half: Hits) -> Array:
    """(…, groups) means over the models of each group in a half: (…, m) values."""
    member = (group[:, None] == np.arange(group.max() + 1)) & half[:, None]
    return np.asarray(values @ member / np.maximum(member.sum(axis=0), 1))


def _spread(hits: Hits, group: NDArray[np.intp], used: Hits) -> tuple[NDArray[np.float32], Hits]:
    """(n,) deviation of the hits of images within groups, and whether they separate enough models to be searched."""
    names, count = np.unique(group[used]), int(used.sum())
    right = np.stack([hits[:, used & (group == name)].sum(axis=1) for name in names], axis=1)
    members = np.array([(used & (group == name)).sum() for name in names])
    apart = np.minimum(right, members - right).sum(axis=1)
    variance = (right * (members - right) / members).sum(axis=1) / count
    return np.sqrt(variance).astype(np.float32), apart >= max(2, LEAST_APART * count)


def _permuted(group: NDArray[np.intp], permutations: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """(P + 1, m) the model whose hits take the place of each model's, within its group; the first is the identity."""
    slots = np.tile(np.arange(len(group)), (permutations + 1, 1))
    for one in range(int(group.max()) + 1):
        members = np.flatnonzero(group == one)
        slots[1:, members] = generator.permuted(np.tile(members, (permutations, 1)), axis=1)
    return slots


def _subset_accuracies(hits: NDArray[np.float32], order: NDArray[np.intp], sizes: NDArray[np.intp]) -> Array:
    """(P + 1, J, m) accuracies on the first images of each order, by size."""
    means = np.empty((len(order), len(sizes), hits.shape[1]))
    block = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    for some in _batches(len(order), len(sizes) * len(hits)):
        chosen = np.zeros((some.stop - some.start, len(sizes), len(hits)), dtype=np.float32)
        for row, own in enumerate(order[some]):
            chosen[row, block, own[: sizes[-1]]] = 1
        sums = chosen.reshape(-1, len(hits)) @ hits
        means[some] = sums.reshape(chosen.shape[0], len(sizes), -1).astype(np.float64).cumsum(axis=1)
    return np.asarray(means / sizes[:, None])


def _batches(many: int, size: int) -> Iterator[slice]:
    step = max(1, ENTRIES // size)
    return (slice(start, min(start + step, many)) for start in range(0, many, step))


def _correlations(means: Array, design: Array, group: NDArray[np.intp], half: Hits) -> Array:
    """(P + 1, J) correlations within the groups of a half; 0 if all its models have the same accuracy on a subset."""
    own = np.where(half, means - _cell_means(means, group, half)[..., group], 0.0)
    length = np.sqrt((own**2).sum(axis=-1))
    return np.where(length > 1e-9, own @ design / np.maximum(length, 1e-9) / np.linalg.norm(design), 0.0)


def _counts(
    classes: NDArray[np.integer] | None, kept: NDArray[np.intp], order: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.intp]:
    """(P, J, C) images of each class among the first ones of each permutation, by size."""
    if classes is None:
        return np.zeros((len(order), len(sizes), 0), dtype=np.intp)
    many, own = int(classes.max()) + 1, classes[kept]
    ends = [0, *sizes.tolist()]
    parts = [
        [np.bincount(own[row[start:end]], minlength=many) for start, end in pairwise(ends)] for row in order
    ]  # fmt: skip
    return np.asarray(np.array(parts).cumsum(axis=1))
