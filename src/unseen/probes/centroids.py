"""Few-shot classification by the nearest centroid, over many random episodes of stored features.

An episode draws a few classes, and from each some samples to learn from (shots) and others to classify (queries). The
centroid of a class is the mean of its shots, and a query is assigned to the nearest one in Euclidean distance. Ericsson
et al. 2021 use 600 episodes of 5 classes with 15 queries each, and unnormalised features.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn.functional import embedding_bag

from unseen.errors import UserError
from unseen.probes.arrays import Frame, checked_features, checked_labels, directions, row_blocks


@dataclass(frozen=True)
class FewShot:
    """Accuracy over episodes.

    Attributes:
        accuracy: mean over episodes.
        interval: half the width of its 95 % interval: 1.96·σ/√episodes, with σ² the mean squared deviation of episodes
            from their mean.
        accuracies: (episodes,) share of correct queries in each, in float64 on the CPU.
    """

    accuracy: float
    interval: float
    accuracies: Tensor


def centroids(
    X: Tensor,
    y: Tensor,
    *,
    shots: int,
    ways: int = 5,
    queries: int = 15,
    episodes: int = 600,
    seed: int = 0,
    normalise: bool = False,
) -> FewShot:
    """Score nearest-centroid classification on random episodes, many at a time.

    Costs 2·episodes·ways²·queries·d flops and reads episodes·ways·(shots + queries) rows. Memory: copies of the drawn
    rows, and blocks of at most 1 GiB. The same seed gives the same episodes on every device; accuracies are equal
    except for queries equally near to two centroids.

    Args:
        X: (n, d) features of any real dtype; not modified.
        y: (n,) class indices from 0, gaps allowed. Classes with fewer than shots + queries samples are not drawn.
        normalise: ℓ2-normalise features.
    """
    X = checked_features(X, "few-shot")
    y = checked_labels(y, X, "few-shot")
    drawn = draw_episodes(y, ways=ways, shots=shots, queries=queries, episodes=episodes, seed=seed).to(X.device)
    used, drawn = torch.unique(drawn, return_inverse=True)
    samples = (directions(X) if normalise else X).index_select(0, used)
    points = Frame.of(samples).enter(samples)
    accuracies = torch.cat(
        [
            _accuracies(points, drawn[block, :, :shots], drawn[block, :, shots:])
            for block in row_blocks(episodes, 4 * ways * (queries + 1) * X.shape[1], X.device)
        ]
    ).cpu()
    interval = 1.96 * float(accuracies.std(correction=0)) / episodes**0.5
    return FewShot(float(accuracies.mean()), interval, accuracies)


def draw_episodes(y: Tensor, *, ways: int, shots: int, queries: int, episodes: int, seed: int) -> Tensor:
    """(episodes, ways, shots + queries) distinct samples of distinct classes, on the CPU; shots come first.

    Every choice of classes, and of samples of each, is equally likely. Samples are drawn by Floyd's method (Bentley &
    Floyd 1987) for all episodes at once: for j = m − s … m − 1, take a random t ≤ j, or j itself if t is already taken.
    These are s steps for any number m of samples of a class; s random keys then order them.
    """
    if min(ways, shots, queries, episodes) < 1 or ways < 2:
        raise UserError("episodes need at least 2 classes, 1 shot and 1 query, and there must be at least 1 episode")
    labels, count = y.cpu(), shots + queries
    sizes = torch.bincount(labels)
    enough = torch.where(sizes >= count)[0]
    if len(enough) < ways:
        raise UserError(
            f"{ways}-way {shots}-shot episodes with {queries} queries need {ways} classes of {count} samples; "
            f"{len(enough)} of {int((sizes > 0).sum())} classes have as many"
        )
    generator = Generator().manual_seed(seed)
    classes = enough[torch.rand(episodes, len(enough), generator=generator).argsort(dim=1)[:, :ways]]
    last = sizes[classes] - count
    uniform = torch.rand(count, episodes, ways, generator=generator, dtype=torch.float64)
    places = torch.full((episodes, ways, count), -1)
    for step in range(count):
        place = (uniform[step] * (last + step + 1)).long()
        taken = (places == place[..., None]).any(dim=2)
        places[..., step] = torch.where(taken, last + step, place)
    shuffled = places.gather(2, torch.rand(places.shape, generator=generator).argsort(dim=2))
    firsts = sizes.cumsum(dim=0) - sizes
    return labels.argsort(stable=True)[firsts[classes][..., None] + shuffled]


def _accuracies(points: Tensor, shots: Tensor, queries: Tensor) -> Tensor:
    """(e,) share of correct queries in e episodes with the given (e, ways, …) indices.

    The nearest centroid has the largest q·c − ½‖c‖².
    """
    episodes, ways, count = queries.shape
    means = embedding_bag(shots.flatten(0, 1), points, mode="mean").view(episodes, ways, -1)
    samples = points.index_select(0, queries.flatten()).view(episodes, ways * count, -1)
    scores = samples @ means.mT - means.square().sum(dim=2)[:, None] / 2
    if not bool(scores.isfinite().all()):
        raise UserError("distances to centroids are not finite numbers; scale the features")
    right = scores.argmax(dim=2).view(queries.shape) == torch.arange(ways, device=points.device)[:, None]
    return right.double().mean(dim=(1, 2))
