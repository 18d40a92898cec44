"""Two backbones on the same test images: paired differences on every data set, by every probe that both have."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.analyses.core.comparable import Comparable, Place, Unit, difference_of
from unseen.analyses.core.comparables import Comparables, comparables, joined, most_shots
from unseen.data.concepts.domains import SEEN
from unseen.errors import UserError, did_you_mean, look_up
from unseen.metrics.comparisons import McNemar, holm, standardised_mean
from unseen.metrics.paired.crossed import Crossed
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.paired.suites import SuiteMeans, combined, suite_means
from unseen.runs.data import RunData
from unseen.runs.record import read_run
from unseen.runs.score import shots_name
from unseen.runs.setup import Setup, differences

SIGNIFICANT = 0.05
MOST_PAIRS = 8
"""Backbones that are compared with the baseline on a page without being named."""


@dataclass(frozen=True)
class Comparison:
    """The difference of two backbones on a data set by a probe, the first minus the second.

    Attributes:
        p_holm: p-value, corrected for all comparisons of the pair (Holm).
        images: of one fit each, the images that only one of them classifies correctly, with McNemar's exact test.
        standardised: Cohen's d_z over units: mean / sample standard deviation of the differences.
        won: share of units on which the first is better; ties count as half.
    """

    place: Place
    metric: str
    unit: Unit
    difference: Crossed
    p_holm: float
    images: McNemar | None
    standardised: float
    won: float

    @property
    def clear(self) -> bool:
        """Whether the difference is resolved, after the correction."""
        return self.p_holm < SIGNIFICANT

    @property
    def seeds(self) -> int:
        return self.difference.seeds


@dataclass(frozen=True)
class SuiteComparison:
    """The mean difference over several data sets by one probe.

    Attributes:
        suite: what the data sets are, such as levels.
        datasets: those that the mean is over.
    """

    suite: str
    probe: str
    shots: int | None
    metric: str
    datasets: tuple[str, ...]
    means: SuiteMeans


@dataclass(frozen=True)
class Drop:
    """How much less the first backbone loses than the second, from the seen concepts to the last level.

    Of accuracies A, (A₁ − A₂ on the level) − (A₁ − A₂ on the seen concepts), which have other concepts.
    """

    seen: str
    level: str
    estimate: Estimate


@dataclass(frozen=True)
class PairComparison:
    """The comparison of two backbones wherever both have results.

    Attributes:
        requested: whether it was asked for, and is not one of those that every page makes.
    """

    first: str
    second: str
    comparisons: tuple[Comparison, ...]
    suites: tuple[SuiteComparison, ...] = ()
    drop: Drop | None = None
    requested: bool = False


def compare_backbones(
    folders: Sequence[Path],
    first: str,
    second: str,
    *,
    shots: int | None = None,
    probe: str | None = None,
    metric: str | None = None,
) -> PairComparison:
    """Compare two backbones on every data set where both have results with these shots.

    The backbones may be in one run or in several. Common seeds are compared pairwise, since a seed draws the same
    samples for both; that the test images are the same is checked by their labels, and by their names if known. Runs
    that differ in images, splits or levels are refused, and so is a backbone with different results in two runs.

    Args:
        probe: only this probe; by default all.
        metric: compare by this one, which fits keep for each image; by default by the first of each probe.
    """
    runs = [(folder, read_run(folder)) for folder in folders]
    if metric is not None:
        known = {score.metric for _, data in runs for score in data.scores}
        look_up(dict.fromkeys(sorted(known)), metric, "metric", " of these runs")
    parts = [
        comparables(data, shots=_shots([data], shots, probe), backbones=(first, second), metric=metric)
        for _, data in runs
    ]
    _refuse_two_results([folder for folder, _ in runs], parts)
    every = joined(parts)
    names = sorted({backbone for _, data in runs for backbone in _scored(data, shots, probe)})
    for name in (first, second):
        if name not in names:
            there = f"; there are {', '.join(names)}" if names else ", nor of any other"
            raise UserError(
                f"no results of '{name}' with {shots_name(shots)} shots{did_you_mean(name, names) or there}"
            )
    return _compared(every, runs, first, second)


def compare_runs(
    first: tuple[Path, str], second: tuple[Path, str], *, shots: int | None = None, probe: str | None = None
) -> PairComparison:
    """Compare a backbone of one run with one of another, as in `compare_backbones`; their names may be the same.

    Args:
        first, second: folder of the run, and name of the backbone.
    """
    if first[1] != second[1]:
        return compare_backbones([first[0], second[0]], first[1], second[1], shots=shots, probe=probe)
    called, parts, runs = list[str](), list[Comparables](), list[tuple[Path, RunData]]()
    for folder, name in (first, second):
        data, label = read_run(folder), f"{name} of {folder}"
        if name not in _scored(data, shots, probe):
            raise UserError(f"{folder}: no results of '{name}' with {shots_name(shots)} shots")
        found = comparables(data, shots=_shots([data], shots, probe), backbones=(name,))
        parts.append(found.called({name: label}))
        called.append(label)
        runs.append((folder, data))
    return _compared(joined(parts), runs, *called)


def compare_with_baseline(
    every: Comparables, data: RunData, besides: tuple[str, str] | None = None
) -> list[PairComparison]:
    """Each backbone minus the baseline, unless there are too many backbones; those not comparable are skipped.

    Args:
        every: what can be compared in the run.
        data: the run, or several that were merged.
        besides: a pair that was compared already, and is left out.
    """
    done = {*besides} if besides else set[str]()
    names = [b.name for b in data.backbones if b.name != data.baseline and {b.name, data.baseline} != done]
    if len(names) > MOST_PAIRS:
        return []
    pairs = [_pair(every.every, name, data.baseline) for name in names]
    return [pair for pair in pairs if pair.comparisons]


def comparison_table(pair: PairComparison) -> pd.DataFrame:
    """One row per data set and probe, then one per mean over data sets; differences are in the unit of the metric.

    `p_holm` is corrected for all rows of single data sets. With one seed (`these_fits_only`), the interval says nothing
    of other fits. The rows of means have `data sets as fixed` or `data sets as random` as their unit.
    """
    rows = [_row(item) for item in pair.comparisons]
    for suite in pair.suites:
        rows.append(_suite_row(suite, suite.means.over_these, "data sets as fixed"))
        if suite.means.over_others is not None:
            rows.append(_suite_row(suite, suite.means.over_others, "data sets as random"))
    return pd.DataFrame(rows)


def _row(item: Comparison) -> dict[str, object]:
    estimate, images = item.difference, item.images
    return {
        **_where(item.place.dataset, item.place.probe, item.place.shots, item.metric),
        **_estimated(estimate),
        "p_holm": item.p_holm,
        "unit": item.unit,
        "units": estimate.units,
        "seeds": estimate.seeds,
        "these_fits_only": estimate.these_fits_only,
        "standardised": item.standardised,
        "won": item.won,
        "only_first": None if images is None else images.only_first,
        "only_second": None if images is None else images.only_second,
        "p_mcnemar": None if images is None else images.p_value,
    }


def _suite_row(suite: SuiteComparison, estimate: Estimate, unit: str) -> dict[str, object]:
    where = _where(f"mean of {len(suite.datasets)}", suite.probe, suite.shots, suite.metric)
    return {**where, **_estimated(estimate), "unit": unit, "units": len(suite.datasets)}


def _where(dataset: str, probe: str, shots: int | None, metric: str) -> dict[str, object]:
    return {"domain": dataset, "probe": probe, "shots": shots_name(shots), "metric": metric}


def _estimated(estimate: Estimate) -> dict[str, object]:
    interval = estimate.interval()
    return {
        "difference": estimate.value,
        "low": interval.low,
        "high": interval.high,
        "p_value": estimate.p_value,
        "detectable": estimate.detectable(),
    }


def _scored(data: RunData, shots: int | None, probe: str | None) -> set[str]:
    """The backbones with measured scores of these shots."""
    return {
        each.backbone
        for each in data.scores
        if each.key and each.shots == shots and (probe is None or each.probe == probe)
    }


def _shots(runs: Iterable[RunData], shots: int | None, probe: str | None) -> dict[str, int | None]:
    """Probe → the shots to compare with, of the probes that have them."""
    probes = {name for data in runs for name in most_shots(data)}
    return {name: shots for name in probes if probe is None or name == probe}


def _compared(every: Comparables, runs: Sequence[tuple[Path, RunData]], first: str, second: str) -> PairComparison:
    """The comparison of a pair that was asked for: what prevents it is an error."""
    for each in every.left_out:
        if each.backbone in (first, second):
            raise UserError(_not_compared(each.place, each.reason))
    pair = _pair(every.every, first, second)
    if not pair.comparisons:
        raise UserError(_nothing_in_common(every.every, first, second))
    _refuse_other_setups(runs, [item.place.dataset for item in pair.comparisons], {first, second})
    return replace(pair, requested=True)


def _not_compared(place: Place, reason: str) -> str:
    if reason.endswith("run again"):
        return reason
    return f"{place.dataset}: the two backbones were tested on other images ({reason}); extract both from the same ones"


def _nothing_in_common(every: Sequence[Comparable], first: str, second: str) -> str:
    of = [{each.place: each for each in every if name in each.kept} for name in (first, second)]
    for place in of[0]:
        for other in of[1]:
            if (place.dataset, place.probe) == (other.dataset, other.probe) and place.protocol != other.protocol:
                names = ", ".join(sorted({place.protocol, other.protocol}))
                return f"these results follow different protocols ({names}); compare runs of the same one"
    for place in of[0].keys() & of[1].keys():
        of[0][place].difference(first, second)  # says that they have no seed in common
    return f"{first} and {second} have no data set and probe in common; run both on the same one"


def _pair(every: Sequence[Comparable], first: str, second: str) -> PairComparison:
    """Two backbones wherever both have results of a common seed."""
    both = [each for each in every if first in each.kept and second in each.kept and each.seeds_of(first, second)]
    estimates = [each.difference(first, second) for each in both]
    corrected = holm(np.array([each.p_value for each in estimates])) if estimates else ()
    comparisons = tuple(
        _comparison(each, estimate, float(p), first, second)
        for each, estimate, p in zip(both, estimates, corrected, strict=True)
    )
    return PairComparison(first, second, comparisons, tuple(_suites(both, comparisons)), _drop(both, comparisons))


def _comparison(each: Comparable, estimate: Crossed, p_holm: float, first: str, second: str) -> Comparison:
    seeds = each.seeds_of(first, second)
    of_units = (each.rows(first, seeds) - each.rows(second, seeds)).mean(axis=0)
    sign = 1 if each.metric.ranks_high else -1
    return Comparison(
        each.place, each.metric.name, each.unit, estimate, p_holm, each.of_images(first, second),
        standardised_mean(of_units), float((1 + np.sign(sign * of_units).mean()) / 2),
    )  # fmt: skip


def _suites(every: Sequence[Comparable], comparisons: Sequence[Comparison]) -> Iterator[SuiteComparison]:
    """The mean over the data sets of each suite, probe, shots and metric."""
    alike = dict[tuple[str, str, int | None, str], list[Comparison]]()
    for each, item in zip(every, comparisons, strict=True):
        if each.suite:
            alike.setdefault((each.suite, item.place.probe, item.place.shots, item.metric), []).append(item)
    for (suite, probe, shots, metric), of in alike.items():
        if len(of) > 1:
            datasets = tuple(item.place.dataset for item in of)
            means = suite_means([item.difference for item in of])
            yield SuiteComparison(suite, probe, shots, metric, datasets, means)


def _drop(every: Sequence[Comparable], comparisons: Sequence[Comparison]) -> Drop | None:
    """The drop by the first probe that was fitted on the seen concepts and on a level."""
    start = next((item for each, item in zip(every, comparisons, strict=True) if each.seen), None)
    if start is None:
        return None
    levels = [
        item
        for each, item in zip(every, comparisons, strict=True)
        if each.suite and replace(item.place, dataset="") == replace(start.place, dataset="")
    ]
    if not levels:
        return None
    change = combined([levels[-1].difference, start.difference], [1, -1])
    return Drop(start.place.dataset, levels[-1].place.dataset, change)


def _refuse_two_results(folders: Sequence[Path], parts: Sequence[Comparables]) -> None:
    """Refuse a backbone with two results of one seed that are not the same."""
    for (one, first), (other, second) in combinations(zip(folders, parts, strict=True), 2):
        seconds = {each.place: each for each in second.every}
        for each in first.every:
            twice = seconds.get(each.place)
            for name in each.kept.keys() & (twice.kept.keys() if twice else set()):
                for seed in each.kept[name].keys() & seconds[each.place].kept[name].keys():
                    own, again = each.kept[name][seed], seconds[each.place].kept[name][seed]
                    if difference_of(own, again) or dict(own.scores) != dict(again.scores):
                        raise UserError(
                            f"{one} and {other} both have {name} on {each.place.dataset} with seed {seed}, from other "
                            "features or made in another way; give the one that is meant"
                        )


def _refuse_other_setups(runs: Sequence[tuple[Path, RunData]], datasets: Sequence[str], names: set[str]) -> None:
    """Refuse runs that were trained or tested on other images of a data set, as far as they record it.

    The weights and the preprocessing of a backbone must be the same in all its runs.
    """
    for dataset in dict.fromkeys(datasets):
        setups = [(folder, _setup(data, dataset, names)) for folder, data in runs]
        for (one, first), (other, second) in combinations(setups, 2):
            for each in differences(first, second):
                raise UserError(
                    f"{dataset}: {one} and {other} differ in the {each.field} ({each.first}, not {each.second}), so "
                    "that their backbones cannot be compared; run both on the same images"
                )


def _setup(data: RunData, dataset: str, names: set[str]) -> Setup:
    """Everything that determines the training and test images of a data set, and the backbones of these names."""
    whole = data.setup
    images = [each for each in whole.images if each.domain == dataset]
    pooled = any(each.pool for each in images) or (not images and dataset != SEEN)
    return replace(
        Setup(images=images, extractions={name: of for name, of in whole.extractions.items() if name in names}),
        levels=whole.levels if pooled else None,
        splits=whole.splits if pooled else None,
    )
