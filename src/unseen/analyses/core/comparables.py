"""What can be compared in a run, or in several that were merged: data sets, probes and shots with their backbones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from unseen.analyses.core.comparable import Comparable, Place, other_images, unit_of
from unseen.errors import UserError
from unseen.runs.data import Domain, RunData
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

    def called(self, names: Mapping[str, str]) -> "Comparables":
        """With other names of backbones."""
        return Comparables(
            tuple(
                replace(each, kept={names.get(name, name): of for name, of in each.kept.items()}) for each in self.every
            ),
            tuple(replace(each, backbone=names.get(each.backbone, each.backbone)) for each in self.left_out),
        )

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
    data: RunData,
    *,
    shots: Mapping[str, int | None] | None = None,
    backbones: Sequence[str] | None = None,
    metric: str | None = None,
) -> Comparables:
    """What can be compared in a run.

    Args:
        shots: probe → the shots to compare with; by default the most of each probe. Other probes are left out.
        backbones: only these; by default all.
        metric: compare by this one; by default by the first of each probe.
    """
    wanted = most_shots(data) if shots is None else shots
    # A difference in a metric without a better direction does not say which backbone is better.
    aside = {name for name, metric in data.metrics.items() if metric.higher_is_better is None}
    scores = [
        score
        for score in measured(data)
        if score.metric not in aside
        and score.probe in wanted
        and score.shots == wanted[score.probe]
        and (backbones is None or score.backbone in backbones)
        and metric in {None, score.metric}
    ]
    kept, left_out, images_at = dict[Place, Kept](), list[LeftOut](), cache(read_labels)
    for (place, backbone), of in _by_fit(scores).items():
        try:
            kept.setdefault(place, {})[backbone] = {seed: _kept(data, score, images_at) for seed, score in of.items()}
        except UserError as error:
            left_out.append(LeftOut(place, backbone, str(error)))
    domains = {domain.name: domain for domain in data.domains}
    every = list[Comparable]()
    for place, by_backbone in kept.items():
        left_out += _without_other_images(place, by_backbone)
        first = next((units for of in by_backbone.values() for units in of.values()), None)
        if first is not None and first.scores:
            compared = data.metrics[next(iter(first.scores)) if metric is None else metric]
            domain = domains.get(place.dataset)
            unit = unit_of(first, concepts=domain is not None and domain.axis == "concepts")
            seen = domain is not None and domain.seen
            every.append(Comparable(place, compared, unit, by_backbone, _suite(domain), seen))
    order = {domain.name: number for number, domain in enumerate(data.domains)}
    return Comparables(
        tuple(sorted(every, key=lambda each: order.get(each.place.dataset, len(order)))), tuple(left_out)
    )


def _suite(domain: Domain | None) -> str:
    """The suite that a data set belongs to: unseen levels, tasks, or shifted test sets."""
    if domain is None or domain.seen or (domain.axis == "shifts" and not domain.shifted):
        return ""
    return {"concepts": "levels", "tasks": "data sets", "shifts": "shifted test sets", "probe": "data sets"}[
        domain.axis
    ]


def joined(parts: Sequence[Comparables]) -> Comparables:
    """What can be compared in several runs together; of two results of one seed, the first is used."""
    first, kept = dict[Place, Comparable](), dict[Place, Kept]()
    for each in (each for part in parts for each in part.every):
        first.setdefault(each.place, each)
        for name, of in each.kept.items():
            own = kept.setdefault(each.place, {}).setdefault(name, {})
            own.update({seed: units for seed, units in of.items() if seed not in own})
    left_out = [each for part in parts for each in part.left_out]
    for place, by_backbone in kept.items():
        left_out += _without_other_images(place, by_backbone)
    every = tuple(replace(first[place], kept=by_backbone) for place, by_backbone in kept.items())
    return Comparables(every, tuple(left_out))


def _without_other_images(place: Place, kept: Kept) -> list[LeftOut]:
    """Remove the backbones that were not tested on the images of the first one."""
    others = [*other_images(kept)]
    for name, _ in others:
        del kept[name]
    return [LeftOut(place, name, differ) for name, differ in others]


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
