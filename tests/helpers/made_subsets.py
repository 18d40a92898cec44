"""Hits of models on a test set, with or without images on which better models are worse."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class MadeHits:
    """(n, m) hits, (m,) ID accuracies in logits, the group of each model, and (n,) which images are planted."""

    hits: NDArray[np.bool_]
    ability: NDArray[np.float64]
    groups: list[str]
    planted: NDArray[np.bool_]


def made_hits(
    seed: int, *, images: int = 600, models: int = 48, groups: int = 3, planted: float = 0.1, related: bool = True
) -> MadeHits:
    """Item responses with two parameters for each image, and what models of a group share.

    Args:
        planted: share of the images on which ability lowers the chance to be right.
        related: whether hits depend on ability at all.
    """
    rng = np.random.default_rng([seed, 7])
    group = np.arange(models) % groups
    skill = rng.normal(size=models) + 0.7 * rng.normal(size=groups)[group]
    slopes = np.abs(rng.normal(1, 0.4, images))
    chosen = np.arange(images) < round(planted * images)
    slopes[chosen] *= -1
    latent = np.outer(slopes if related else 0 * slopes, skill) - rng.normal(size=(images, 1))
    latent += 0.5 * rng.normal(size=(images, groups))[:, group] + 0.5 * rng.normal(size=(images, models))
    hits = rng.random((images, models)) < 1 / (1 + np.exp(-latent))
    return MadeHits(hits, skill + 0.3 * rng.normal(size=models), [f"group {one}" for one in group], chosen)
