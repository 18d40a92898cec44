"""Hits of backbones on test images whose true accuracies and effects are known, for simulations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unseen.metrics.resampling import Floats

ACCURACY = 0.7
OF_CONCEPTS = 0.05
"""Standard deviation over concepts of the difference of two backbones."""
HARD = 0.08
"""Standard deviation over concepts of the accuracy of all backbones."""
LASTING, SHARED = 0.6, 0.6
"""Share of an image's difficulty that is the same under all seeds, and share of this that all backbones have."""


CELLS = 2_000_000
"""Hits in memory at a time."""


@dataclass(frozen=True)
class World:
    """What hits are drawn from.

    Attributes:
        images: of each concept.
        fixed: whether the concepts are fixed classes, so that their effects average to 0 exactly.
    """

    concepts: int
    images: int
    fixed: bool = False

    @property
    def units(self) -> int:
        """Units of the analysis: images if classes are fixed, else concepts."""
        return self.concepts * self.images if self.fixed else self.concepts

    def __str__(self) -> str:
        return f"{self.units:,} images" if self.fixed else f"{self.concepts:,} concepts × {self.images} images"


@dataclass(frozen=True)
class Draws:
    """One draw of images, concepts and seeds, from which hits with any accuracy and effect of seeds follow.

    Attributes:
        latent: (n, B, S, C, m) standard normal; an image is hit where it is below the quantile of the probability.
        of_concepts: (n, B, 1, C) effects on accuracies.
        of_seeds: (n, B, S, 1) standard normal.
    """

    latent: NDArray[np.float32]
    of_concepts: Floats
    of_seeds: Floats

    def hits(self, accuracies: Floats, seed_deviation: float) -> NDArray[np.bool_]:
        """(n, B, S, C, m) hits.

        Args:
            accuracies: (B,) true accuracies.
            seed_deviation: standard deviation over seeds of the difference of two backbones.
        """
        chance = np.asarray(accuracies)[:, None, None] + self.of_concepts
        chance = chance + seed_deviation / np.sqrt(2) * self.of_seeds
        threshold = special.ndtri(np.clip(chance, 1e-6, 1 - 1e-6)).astype(np.float32)
        return np.asarray(self.latent < threshold[..., None])


def draw(rng: np.random.Generator, world: World, *, seeds: int, number: int, backbones: int = 2) -> Draws:
    """Draw images, concepts and seeds `number` times."""

    def normal(*shape: int, share: float) -> NDArray[np.float32]:
        values: NDArray[np.float32] = rng.standard_normal(shape, dtype=np.float32)
        return values * np.float32(np.sqrt(share))

    concepts, images = world.concepts, world.images
    latent = (
        normal(number, 1, 1, concepts, images, share=LASTING * SHARED)
        + normal(number, backbones, 1, concepts, images, share=LASTING * (1 - SHARED))
        + normal(number, backbones, seeds, concepts, images, share=1 - LASTING)
    )
    own = OF_CONCEPTS / np.sqrt(2) * rng.standard_normal((number, backbones, 1, concepts))
    effects = own + HARD * rng.standard_normal((number, 1, 1, concepts))
    if world.fixed:
        effects -= effects.mean(axis=-1, keepdims=True)
    return Draws(latent, effects, rng.standard_normal((number, backbones, seeds, 1)))


def batches(rng: np.random.Generator, world: World, seeds: int, number: int, backbones: int = 2) -> Iterator[Draws]:
    """Draws of all simulations, as many at a time as fit into memory."""
    size = max(1, CELLS // (backbones * seeds * world.concepts * world.images))
    for start in range(0, number, size):
        yield draw(rng, world, seeds=seeds, number=min(size, number - start), backbones=backbones)


def units_of(world: World, hits: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(n, S, U) differences of two backbones on each unit."""
    differences = hits[:, 0].view(np.int8) - hits[:, 1].view(np.int8)
    if world.fixed:
        return differences.reshape(*differences.shape[:2], -1).astype(np.float32)
    return np.asarray(differences.mean(axis=-1, dtype=np.float32))
