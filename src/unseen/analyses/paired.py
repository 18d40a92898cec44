"""Two backbones on the same test images of each domain, from the results of runs: paired differences."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.data.concepts.domains import SEEN
from unseen.errors import UserError, did_you_mean
from unseen.metrics.comparisons import PairedDifference, holm, paired_counts, paired_difference
from unseen.probes.by_name.logistic import Logistic
from unseen.runs.data import ConceptHits, RunData
from unseen.runs.kept_labels import labelled
from unseen.runs.record import read_with_results
from unseen.runs.results import RESULTS, Result
from unseen.runs.score import shots_name
from unseen.runs.setup import Setup, differences

ENOUGH_SEEDS = 10
"""With fewer seeds, intervals are too narrow if a seed shifts all concepts together."""
SIGNIFICANT = 0.05
MOST_PAIRS = 8
"""Backbones that are compared with the baseline without being asked: each takes a second or two."""


@dataclass(frozen=True)
class PairTest:
    """The test of two backbones on a domain.

    Attributes:
        seeds: number of seeds that both have.
        p_holm: p-value of the difference, corrected for all compared domains (Holm).
    """

    domain: str
    seeds: int
    p_holm: float

    @property
    def clear(self) -> bool:
        """Whether the difference is called clear, and a backbone better than the other, wherever a page says so."""
        return self.p_holm < SIGNIFICANT

    @property
    def few_seeds(self) -> bool:
        """Whether there are too few seeds to show how much other seeds would change all concepts at once."""
        return self.seeds < ENOUGH_SEEDS


@dataclass(frozen=True)
class Comparison(PairTest):
    """The difference of two backbones on a domain, the first minus the second."""

    difference: PairedDifference


@dataclass(frozen=True)
class PairComparison:
    """The comparison of two backbones on every common domain, with a number of shots; None for all samples."""

    first: str
    second: str
    shots: int | None
    domains: tuple[Comparison, ...]


def compare_backbones(
    folders: Sequence[Path], first: str, second: str, *, shots: int | None = None
) -> list[Comparison]:
    """Compare two backbones on every domain where both have results of the logistic probe with these shots.

    The backbones may be in one run or in several. Common seeds are compared pairwise, since a seed draws the same
    samples for both; that the test images are the same is checked by their labels, and by their names if known. Runs
    that differ in images, splits or levels are refused, and so is a backbone with different results in two runs.
    Intervals and p-values are over concepts and, if there are several, seeds.
    """
    return _compared(_results(folders, shots, (first, second)), first, second, shots)


def compare_runs(first: tuple[Path, str], second: tuple[Path, str], *, shots: int | None = None) -> list[Comparison]:
    """Compare a backbone of one run with one of another, as in `compare_backbones`; their names may be the same.

    Args:
        first, second: folder of the run, and name of the backbone.
    """
    of = [_of_backbone(_results([folder], shots, (name,)), name, shots) for folder, name in (first, second)]
    called = [name if first[1] != second[1] else f"{name} of {folder}" for folder, name in (first, second)]
    return _domain_by_domain(of[0], of[1], (called[0], called[1]))


def compare_with_baseline(
    folders: Sequence[Path], data: RunData, besides: PairComparison | None = None
) -> list[PairComparison]:
    """Each backbone minus the baseline, with the most samples of the run, unless there are too many backbones.

    Args:
        data: the runs in `folders`, merged.
        besides: a pair that was compared already, and is left out.
    """
    shots = [score.shots for score in data.scores if score.probe == "logistic" and score.metric == "top1"]
    done = {besides.first, besides.second} if besides else set[str]()
    names = [b.name for b in data.backbones if b.name != data.baseline and {b.name, data.baseline} != done]
    if not shots or not 0 < len(names) <= MOST_PAIRS:
        return []
    most = None if None in shots else max(number for number in shots if number is not None)
    return _compare_with(folders, data.baseline, names, most)


def pair_tests(hits: Iterable[ConceptHits], first: str, second: str, shots: str) -> list[PairTest]:
    """The tests of `compare_backbones` from numbers of correct images per concept, on every domain that has them.

    Domains on which the backbones have no common seed, or other concepts or numbers of images, are left out.
    """
    found: dict[str, dict[tuple[str, int], ConceptHits]] = {}
    for each in hits:
        if each.shots == shots and each.backbone in (first, second):
            found.setdefault(each.domain, {})[each.backbone, each.seed] = each
    tests = []
    for domain, cells in found.items():
        seeds = sorted({seed for _, seed in cells if (first, seed) in cells and (second, seed) in cells})
        pairs = [(cells[first, seed], cells[second, seed]) for seed in seeds]
        if len({(each.concepts, each.images) for pair in pairs for each in pair}) != 1 or len(pairs[0][0].concepts) < 2:
            continue
        sums = np.array([np.subtract(one.correct, other.correct) for one, other in pairs], dtype=np.float64)
        tests.append((domain, len(seeds), paired_counts(sums, np.array(pairs[0][0].images, dtype=np.float64))[1]))
    corrected = holm(np.array([p for *_, p in tests])) if tests else ()
    return [PairTest(domain, seeds, float(p)) for (domain, seeds, _), p in zip(tests, corrected, strict=True)]


def _compare_with(
    folders: Sequence[Path], baseline: str, names: Sequence[str], shots: int | None
) -> list[PairComparison]:
    """Each backbone minus the baseline, as in `compare_backbones`; backbones that cannot be compared are skipped."""
    try:
        found = _results(folders, shots, (*names, baseline))
    except UserError:
        return []
    pairs = []
    for name in names:
        try:
            pairs.append(PairComparison(name, baseline, shots, tuple(_compared(found, name, baseline, shots))))
        except UserError:  # other images, other seeds or no results
            continue
    return pairs


def _compared(found: Mapping[tuple[str, str], "_Of"], first: str, second: str, shots: int | None) -> list[Comparison]:
    return _domain_by_domain(_of_backbone(found, first, shots), _of_backbone(found, second, shots), (first, second))


def _of_backbone(found: Mapping[tuple[str, str], "_Of"], name: str, shots: int | None) -> dict[str, "_Of"]:
    """Domain → the results of a backbone."""
    names = sorted({backbone for backbone, _ in found})
    if name not in names:
        there = f"; there are {', '.join(names)}" if names else ", nor of any other"
        hint = did_you_mean(name, names) or there
        raise UserError(f"no results of the logistic probe of '{name}' with {shots_name(shots)} shots{hint}")
    return {domain: of for (backbone, domain), of in found.items() if backbone == name}


def _domain_by_domain(
    first: Mapping[str, "_Of"], second: Mapping[str, "_Of"], called: tuple[str, str]
) -> list[Comparison]:
    """The differences of two backbones on every domain that both have.

    Args:
        called: their names in error messages.
    """
    domains = [domain for domain in first if domain in second]
    if not domains:
        raise UserError(f"{called[0]} and {called[1]} have no domain in common; run both on the same one")
    _refuse_other_protocols([of[domain] for of in (first, second) for domain in domains])
    pairs = [(domain, *_paired(first[domain], second[domain], domain)) for domain in domains]
    corrected = holm(np.array([difference.p_value for _, _, difference in pairs]))
    return [
        Comparison(domain, seeds, float(p), difference)
        for (domain, seeds, difference), p in zip(pairs, corrected, strict=True)
    ]


def comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row per domain: differences as fractions, p-values, effect sizes over concepts.

    Where `few_seeds` is true, intervals and p-values may be too small, since there are fewer than ten seeds.
    """
    rows = [
        {
            "domain": item.domain, "difference": item.difference.accuracy.value,
            "low": item.difference.accuracy.low, "high": item.difference.accuracy.high,
            "p_value": item.difference.p_value, "p_holm": item.p_holm,
            "standardised": item.difference.standardised, "dominance": item.difference.dominance,
            "odds_ratio": item.difference.images.odds_ratio, "concepts": item.difference.concepts, "seeds": item.seeds,
            "few_seeds": item.few_seeds,
        }
        for item in comparisons
    ]  # fmt: skip
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Found:
    """A result of the logistic probe, the folder of its run, and the record of the run."""

    folder: Path
    result: Result
    run: RunData

    @property
    def setup(self) -> Setup:
        """Everything that determines its backbone, and the training and test images of its domain."""
        whole, job = self.run.setup, self.result.job
        images = [each for each in whole.images if each.domain == job["dataset"]]
        own = {name: each for name, each in whole.extractions.items() if name == job["backbone"]}
        pooled = any(each.pool for each in images) or (not images and job["dataset"] != SEEN)
        return Setup(
            levels=whole.levels if pooled else None,
            splits=whole.splits if pooled else None,
            images=images,
            extractions=own,
        )


_Of = dict[int, _Found]


def _results(folders: Sequence[Path], shots: int | None, wanted: Collection[str]) -> dict[tuple[str, str], _Of]:
    """(backbone, domain) → seed → result, for results that store which images are classified correctly.

    Two results of a requested backbone that differ in their settings are refused.
    """
    found: dict[tuple[str, str], _Of] = {}
    for folder in folders:
        run, results = read_with_results(folder)
        for result in results:
            job = result.job
            number, seed = result.setting
            if not result.is_of(Logistic.name) or number != shots or "correct" not in result.details:
                continue
            name, domain = job["backbone"], job["dataset"]
            own = _Found(folder, result, run)
            first = found.setdefault((name, domain), {}).setdefault(seed, own)
            if name in wanted and first.result.key != result.key:
                raise UserError(
                    f"{first.folder} and {folder} both have {name} on {domain} with seed {seed}, from other features "
                    f"or made in another way; give the one that is meant"
                )
    return found


def _paired(first: _Of, second: _Of, domain: str) -> tuple[int, PairedDifference]:
    """The number of common seeds of two backbones on a domain, and their difference over these."""
    _refuse_other_images(domain, [[*first.values()], [*second.values()]])
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise UserError(f"{domain}: the two backbones were probed with other seeds; run one with those of the other")
    columns = [
        [labelled(found.folder / RESULTS, found.result) for found in (of[seed] for seed in seeds)]
        for of in (first, second)
    ]
    tested = columns[0][0][0]
    for labels, _ in (*columns[0], *columns[1]):
        if differ := labels.difference(tested):
            raise UserError(
                f"{domain}: the two backbones were tested on other images ({differ}); extract both from the same ones"
            )
    right = [np.stack([correct for _, correct in column]) for column in columns]
    return len(seeds), paired_difference(right[0], right[1], tested.labels)


def _refuse_other_images(domain: str, backbones: Sequence[Sequence[_Found]]) -> None:
    """Refuse runs that were trained or tested on other images of a domain, as far as they record it.

    The weights and the preprocessing of a backbone must be the same in all its runs.

    Args:
        backbones: the results of each backbone; two may have the same name in different runs.
    """
    runs = {(place, *_whose(found)): found for place, of in enumerate(backbones) for found in of}
    for ((one, *_), first), ((other, *_), second) in combinations(runs.items(), 2):
        setups = [found.setup if one == other else replace(found.setup, extractions={}) for found in (first, second)]
        for each in differences(setups[0], setups[1]):
            raise UserError(
                f"{domain}: {first.folder} and {second.folder} differ in the {each.field} ({each.first}, not "
                f"{each.second}), so that their backbones cannot be compared; run both on the same images"
            )


def _whose(found: _Found) -> tuple[Path, str]:
    return found.folder, str(found.result.job["backbone"])


def _refuse_other_protocols(results: Sequence[_Of]) -> None:
    """Refuse results of different protocols."""
    protocols = [found.result.job["settings"]["protocol"] for of in results for found in of.values()]
    if any(protocol != protocols[0] for protocol in protocols):
        names = ", ".join(sorted({protocol["name"] for protocol in protocols}))
        raise UserError(f"these results follow different protocols ({names}); compare runs of the same one")
