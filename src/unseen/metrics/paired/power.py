"""How many test images, concepts or seeds would resolve a difference between two backbones.

From the variance components of a pilot, the variance of the mean difference of a design of C concepts with n images
each and S seeds is predicted as

    concept/C + image/(C·n) + seed/S + concept_seed/(C·S) + rest/(C·n·S),

and without the first and fourth parts, and with n images in all, where classes are fixed. A study finds its own mean
squares, which vary by chance, and with them its error and its degrees of freedom: the power is the mean over them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from unseen.errors import UserError
from unseen.metrics.paired.components import Components
from unseen.metrics.paired.crossed import Squares
from unseen.metrics.paired.estimate import quantile
from unseen.metrics.resampling import Floats

Part = Literal["images", "concepts", "seeds"]
MOST = 10_000_000
"""Numbers of images, concepts or seeds beyond this are not planned."""
TRIED = 120
"""Numbers that are tried at first, in equal ratios up to `MOST`; the smallest is then found by bisection."""
UNIT_POINTS, SEED_POINTS = 9, 101
"""Points of the distributions of both mean squares."""


@dataclass(frozen=True)
class Design:
    """The size of a study.

    Attributes:
        images: test images per concept, or in all if classes are fixed.
        concepts: None if classes are fixed.
    """

    images: int
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


@dataclass(frozen=True)
class _Parts:
    """The variance of a mean difference: of units, of seeds, and of the rest."""

    units: float
    seeds: float
    rest: float


def predicted_variance(parts: Components, design: Design) -> float:
    """Variance of the mean difference; about one fit of each backbone if the design has one seed."""
    of = _of_design(parts, design)
    return of.units + of.seeds + of.rest


def planned_power(parts: Components, design: Design, difference: float, *, level: float = 0.95) -> float:
    """The probability that a study of this size resolves a true difference: that its interval excludes 0."""
    return float(_power(_half_widths(parts, design, level), predicted_variance(parts, design), difference))


def detectable_difference(parts: Components, design: Design, *, power: float = 0.8, level: float = 0.95) -> float:
    """The smallest true difference that a study of this size resolves with this probability."""
    from scipy.optimize import brentq

    _check_power(power, level)
    half, variance = _half_widths(parts, design, level), predicted_variance(parts, design)
    if variance == 0:
        return 0.0
    most = float(half.max()) + 10 * float(np.sqrt(variance))
    return float(brentq(lambda difference: _power(half, variance, difference) - power, 0, most))


def curve(
    parts: Components, design: Design, part: Part, numbers: Sequence[int], *, power: float = 0.8, level: float = 0.95
) -> Floats:
    """`detectable_difference` for each number of images, concepts or seeds, all else as in the design.

    With few seeds it may rise again: the more units there are, the more of the error is that of seeds, which is known
    with S − 1 degrees of freedom.
    """
    designs = [replace(design, **{part: number}) for number in numbers]
    return np.array([detectable_difference(parts, each, power=power, level=level) for each in designs])


def needed(parts: Components, difference: float, design: Design, *, power: float = 0.8, level: float = 0.95) -> Needed:
    """How many images, concepts or seeds, each alone, would resolve a true difference.

    Args:
        difference: the true difference in accuracy, not 0.
        design: the size of the pilot, the other numbers of which are kept.
        power: probability of resolving it.
    """
    _check_power(power, level)
    if not np.isfinite(difference) or difference == 0:
        raise UserError("a study is planned for a difference other than 0; choose the smallest one that matters")

    def enough(part: Part, number: int) -> bool:
        return planned_power(parts, replace(design, **{part: number}), difference, level=level) >= power

    def smallest(part: Part) -> int | None:
        first = 1 if part == "images" and design.concepts is not None else 2
        numbers = np.unique(np.rint(np.geomspace(first, MOST, TRIED)).astype(np.int64))
        place = next((place for place, number in enumerate(numbers) if enough(part, int(number))), None)
        if place is None:
            return None
        low, high = int(numbers[max(place - 1, 0)]), int(numbers[place])
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(part, middle) else (middle, high)
        return high

    return Needed(
        images=smallest("images"),
        concepts=smallest("concepts") if design.concepts is not None else None,
        seeds=smallest("seeds") if parts.seed is not None else None,
    )


def _of_design(parts: Components, design: Design) -> _Parts:
    concepts = 1 if design.concepts is None else design.concepts
    if _units(design) < 2 or design.images < 1 or design.seeds < 1:
        raise UserError(f"a study has at least one seed, and at least two images or concepts, not {design}")
    if (design.concepts is None) != (parts.concept is None):
        raise UserError("a design has concepts if those of the pilot are a sample, and none if its classes are fixed")
    images = concepts * design.images
    of_units = parts.image / images + (parts.concept or 0.0) / concepts
    if parts.seed is None or parts.rest is None:
        if design.seeds > 1:
            raise UserError("a pilot with one seed says nothing of further seeds; run it with several")
        return _Parts(of_units, 0.0, 0.0)
    rest = ((parts.concept_seed or 0.0) / concepts + parts.rest / images) / design.seeds
    return _Parts(of_units, parts.seed / design.seeds if design.seeds > 1 else 0.0, rest)


def _half_widths(parts: Components, design: Design, level: float) -> Floats:
    """Half widths of the interval of `crossed`, at points of equal probability of the mean squares it may find."""
    from scipy.special import chdtri

    of, units, seeds = _of_design(parts, design), _units(design), design.seeds

    def points(df: int, number: int) -> Floats:
        return np.asarray(chdtri(df, (np.arange(number) + 0.5) / number))

    own = points(units - 1, UNIT_POINTS)[:, None]
    other = points(seeds - 1, SEED_POINTS) if seeds > 1 else np.zeros(1)
    own, other = np.broadcast_arrays(
        units * seeds * (of.units + of.rest) * own, units * seeds * (of.seeds + of.rest) * other
    )
    rest = np.full_like(own, units * seeds * of.rest * (units - 1) * (seeds - 1))
    error, df = Squares(np.zeros_like(own), own, other, rest, seeds, units).error_and_df()
    return np.asarray(quantile(0.5 + level / 2, df) * error)


def _power(half: Floats, variance: float, difference: float) -> float:
    """The mean probability that a normal estimate is farther from 0 than the half width."""
    from scipy.special import ndtr

    if variance == 0:
        return float(difference != 0)
    spread = np.sqrt(variance)
    return float(np.mean(ndtr((abs(difference) - half) / spread) + ndtr((-abs(difference) - half) / spread)))


def _units(design: Design) -> int:
    return design.images if design.concepts is None else design.concepts


def _check_power(power: float, level: float) -> None:
    if not 0 < 1 - level < power < 1:
        raise UserError(f"the power is a probability between that of a false positive and 1, not {power}")
