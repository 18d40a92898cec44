"""How many test images, concepts or seeds would resolve a difference between two backbones.

From the variance components of a pilot, the variance of the mean difference of a design of C concepts with n images
each and S seeds is predicted as

    concept/C + image/(C·n) + seed/S + concept_seed/(C·S) + rest/(C·n·S),

and without the first and fourth parts, and with n images in all, where classes are fixed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from unseen.errors import UserError
from unseen.metrics.paired.components import Components
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.resampling import Floats

Part = Literal["images", "concepts", "seeds"]
MOST = 10_000_000
"""Numbers of images, concepts or seeds beyond this are not planned."""


@dataclass(frozen=True)
class Design:
    """The size of a study.

    Attributes:
        images: test images per concept, or in all if classes are fixed.
        concepts: None if classes are fixed.
    """

    images: float
    seeds: int
    concepts: int | None = None


@dataclass(frozen=True)
class Needed:
    """The smallest number of each that resolves the difference with everything else as in the pilot.

    None where no number does, because what the others leave is too much, or where it does not apply: concepts if
    classes are fixed, seeds if the pilot has one.
    """

    images: int | None
    concepts: int | None
    seeds: int | None


def predicted_variance(parts: Components, design: Design) -> float:
    """Variance of the mean difference."""
    return sum(_of_units_and_seeds(parts, design))


def predicted(parts: Components, design: Design, difference: float = 0.0) -> Estimate:
    """The difference with the error and the degrees of freedom that `crossed` would find on average.

    If the pilot has one seed, it is about one fit of each backbone, like the pilot.
    """
    of_units, of_seeds = _of_units_and_seeds(parts, design)
    units = design.images if design.concepts is None else design.concepts
    variance = of_units + of_seeds
    share = of_seeds / variance if variance else 0.0
    inverse = share / max(design.seeds - 1, 1) + (1 - share) / (units - 1)
    return Estimate(difference, difference, float(np.sqrt(variance)), 1 / inverse)


def needed(parts: Components, difference: float, design: Design, *, power: float = 0.8, level: float = 0.95) -> Needed:
    """How many images, concepts or seeds, each alone, would resolve a true difference.

    A difference is resolved if its interval of this level excludes 0.

    Args:
        difference: the true difference in accuracy, not 0.
        design: the size of the pilot, the other numbers of which are kept.
        power: probability of resolving it.
    """
    target = abs(difference)
    if not np.isfinite(target) or target == 0:
        raise UserError("a study is planned for a difference other than 0; choose the smallest one that matters")

    def smallest(part: Part) -> int | None:
        first = 1 if part == "images" and design.concepts is not None else 2
        numbers = np.unique(np.rint(np.geomspace(first, MOST, 800)).astype(np.int64))
        enough = curve(parts, design, part, numbers.tolist(), power=power, level=level) <= target
        if not enough.any():
            return None
        place = int(enough.argmax())
        low, high = int(numbers[max(place - 1, 0)]), int(numbers[place])
        while high - low > 1:
            middle = (low + high) // 2
            small = curve(parts, design, part, [middle], power=power, level=level)[0] <= target
            low, high = (low, middle) if small else (middle, high)
        return high

    return Needed(
        images=smallest("images"),
        concepts=smallest("concepts") if design.concepts is not None else None,
        seeds=smallest("seeds") if parts.seed is not None else None,
    )


def curve(
    parts: Components,
    design: Design,
    part: Part,
    numbers: Sequence[int],
    *,
    power: float = 0.8,
    level: float = 0.95,
) -> Floats:
    """The smallest detectable difference for each number of images, concepts or seeds.

    With few seeds it may rise again: the more units there are, the more of the error is that of seeds, which is known
    with S − 1 degrees of freedom.
    """
    designs = [replace(design, **{part: number}) for number in numbers]
    return np.array([predicted(parts, each).detectable(power, level) for each in designs])


def _of_units_and_seeds(parts: Components, design: Design) -> tuple[float, float]:
    """The parts of the variance that more units alone would remove, and those in the mean square of seeds."""
    concepts = 1 if design.concepts is None else design.concepts
    units = design.images if design.concepts is None else concepts
    if units < 2 or design.images <= 0 or design.seeds < 1:
        raise UserError(f"a study has at least one seed, and two images or concepts, not {design}")
    if (design.concepts is None) != (parts.concept is None):
        raise UserError("a design has concepts if those of the pilot are a sample, and none if its classes are fixed")
    images = concepts * design.images
    of_units = parts.image / images + (parts.concept or 0.0) / concepts
    if parts.seed is None or parts.rest is None:
        if design.seeds > 1:
            raise UserError("a pilot with one seed says nothing of further seeds; run it with several")
        return of_units, 0.0
    of_rest = (parts.concept_seed or 0.0) / (concepts * design.seeds) + parts.rest / (images * design.seeds)
    if design.seeds == 1:  # about these fits
        return of_units + of_rest, 0.0
    return of_units, parts.seed / design.seeds + of_rest
