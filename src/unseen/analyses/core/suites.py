"""Means of suites (`unseen.papers.suites`): over groups and over all of their data sets, if a backbone has them all.

A mean over fewer data sets than a suite has is not given, since it is no number that another paper could print.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unseen.data.registry import DATASETS
from unseen.errors import UserError
from unseen.papers.comparability import OTHER_DATA, Code, compare, published_domain
from unseen.papers.concept_generalization import LEVELS
from unseen.papers.suites import SUITES, Suite
from unseen.runs.data import RunData
from unseen.runs.record import read_record
from unseen.runs.score import Score
from unseen.studies.study_file import studies_in
from unseen.studies.toml import read_study
from unseen.text.words import joined

TOP1 = "top1"
COG = "cog-v2"
"""The levels of suites."""
OTHER_IMAGES: frozenset[Code] = OTHER_DATA | {"part", "other-variant"}
"""Why images of a level are not those of the suite."""


@dataclass(frozen=True)
class SuiteScores:
    """The scores of backbones on the data sets of a suite, by one probe with the same shots.

    Attributes:
        values: backbone → data set → mean over seeds.
        partial: data sets that are there only in part, by a limit of images, or have other images than in the suite.
    """

    suite: Suite
    probe: str
    shots: int | None
    protocol: str
    values: Mapping[str, Mapping[str, float]]
    partial: Sequence[str] = ()

    @property
    def present(self) -> list[str]:
        """The data sets of the suite on which some backbone has a score, in its order."""
        return [name for name in self.suite.datasets if any(name in of for of in self.values.values())]

    @property
    def missing(self) -> list[str]:
        """The data sets on which no backbone has a score."""
        return [name for name in self.suite.datasets if name not in self.present]

    def mean(self, backbone: str, datasets: Sequence[str] = ()) -> float | None:
        """The mean over some data sets, by default over all of the suite; None if one is lacking or partial."""
        of, names = self.values[backbone], datasets or self.suite.datasets
        if not all(name in of and name not in self.partial for name in names):
            return None
        return float(np.mean([of[name] for name in names]))

    def groups(self, backbone: str) -> dict[str, float | None]:
        """Group → its mean."""
        return {title: self.mean(backbone, names) for title, names in self.suite.groups.items()}

    def mean_of_groups(self, backbone: str) -> float | None:
        """The mean of the means of groups, in which small groups have the same weight; None if one is lacking."""
        means = [each for each in self.groups(backbone).values() if each is not None]
        return float(np.mean(means)) if means and len(means) == len(self.suite.groups) else None


def suite_scores(suite: Suite, data: RunData) -> list[SuiteScores]:
    """The scores of a run on a suite, one for each probe and number of shots."""
    partial = partial_datasets(suite, data)
    cells = dict[tuple[str, int | None, str], dict[str, dict[str, list[float]]]]()
    for score in _main_scores(data.scores, {*suite.datasets}):
        of = cells.setdefault((score.probe, score.shots, score.protocol), {}).setdefault(score.backbone, {})
        of.setdefault(score.domain, []).append(score.value)
    return [
        SuiteScores(
            suite, *key,
            {name: {dataset: float(np.mean(of)) for dataset, of in own.items()} for name, own in cells[key].items()},
            partial,
        )
        for key in cells
    ]  # fmt: skip


def suites_of(folders: Sequence[Path]) -> set[str]:
    """The suites whose studies runs are based on; files of studies that cannot be read are named elsewhere."""
    found = set[str]()
    for path in (path for folder in folders for path in studies_in(folder)):
        with suppress(UserError):
            found.add(read_study(path).based_on)
    return found & SUITES.keys()


def may_have_suites(folders: Sequence[Path]) -> bool:
    """Whether runs ask for a suite, or have data sets of the names of a whole one; their results are not read."""
    names = {domain.name for folder in folders for domain in read_record(folder)[0].domains}
    whole = any({*suite.datasets} <= names for suite in SUITES.values())
    return whole or any(names & {*SUITES[name].datasets} for name in suites_of(folders))


def part_notices(folders: Sequence[Path], data: RunData) -> list[str]:
    """Sentences about suites that runs ask for and have in part only: a mean over their data sets is not the suite's.

    Args:
        data: the runs in the folders, merged.
    """
    asked, titles = suites_of(folders), {each.name: each.title for each in data.domains}
    found = (lacking_of(each, titles) for name in SUITES if name in asked for each in suite_scores(SUITES[name], data))
    return [f"{text}." for text in dict.fromkeys(found) if text]


def lacking_of(scores: SuiteScores, titles: Mapping[str, str]) -> str:
    """What a mean of the suite lacks, in words; empty if nothing."""
    suite, partial = scores.suite, [name for name in scores.present if name in scores.partial]
    if not scores.present or not (scores.missing or partial):
        return ""
    parts = []
    for names, what in ((scores.missing, "missing"), (partial, "other images, or another number of them")):
        if names:
            parts.append(f"{what}: {joined([title_in(suite, name, titles) for name in names])}")
    some = f", {len(partial)} of them with other images" if partial else ""
    are = "is" if len(scores.present) == 1 else "are"
    return (
        f"{len(scores.present)} of the {len(suite.datasets)} data sets of {suite.title} {are} here{some}, so there is "
        f"no mean of the suite; {'; '.join(parts)}"
    )


def title_in(suite: Suite, name: str, titles: Mapping[str, str]) -> str:
    """The title of a data set where its suite is named."""
    known = DATASETS[name].title if name in DATASETS else name.upper() if name in LEVELS else name
    return titles.get(name, known).removesuffix(f" ({suite.title})")


def partial_datasets(suite: Suite, data: RunData) -> list[str]:
    """The data sets of a suite of which a run has other images, or another number of them, than the suite."""
    limited = {each.name for each in data.domains if each.limit is not None}
    for each in data.scored:
        known = DATASETS.get(each.domain)
        expected = known.parts if known is not None else {}
        if sum(expected.values()) and each.images and sum(expected.values()) != sum(each.images.values()):
            limited.add(each.domain)
    limited |= {each.name for each in data.domains if each.name in LEVELS and not _is_published_level(each.name, data)}
    return [name for name in suite.datasets if name in limited]


def _is_published_level(level: str, data: RunData) -> bool:
    """Whether all scores on a level are on the concepts and images of ImageNet-CoG."""
    runs = [run for _, run in data.parts if any(each.name == level for each in run.domains)] or [data]
    scored = [compare(each, published_domain(COG, level)) for each in data.scored if each.domain == level]
    reasons = {reason.code for verdict in scored for reason in verdict.reasons}
    return all(run.published == COG for run in runs) and bool(scored) and not reasons & OTHER_IMAGES


def _main_scores(scores: Iterable[Score], datasets: Container[str]) -> list[Score]:
    """The scores by a data set's own metric, or by top-1 accuracy where a probe does not give it."""
    own = [score for score in scores if score.domain in datasets and not score.published]
    best = {(score.probe, score.domain) for score in own if score.metric == _metric(score.domain)}
    return [
        score
        for score in own
        if score.metric == (_metric(score.domain) if (score.probe, score.domain) in best else TOP1)
    ]


def _metric(dataset: str) -> str:
    return DATASETS[dataset].metric if dataset in DATASETS else TOP1
