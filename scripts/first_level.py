"""Why is L1 harder than L2 in the demo? Are its concepts hard to recognise, or do they look like one another?

    python scripts/first_level.py RUN

RUN is the folder that `unseen demo` wrote. Every concept is classified among the 45 of its level, and then among 45
drawn at random from all unseen concepts. If L1 is still as far below L2, its concepts are hard; if the distance
shrinks, they resemble one another. The classifier is linear discriminant analysis, which is fast enough for 125
random sets.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.features.readers import read_features
from unseen.studies.stored_features import DOMAIN_SPLITS, FEATURES, find_features

Floats = NDArray[np.float64]
Samples = tuple[Floats, Floats]
"""(80, d) training and (20, d) test features of a concept, of unit length."""
LEVELS = ("l1", "l2", "l3", "l4", "l5")
CLASSES = 45
DRAWS = 25
SHRINKAGE = 0.1


def concepts_of(run: Path, backbone: str, level: str) -> list[Samples]:
    """The concepts of a level, from the features of a backbone."""
    places, parts = find_features(run / FEATURES, level, DOMAIN_SPLITS, [backbone])[backbone], []
    for split in ("train", "test"):
        features = read_features(places[split].path)
        X = np.asarray(features.X, dtype=np.float64)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        parts.append([X[np.asarray(features.y) == number] for number in range(CLASSES)])
    return list(zip(*parts, strict=True))


def accuracies(concepts: Sequence[Samples]) -> Floats:
    """(concepts,) the share of test images of each that is classified correctly among all of them."""
    means = np.stack([train.mean(axis=0) for train, _ in concepts])
    rest = np.concatenate([train - mean for (train, _), mean in zip(concepts, means, strict=True)])
    covariance = rest.T @ rest / len(rest)
    covariance += SHRINKAGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    weights = np.linalg.solve(covariance, means.T)
    bias = -0.5 * (means * weights.T).sum(axis=1)
    return np.array([((test @ weights + bias).argmax(axis=1) == k).mean() for k, (_, test) in enumerate(concepts)])


def among_random(concepts: Sequence[Samples], rng: np.random.Generator) -> Floats:
    """(concepts,) the same among others drawn at random, a mean over `DRAWS` draws."""
    total = np.zeros(len(concepts))
    for _ in range(DRAWS):
        for chosen in rng.permutation(len(concepts)).reshape(-1, CLASSES):
            total[chosen] += accuracies([concepts[number] for number in chosen])
    return total / DRAWS


def main(run: Path) -> None:
    """Print how far L1 is below L2, in points, with 95% intervals over concepts."""
    for backbone in ("supervised", "simclr", "pixels"):
        rng = np.random.default_rng(0)
        levels = [concepts_of(run, backbone, level) for level in LEVELS]
        own = [accuracies(level) for level in levels[:2]]
        mixed = among_random([concept for level in levels for concept in level], rng).reshape(len(LEVELS), -1)[:2]
        for name, (first, second) in (("of its level", own), ("at random", mixed)):
            picks = rng.integers(0, CLASSES, (2, 4000, CLASSES))
            low, high = np.quantile(second[picks[1]].mean(axis=1) - first[picks[0]].mean(axis=1), [0.025, 0.975])
            value = second.mean() - first.mean()
            print(
                f"{backbone}, among concepts {name}: L2 − L1 = {100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
