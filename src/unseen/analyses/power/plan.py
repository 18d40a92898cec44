"""The plan of a study on one data set with one probe: what it resolves, and what would resolve a given difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unseen.analyses.core.comparable import Place, Unit
from unseen.analyses.power.pilot import Pair, mean_of
from unseen.errors import UserError, argument
from unseen.metrics.catalogue import Metric
from unseen.metrics.paired.components import Components
from unseen.metrics.paired.power import Design, Needed, Part, curve, detectable_difference, needed
from unseen.runs.score import shots_name
from unseen.text.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

SPAN, POINTS = 64, 25
"""A curve goes from a quarter of the study to 64 times its size, through so many numbers."""


class _Noun(NamedTuple):
    singular: str
    plural: str

    def of(self, number: int) -> str:
        return self.singular if number == 1 else self.plural


TEST_IMAGES = _Noun("test image", "test images")
NOUNS: Mapping[Unit, _Noun] = {"classes": _Noun("class", "classes"), "episodes": _Noun("episode", "episodes")}
"""What is counted as `images`, by the unit, if it is not test images."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How large a study on one data set with one probe would have to be.

    Attributes:
        place: the data set, the probe and the shots.
        metric: the score that is compared; `difference` is in its unit, a fraction of 1 if it is a share.
        unit: what another study would draw anew.
        pairs: the pairs of backbones of the pilot.
        design: the size of the study; `images` are units (test images, classes, episodes, or groups of images).
        difference: the smallest true difference that matters.
        power: probability of resolving it.
        images_per_unit: test images of a unit, where units are groups of images.
    """

    place: Place
    metric: Metric
    unit: Unit
    pairs: tuple[Pair, ...]
    design: Design
    difference: float
    power: float = 0.8
    images_per_unit: float = 1.0

    @cached_property
    def parts(self) -> Components:
        """The variance components: their means over pairs."""
        return mean_of(self.pairs).variances

    @cached_property
    def detectable(self) -> float:
        """The smallest difference that this study resolves with this power, for two backbones of the usual variance."""
        return detectable_difference(self.parts, self.design, power=self.power)

    @cached_property
    def range(self) -> tuple[float, float]:
        """`detectable` of the pairs of backbones for which it is the smallest and the largest."""
        low, high = (detectable_difference(parts, self.design, power=self.power) for parts in self._extremes)
        return low, high

    @cached_property
    def needed(self) -> Needed:
        """How many images, concepts or seeds, each alone with the rest as in the study, resolve the difference."""
        return self._needed(self.parts)

    @cached_property
    def needed_range(self) -> tuple[Needed, Needed]:
        """`needed` for the pairs of `range`: plans from small pilots vary widely."""
        return self._needed(self._extremes[0]), self._needed(self._extremes[1])

    def curve(self, part: Part = "images", numbers: Sequence[int] | None = None) -> "pd.DataFrame":
        """What studies of other sizes resolve, for a picture.

        Args:
            part: what is varied: "images" (per concept, or in all), "concepts" or "seeds".
            numbers: the numbers; by default from a quarter of the study to 64 times its size.

        Returns:
            One row per number: `number`, the `difference` that is resolved, and `low` and `high` for the pairs of
            backbones with the smallest and the largest.
        """
        import pandas as pd

        own = getattr(self.design, part)
        if own is None:
            raise UserError(f"{self.place.dataset}: its classes are fixed, so that there is no number of concepts")
        if part == "seeds" and self.parts.seed is None:
            raise UserError("a pilot with one seed says nothing of further seeds; run it with several")
        scale = self.images_per_unit if part == "images" else 1.0
        least = 1 if part == "seeds" or (part == "images" and self.design.concepts is not None) else 2
        if numbers is None:
            first, last = max(least, own / 4), own * SPAN if part != "seeds" else max(own, SPAN)
            units = np.unique(np.rint(np.geomspace(first, last, POINTS)).astype(int))
        else:
            units = np.array([max(least, round(number / scale)) for number in numbers])
        of_each = [curve(each, self.design, part, [*units], power=self.power) for each in (self.parts, *self._extremes)]
        numbers = [round(unit * scale) for unit in units] if numbers is None else numbers
        return pd.DataFrame(dict(zip(("number", "difference", "low", "high"), (numbers, *of_each), strict=True)))

    @property
    def images(self) -> int:
        """Test images per concept, or in all; classes or episodes, where these are the units."""
        return round(self.design.images * self.images_per_unit)

    @property
    def size(self) -> str:
        """The size of the study in words."""
        of_images = f"{self.images:,} {NOUNS.get(self.unit, TEST_IMAGES).of(self.images)}"
        if self.design.concepts is not None:
            of_images = f"{counted(self.design.concepts, 'concept')} × {of_images}"
        return f"{of_images}, {counted(self.design.seeds, 'seed')}"

    @property
    def sentences(self) -> list[str]:
        """The plan in words."""
        shots = "" if self.place.shots is None else f" with {counted(self.place.shots, 'sample')} per class"
        low, high = (self._amount(end) for end in self.range)
        span = f" ({low} to {high}, depending on the pair)" if low != high else ""
        return [
            f"{self.place.dataset}, {self.place.probe}{shots} ({self.size}): differences of "
            f"{self._shown(self.detectable)} are resolved with {100 * self.power:g}% power{span}.",
            self._what_to_do(),
            *self._reservations(),
        ]

    def record(self) -> dict[str, object]:
        """The plan as a row of a table; a number that does not exist is None."""
        low, high = self.needed_range
        numbers = {"images": self.images, "concepts": self.design.concepts, "seeds": self.design.seeds}
        plans = {
            f"{name}_needed{end}": getattr(each, name)
            for name in numbers
            for end, each in (("", self.needed), ("_low", low), ("_high", high))
        }
        return {
            "dataset": self.place.dataset, "probe": self.place.probe, "shots": shots_name(self.place.shots),
            "metric": self.metric.name, "unit": self.unit, **numbers, "pairs": len(self.pairs), "power": self.power,
            "detectable": self.detectable, "detectable_low": self.range[0], "detectable_high": self.range[1],
            "difference": self.difference, **plans, **{f"var_{name}": each for name, each in vars(self.parts).items()},
        }  # fmt: skip

    def _needed(self, parts: Components) -> Needed:
        plan = needed(parts, self.difference, self.design, power=self.power)
        return plan if plan.images is None else replace(plan, images=round(plan.images * self.images_per_unit))

    @cached_property
    def _extremes(self) -> tuple[Components, Components]:
        """The components of the pairs with the smallest and the largest detectable difference."""
        of_pairs = sorted(
            (pair.variances for pair in self.pairs),
            key=lambda parts: detectable_difference(parts, self.design, power=self.power),
        )
        return of_pairs[0], of_pairs[-1]

    @property
    def enough(self) -> list[str]:
        """The numbers that would resolve the difference, each alone, in words such as `about 410 concepts`."""
        numbers = ((noun, getattr(self.needed, part)) for part, noun in self._nouns.items())
        return [f"{_rounded(number)} {noun.of(number)}" for noun, number in numbers if number is not None]

    def _what_to_do(self) -> str:
        """Which numbers would resolve the difference, each alone, and which cannot."""
        able, unable = list[str](), list[str]()
        for part, noun in self._nouns.items():
            number, *ends = (getattr(each, part) for each in (self.needed, *self.needed_range))
            if number is None:
                unable.append(noun.plural)
            else:
                span = f" ({_number(ends[0])} to {_number(ends[1])})" if ends[0] != ends[1] else ""
                able.append(f"{number:,} {noun.of(number)}{span}")
        difference = self._shown(self.difference)
        cannot = f"more {_either(unable)} alone cannot" if unable else ""
        if self.detectable <= self.difference:
            return f"To resolve {difference}, less is enough: {', or '.join(able)}, with the rest as it is."
        if not able:
            sizes = [argument(part) for part in self._nouns]
            return f"To resolve {difference}: {cannot}; combine them ({joined(sizes)})."
        return f"To resolve {difference}: {', or '.join(able)}, with the rest as it is{cannot and '; ' + cannot}."

    @property
    def _nouns(self) -> "dict[Part, _Noun]":
        """What can be varied, in words."""
        noun, nouns = NOUNS.get(self.unit, TEST_IMAGES), dict[Part, _Noun]()
        if self.design.concepts is not None:
            nouns["concepts"] = _Noun("concept", "concepts")
            noun = _Noun("test image per concept", "test images per concept")
        nouns["images"] = noun
        if self.parts.seed is not None:
            nouns["seeds"] = _Noun("seed", "seeds")
        return nouns

    def _reservations(self) -> list[str]:
        if self.parts.seed is None:
            return ["The pilot has one seed, so that this says nothing of what other seeds would change."]
        if self.design.seeds == 1:
            return ["With one seed, a difference is that of these fits only."]
        return []

    def _amount(self, value: float) -> str:
        number = 100 * value if self.metric.unit == "share" else value
        return f"{number:.1f}".removesuffix(".0") if number >= 0.95 else f"{number:.2g}"

    def _shown(self, value: float) -> str:
        unit = {"share": "points", "score": f"of {self.metric.name}"}.get(self.metric.unit, self.metric.unit)
        amount = self._amount(value)
        return f"{amount} {unit.removesuffix('s') if amount == '1' else unit}"


def _rounded(number: int) -> str:
    """A number with two digits if it has more: plans from one run are not more exact."""
    return f"about {float(f'{number:.2g}'):,.0f}" if number >= 100 else str(number)


def _number(number: int | None) -> str:
    return "no number" if number is None else f"{number:,}"


def difference_for(metric: Metric, difference: float, *, points: bool) -> float:
    """A difference in the unit of a metric, checked.

    Args:
        points: whether differences of shares are given in percentage points.
    """
    try:
        number = float(difference)
    except (TypeError, ValueError):
        number = np.nan
    share = metric.unit == "share"
    value = number / 100 if points and share else number
    most = 1.0 if share else np.inf if metric.lower is None or metric.upper is None else metric.upper - metric.lower
    if not 0 < value < most:
        of_shares = "in percentage points, such as 0.5" if points else "a fraction of 1, such as 0.005 for half a point"
        unit = f"in {metric.unit}" if metric.unit != "score" else f"in the unit of {metric.name}"
        end = "" if most == np.inf else f" and below {100 * most if points and share else most:g}"
        raise UserError(f"{argument('difference')} is {of_shares if share else unit}, above 0{end}, not {difference}")
    return value


def _either(words: Sequence[str]) -> str:
    """Words in a sentence: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
