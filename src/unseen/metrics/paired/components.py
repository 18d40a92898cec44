"""What a paired difference varies with: concepts, images of a concept, seeds, and combinations of these.

The difference of the hits of two backbones on an image i of concept j under seed s is modelled as

    d = mean + concept_j + image_i + seed_s + (concept × seed)_js + rest_is.

The variances are estimated by equating the mean squares of a pilot with what they are expected to be (the analysis of
variance method; Searle, Casella and McCulloch 1992, §5), at least 0. Concepts may differ in their numbers of images.
"""

from dataclasses import dataclass

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


def components(differences: Floats, concepts: NDArray[np.integer] | None = None) -> Components:
    """The variance components of a pilot.

    Args:
        differences: (S, N) hits of the first backbone minus those of the second, in {−1, 0, 1}.
        concepts: (N,) concept of each image, at least two, of which one has at least two images; None if the classes
            are fixed, as those of tasks and shifts are, and images are the sample.
    """
    matrix = np.asarray(differences, dtype=np.float64)
    if matrix.ndim != 2:
        raise UserError(f"differences have one row per seed and one column per image, not shape {matrix.shape}")
    sums, images = squares(matrix), matrix.shape[1]
    if concepts is None:
        of_images, of_seeds, rest = (float(one) for one in sums.mean_squares)
        if sums.seeds == 1:
            return Components(of_images, None, None)
        return Components(_positive(of_images - rest) / sums.seeds, rest, _positive(of_seeds - rest) / images)
    if np.shape(concepts) != (images,):
        raise UserError(f"{images} images need one concept each, not {np.shape(concepts)}")
    return _of_concepts(matrix, np.asarray(concepts))


def _of_concepts(matrix: Floats, concepts: NDArray[np.integer]) -> Components:
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
        return Components(float(image), None, None, _positive(concept - image) / size, None)
    seed = images * ((of_seed - mean) ** 2).sum() / (seeds - 1)
    crossed = by_seed - of_concept - (of_seed - mean)[:, None]
    concept_seed = (counts * crossed**2).sum() / ((number - 1) * (seeds - 1))
    within = matrix - of_image - by_seed[:, place] + of_concept[place]
    rest = float((within**2).sum() / ((images - number) * (seeds - 1)))
    of_both = (concept_seed - rest) / size
    # E[seed] = rest + (Σn²/N)·concept_seed + N·seed; E[concept] = rest + S·image + n₀·concept_seed + S·n₀·concept.
    return Components(
        image=_positive(image - rest) / seeds,
        rest=rest,
        seed=_positive(seed - rest - (counts**2).sum() / images * _positive(of_both)) / images,
        concept=_positive(concept - image - size * _positive(of_both)) / (seeds * size),
        concept_seed=_positive(of_both),
    )


def _positive(variance: float) -> float:
    return max(0.0, float(variance))
