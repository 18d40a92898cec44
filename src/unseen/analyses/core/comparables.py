"""What can be compared in a run, or in several that were merged: data sets, probes and shots with their backbones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from unseen.analyses.core.comparable import Comparable, Place, same_images, unit_of
from unseen.errors import UserError
from unseen.runs.data import RunData
from unseen.runs.kept_labels import read_labels
from unseen.runs.kept_units import KeptUnits, ReadImages, kept_units, result_behind, why_no_units
from unseen.runs.random_draws import RANDOM
from unseen.runs.score import Score

Kept = dict[str, dict[int, KeptUnits]]
"""Backbone → seed → what the fit keeps."""


@dataclass(frozen=True)
class LeftOut:
    """A backbone that is not compared on a data set, and why."""

    place: Place
    backbone: str
    reason: str


@dataclass(frozen=True)
class Comparables:
    """What can be compared.

    Attributes:
        every: data sets in the order of the run, and for each the probes and shots.
        left_out: backbones that are not compared, such as those tested on other images.
    """

    every: tuple[Comparable, ...]
    left_out: tuple[LeftOut, ...] = ()

    def of(self, dataset: str, probe: str, shots: int | None, protocol: str | None = None) -> Comparable | None:
        """What is comparable on a data set by a probe with these shots, by default under any protocol."""
        for each in self.every:
            place = each.place
            own = Place(dataset, probe, shots, place.protocol if protocol is None else protocol)
            if place == own:
                return each
        return None


def most_shots(data: RunData) -> dict[str, int | None]:
    """Probe → the most shots that it was fitted with, where None is all samples."""
    numbers = dict[str, set[int | None]]()
    for score in measured(data):
        numbers.setdefault(score.probe, set()).add(score.shots)
    return {
        probe: None if None in of else max(number for number in of if number is not None)
        for probe, of in numbers.items()
    }


def comparables(
    data: RunData, *, shots: Mapping[str, int | None] | None = None, backbones: Sequence[str] | None = None
) -> Comparables:
    """What can be compared in a run.

    Args:
        shots: probe → the shots to compare with; by default the most of each probe. Other probes are left out.
        backbones: only these; by default all.
    """
    wanted = most_shots(data) if shots is None else shots
    scores = [
        score
        for score in measured(data)
        if score.probe in wanted
        and score.shots == wanted[score.probe]
        and (backbones is None or score.backbone in backbones)
    ]
    kept, left_out, images_at = dict[Place, Kept](), list[LeftOut](), cache(read_labels)
    for (place, backbone), of in _by_fit(scores).items():
        try:
            kept.setdefault(place, {})[backbone] = {seed: _kept(data, score, images_at) for seed, score in of.items()}
        except UserError as error:
            left_out.append(LeftOut(place, backbone, str(error)))
    axes = {domain.name: domain.axis for domain in data.domains}
    every = list[Comparable]()
    for place, by_backbone in kept.items():
        for name, differ in list(same_images(by_backbone)):
            left_out.append(LeftOut(place, name, differ))
            del by_backbone[name]
        first = next((units for of in by_backbone.values() for units in of.values()), None)
        if first is not None and first.scores:
            metric = data.metrics[next(iter(first.scores))]
            unit = unit_of(first, concepts=axes.get(place.dataset) == "concepts")
            every.append(Comparable(place, metric, unit, by_backbone))
    order = {domain.name: number for number, domain in enumerate(data.domains)}
    return Comparables(
        tuple(sorted(every, key=lambda each: order.get(each.place.dataset, len(order)))), tuple(left_out)
    )


def measured(data: RunData) -> Iterator[Score]:
    """The scores that were measured; random sets are on different concepts, so that their units are no sample."""
    return (score for score in data.scores if not score.published and score.key and score.domain != RANDOM)


def _by_fit(scores: Sequence[Score]) -> dict[tuple[Place, str], dict[int, Score]]:
    """(place, backbone) → seed → one of the scores of the fit."""
    fits = dict[tuple[Place, str], dict[int, Score]]()
    for score in scores:
        place = Place(score.domain, score.probe, score.shots, score.protocol)
        fits.setdefault((place, score.backbone), {}).setdefault(score.seed, score)
    return fits


def _kept(data: RunData, score: Score, images_at: ReadImages) -> KeptUnits:
    """What the fit of a score keeps."""
    behind = result_behind(data, score)
    if behind is None:
        raise UserError(f"{score.key}.json: the result behind a score is missing; run again")
    units = next((each for each in kept_units(*behind, images_at) if each.variant == score.probe), None)
    if units is None:
        raise UserError(why_no_units(behind[1]))
    return units
