"""Plans from a pilot run: for every data set and probe, how large a study would resolve a difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.analyses.core.comparable import Comparable, Place, Unit
from unseen.analyses.core.comparables import Comparables, comparables, most_shots
from unseen.analyses.power.pilot import Pair, design_of, images_of, mean_of, pairs_of
from unseen.analyses.power.plan import Plan, difference_for
from unseen.errors import UserError, argument, look_up
from unseen.metrics.catalogue import Metric
from unseen.metrics.paired.power import Design
from unseen.runs.data import RunData
from unseen.runs.record import read_run
from unseen.runs.score import shots_name
from unseen.text.notebook import table_html
from unseen.text.words import counted

if TYPE_CHECKING:
    import pandas as pd


WIDE = 2.0
"""Ratio of the detectable differences of two pairs from which on the mean over pairs says little of either."""


@dataclass(frozen=True)
class Request:
    """What is planned.

    Attributes:
        difference: the smallest true difference that matters, in the unit of the metric.
        points: whether differences of shares are in percentage points.
        power: probability of resolving it.
        datasets, probes: only these; None for all.
        images, concepts, seeds: the size of the study; None for that of the pilot.
    """

    difference: float
    points: bool = False
    power: float = 0.8
    datasets: Sequence[str] | None = None
    probes: Sequence[str] | None = None
    images: int | None = None
    concepts: int | None = None
    seeds: int | None = None

    def __post_init__(self) -> None:
        for name in ("images", "concepts", "seeds"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
                raise UserError(f"{argument(name)} is a whole number of at least 1, not {number}")

    def plan(
        self, place: Place, metric: Metric, unit: Unit, pairs: tuple[Pair, ...], design: Design, scale: float = 1.0
    ) -> Plan:
        """The plan of one data set and probe.

        Args:
            design: the size of the study where no other was given.
            scale: test images of a unit.
        """
        if self.concepts is not None and design.concepts is None:
            raise UserError(f"{place.dataset}: its classes are fixed; leave out {argument('concepts')}")
        if not any(vars(mean_of(pairs).variances).values()):
            raise UserError(f"{place.dataset}: the backbones have the same results on every test image; compare others")
        images = design.images if self.images is None else round(self.images / scale)
        design = Design(images, self.seeds or design.seeds, self.concepts or design.concepts)
        difference = difference_for(metric, self.difference, points=self.points)
        plan = Plan(place, metric, unit, pairs, design, difference, self.power, scale)
        assert plan.detectable > 0  # computed here, so that designs without a plan are refused here
        return plan


@dataclass(frozen=True, repr=False)
class Plans:
    """Plans for several data sets and probes.

    Attributes:
        every: one per data set and probe.
        source: what the variance components are from, in a sentence.
        averaged: whether each is from several pairs of backbones of a run.
        left_out: sentences about what could not be planned.
    """

    every: tuple[Plan, ...]
    source: str
    left_out: tuple[str, ...] = ()
    averaged: bool = False

    @property
    def wide(self) -> bool:
        """Whether one pair of backbones of a run needs differences more than `WIDE` times those of another."""
        return self.averaged and any(plan.range[1] > WIDE * plan.range[0] for plan in self.every)

    def to_frame(self) -> "pd.DataFrame":
        """One row per data set and probe, with shares as fractions.

        `images`, `concepts` and `seeds` are the size of the study and `detectable` what it resolves; `…_needed` are the
        numbers that resolve `difference`, each alone, and missing where no number does; `…_low` and `…_high` are the
        same for the pairs of backbones with the smallest and the largest variance; `var_…` are variance components.
        """
        import pandas as pd

        table = pd.DataFrame([plan.record() for plan in self.every])
        whole = [name for name in table if "_needed" in name or name == "concepts"]
        return table.astype(dict.fromkeys(whole, "Int64") | {n: "float64" for n in table if n.startswith("var_")})

    def __repr__(self) -> str:
        return f"Plans({counted(len(self.every), 'plan')}: {' '.join(self.every[0].sentences[:2])})"

    def _repr_html_(self) -> str:
        return table_html(self.source, self.to_frame())


def plan_from_run(
    folder: Path, request: Request, *, backbones: Sequence[str] | None = None, shots: tuple[int | None] | None = None
) -> Plans:
    """Plans from a pilot run.

    Args:
        backbones: the two that are compared; None for the mean over all pairs.
        shots: training samples per class, in a tuple; None for the most of each probe.
    """
    data = read_run(folder)
    names = {each.name: each for each in data.backbones}
    for name in backbones or ():
        look_up(names, name, "backbone", f" in {folder}")
    within = _comparables(folder, data, request, backbones, shots)
    for each in within.every:
        difference_for(each.metric, request.difference, points=request.points)
    plans, refused = list[Plan](), list[str]()
    for each in within.every:
        try:
            plans.append(_plan(each, request, backbones))
        except UserError as error:
            refused.append(str(error))
    left_out = [*refused, *(f"{each.place.dataset}, {each.backbone}: {each.reason}" for each in within.left_out)]
    if not plans:
        raise UserError(left_out[0] if left_out else f"{folder}: no results to plan from; run more of its jobs")
    among = f"{backbones[0]} and {backbones[1]}" if backbones else "the mean over pairs of backbones"
    return Plans(tuple(plans), f"Planned from {folder}, for {among}.", tuple(left_out), backbones is None)


def plan_between(comparable: Comparable, first: str, second: str) -> Plan | None:
    """What would resolve the present difference of two backbones; None where nothing can be said."""
    difference = abs(comparable.difference(first, second).value)
    try:
        return _plan(comparable, Request(difference), (first, second))
    except UserError:  # they have the same results, or no number is enough for a plan
        return None


def _plan(comparable: Comparable, request: Request, backbones: Sequence[str] | None) -> Plan:
    if backbones is not None and (absent := [name for name in backbones if name not in comparable.backbones]):
        raise UserError(f"{comparable.place.dataset}: no results of {' and '.join(absent)} to plan from")
    pairs = pairs_of(comparable, backbones)
    design = design_of(comparable, pairs[0].seeds)
    scale = images_of(comparable) / design.images if comparable.unit == "groups of images" else 1.0
    return request.plan(comparable.place, comparable.metric, comparable.unit, pairs, design, scale)


def _comparables(
    folder: Path, data: RunData, request: Request, backbones: Sequence[str] | None, shots: tuple[int | None] | None
) -> Comparables:
    """What can be compared of what is asked for; unknown data sets, probes and shots are refused."""
    if len(data.backbones) < 2:
        raise UserError(f"{folder}: a run of one backbone; a plan needs the results of two on the same test images")
    numbers = most_shots(data)
    for name in request.probes or ():
        if not any(is_fit_of(name, fit) for fit in numbers):
            look_up(numbers, name, "probe", f" in {folder}")
    if shots is not None:
        numbers = {score.probe: shots[0] for score in data.scores if score.shots == shots[0] and not score.published}
        if not numbers:
            known = {score.shots or inf: shots_name(score.shots) for score in data.scores if not score.published}
            names = ", ".join(known[each] for each in sorted(known))
            raise UserError(f"{folder}: no results with {shots_name(shots[0])} shots; there are {names}")
    wanted = {
        fit: most
        for fit, most in numbers.items()
        if request.probes is None or any(is_fit_of(name, fit) for name in request.probes)
    }
    domains = dict.fromkeys(score.domain for score in data.scores if not score.published)
    for name in request.datasets or ():
        look_up(domains, name, "data set", f" in {folder}")
    result = comparables(data, shots=wanted, backbones=backbones)
    if request.datasets is None:
        return result
    return Comparables(
        tuple(each for each in result.every if each.place.dataset in request.datasets),
        tuple(each for each in result.left_out if each.place.dataset in request.datasets),
    )


def is_fit_of(probe: str, fit: str) -> bool:
    """Whether a fit of scores, such as `knn-20`, is of a probe."""
    return fit == probe or fit.startswith(f"{probe}-")
