"""Two backbones on the same test images of each domain, from the results of runs: paired differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.errors import UserError, did_you_mean
from unseen.jobs.kept_labels import labelled
from unseen.jobs.runner import Result
from unseen.metrics.comparisons import PairedDifference, holm, paired_difference
from unseen.results.score import shots_name
from unseen.studies.run_folder import RESULTS, read_results


@dataclass(frozen=True)
class Comparison:
    """The first backbone minus the second on a domain.

    Attributes:
        seeds: how many both have; images count once for each.
        p_holm: the p-value of the difference, corrected for all domains that were compared (Holm).
    """

    domain: str
    seeds: int
    difference: PairedDifference
    p_holm: float


def compare_backbones(
    folders: Sequence[Path], first: str, second: str, *, shots: int | None = None
) -> list[Comparison]:
    """Compare two backbones on every domain where both have results of the logistic probe with that many shots.

    The runs may be one or several. Seeds that both backbones have are compared with each other, as the same seed draws
    the same samples; which test images are whose is checked by their labels, and by their names if features had them.
    """
    found = _results(folders, shots)
    names = sorted({backbone for backbone, _ in found})
    for name in (first, second):
        if name not in names:
            there = f"; there are {', '.join(names)}" if names else ", nor of any other"
            raise UserError(
                f"no results of '{name}' with {shots_name(shots)} shots{did_you_mean(name, names) or there}"
            )
    domains = [domain for backbone, domain in found if backbone == first and (second, domain) in found]
    if not domains:
        raise UserError(f"{first} and {second} have no domain in common; run both on the same one")
    _refuse_other_protocols([found[name, domain] for name in (first, second) for domain in domains])
    pairs = [(domain, *_paired(found[first, domain], found[second, domain], domain)) for domain in domains]
    corrected = holm(np.array([difference.p_value for _, _, difference in pairs]))
    return [
        Comparison(domain, seeds, difference, float(p))
        for (domain, seeds, difference), p in zip(pairs, corrected, strict=True)
    ]


def comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """A row for each domain: differences as shares, p-values, effect sizes over concepts."""
    rows = [
        {
            "domain": item.domain, "difference": item.difference.accuracy.value,
            "low": item.difference.accuracy.low, "high": item.difference.accuracy.high,
            "p_value": item.difference.p_value, "p_holm": item.p_holm,
            "standardised": item.difference.standardised, "dominance": item.difference.dominance,
            "odds_ratio": item.difference.images.odds_ratio, "concepts": item.difference.concepts, "seeds": item.seeds,
        }
        for item in comparisons
    ]  # fmt: skip
    return pd.DataFrame(rows)


_Of = dict[int, tuple[Path, Result]]


def _results(folders: Sequence[Path], shots: int | None) -> dict[tuple[str, str], _Of]:
    """(backbone, domain) → seed → folder and result of the logistic probe, where it says which images were right."""
    found: dict[tuple[str, str], _Of] = {}
    for folder in folders:
        for result in read_results(folder):
            job = result.job
            if job["job"] == "LogisticJob" and job["shots"] == shots and "correct" in result.values:
                found.setdefault((job["backbone"], job["domain"]), {}).setdefault(job["seed"], (folder, result))
    return found


def _paired(first: _Of, second: _Of, domain: str) -> tuple[int, PairedDifference]:
    """How many seeds two backbones share on a domain, and their difference over those."""
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise UserError(f"{domain}: the two backbones were probed with other seeds; run one with those of the other")
    columns = [
        [labelled(folder / RESULTS, result) for folder, result in (of[seed] for seed in seeds)]
        for of in (first, second)
    ]
    for (labels, _), (others, _) in zip(*columns, strict=True):
        if not labels.same_images(others):
            raise UserError(f"{domain}: the two backbones were tested on other images; extract both from the same ones")
    right = [np.concatenate([correct for _, correct in column]) for column in columns]
    y = np.concatenate([labels.y for labels, _ in columns[0]])
    return len(seeds), paired_difference(right[0], right[1], y)


def _refuse_other_protocols(results: Sequence[_Of]) -> None:
    """Refuse results of probes that were trained in different ways."""
    protocols = [result.job["protocol"] for of in results for _, result in of.values()]
    if any(protocol != protocols[0] for protocol in protocols):
        names = ", ".join(sorted({protocol["name"] for protocol in protocols}))
        raise UserError(f"these results follow different protocols ({names}); compare runs of the same one")
