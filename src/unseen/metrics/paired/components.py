"""What a paired difference varies with: concepts, images of a concept, seeds, and combinations of these.

The difference of the hits of two backbones on an image i of concept j under seed s is modelled as

    d = mean + concept_j + image_i + seed_s + (concept × seed)_js + rest_is.

The variances are estimated by equating the mean squares of a pilot with what they are expected to be (the analysis of
variance method; Searle, Casella and McCulloch 1992, §5), at least 0 unless they are to be averaged.
Concepts may differ in their numbers of images.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.paired.crossed import squares
from unseen.metrics.paired.units import per_stratum
from unseen.metrics.resampling import Floats


@dataclass(frozen=True)
class Components:
    """Variances of the parts of a difference of hits, in squares of accuracy.

    Attributes:
        image: of one image, within its concept if concepts are a sample.
        rest: of one image under one seed beyond the parts. None with one seed, where it is part of `image`.
        seed: of one seed. None with one seed, where nothing is known of it.
        concept: of one concept; None if the classes are fixed. With one seed, concept × seed is part of it.
        concept_seed: of one concept under one seed; None if the classes are fixed, or with one seed.
    """

    image: float
    rest: float | None
    seed: float | None
    concept: float | None = None
    concept_seed: float | None = None


def components(differences: Floats, concepts: NDArray[np.integer] | None = None, *, clipped: bool = True) -> Components:
    """The variance components of a pilot.

    Args:
        differences: (S, N) hits of the first backbone minus those of the second, in {−1, 0, 1}.
        concepts: (N,) concept of each image, at least two, of which one has at least two images; None if the classes
            are fixed, as those of tasks and shifts are, and images are the sample.
        clipped: whether estimates below 0 count as 0. Those that do not are unbiased, for means over several pairs.
    """
    least = 0.0 if clipped else -np.inf
    matrix = np.asarray(differences, dtype=np.float64)
    if matrix.ndim != 2:
        raise UserError(f"differences have one row per seed and one column per image, not shape {matrix.shape}")
    sums, images = squares(matrix), matrix.shape[1]
    if concepts is None:
        of_images, of_seeds, rest = (float(one) for one in sums.mean_squares)
        if sums.seeds == 1:
            return Components(of_images, None, None)
        return Components(max(least, of_images - rest) / sums.seeds, rest, max(least, of_seeds - rest) / images)
    if np.shape(concepts) != (images,):
        raise UserError(f"{images} images need one concept each, not {np.shape(concepts)}")
    return _of_concepts(matrix, np.asarray(concepts), least)


def mean_components(several: Sequence[Components]) -> Components:
    """The mean of each component; of estimates that were not clipped it is unbiased."""

    def mean(name: str) -> float | None:
        values = [getattr(each, name) for each in several]
        return None if None in values else float(np.mean(values))

    return Components(**{each.name: mean(each.name) for each in fields(Components)})  # type: ignore[arg-type]


def at_least_zero(parts: Components, seeds: int, concepts: int | None) -> Components:
    """Components that were not clipped, at least 0 and with the same variance of the mean difference where possible.

    What concept × seed is below 0 is taken from seeds and concepts, as in `components`.

    Args:
        seeds, concepts: of the pilot; None if classes are fixed.
    """
    values: dict[str, Any] = dict(vars(parts))
    below = min(0.0, parts.concept_seed or 0.0)
    for name, number in (("seed", concepts), ("concept", seeds)):
        if number and values[name] is not None:
            values[name] += below / number
    clipped: dict[str, Any] = {name: None if value is None else max(0.0, value) for name, value in values.items()}
    return Components(**clipped)


def _of_concepts(matrix: Floats, concepts: NDArray[np.integer], least: float) -> Components:
    seeds, images = matrix.shape
    place, counts = np.unique(concepts, return_inverse=True, return_counts=True)[1:]
    number = len(counts)
    if number < 2 or number == images:
        raise UserError("components need at least two concepts, one of which has at least two images")
    by_seed = per_stratum(matrix, place, counts)
    of_concept, of_image, of_seed, mean = by_seed.mean(axis=0), matrix.mean(axis=0), matrix.mean(axis=1), matrix.mean()
    # Expected number of images of a concept in its mean square; all of them if concepts are equally large.
    size = (images - (counts**2).sum() / images) / (number - 1)
    concept = seeds * (counts * (of_concept - mean) ** 2).sum() / (number - 1)
    image = seeds * ((of_image - of_concept[place]) ** 2).sum() / (images - number)
    if seeds == 1:
        return Components(float(image), None, None, max(least, float(concept - image)) / float(size), None)
    seed = images * ((of_seed - mean) ** 2).sum() / (seeds - 1)
    crossed = by_seed - of_concept - (of_seed - mean)[:, None]
    concept_seed = (counts * crossed**2).sum() / ((number - 1) * (seeds - 1))
    within = matrix - of_image - by_seed[:, place] + of_concept[place]
    rest = float((within**2).sum() / ((images - number) * (seeds - 1)))
    of_both = max(least, float(concept_seed - rest) / size)
    # E[seed] = rest + (Σn²/N)·concept_seed + N·seed; E[concept] = rest + S·image + n₀·concept_seed + S·n₀·concept.
    return Components(
        image=max(least, float(image - rest)) / seeds,
        rest=rest,
        seed=max(least, float(seed - rest - (counts**2).sum() / images * of_both)) / images,
        concept=max(least, float(concept - image - size * of_both)) / float(seeds * size),
        concept_seed=of_both,
    )
