"""The section about a suite: the scores on its data sets, and the means that its paper prints."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from unseen.analyses.core.suites import SuiteScores, lacking_of, suite_scores, suites_of, title_in
from unseen.papers.suites import SUITES, Suite
from unseen.report.core.metric_words import probe_words
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.runs.data import RunData
from unseen.runs.score import shots_name
from unseen.text.words import counted

MOST_SENTENCES = 3
"""Backbones whose means are in words; the table has all."""


def suite_sections(folders: Sequence[Path], data: RunData) -> list[Section]:
    """A section for each suite that a run has whole, or that one of its studies asks for.

    Args:
        data: the runs in the folders, merged.
    """
    asked = suites_of(folders)
    sections = []
    for name, suite in SUITES.items():
        found = [each for each in suite_scores(suite, data) if each.present]
        if found and (name in asked or any(_is_whole(each) for each in found)):
            sections.append(_section(suite, found, {each.name: each.title for each in data.domains}))
    return sections


def _is_whole(scores: SuiteScores) -> bool:
    return any(scores.mean(name) is not None for name in scores.values)


def _section(suite: Suite, found: Sequence[SuiteScores], titles: Mapping[str, str]) -> Section:
    sentences = [text for each in found for text in _sentences(each, titles)]
    note = f"{suite.citation} Means have no intervals here; where backbones are compared, differences have them."
    tables = [_table(number, each, titles) for number, each in enumerate(found, 1)]
    return Section(
        f"suite-{suite.name}", suite.title, [*dict.fromkeys(sentences)], note=note, tables=tables, menu=suite.title
    )


def _sentences(scores: SuiteScores, titles: Mapping[str, str]) -> Iterator[str]:
    lacking = lacking_of(scores, titles)
    if lacking:
        yield f"{lacking} ({_probe(scores)})."
    whole = {name: mean for name in scores.values if (mean := scores.mean(name)) is not None}
    for name, mean in list(whole.items())[:MOST_SENTENCES]:
        groups, over = scores.mean_of_groups(name), f"over the {len(scores.suite.datasets)} data sets"
        also = (
            "" if groups is None else f", and {100 * groups:.1f}% over the means of {len(scores.suite.groups)} groups"
        )
        yield f"{scores.suite.title}, {_probe(scores)}: {name} has a mean of {100 * mean:.1f}% {over}{also}."


def _probe(scores: SuiteScores) -> str:
    shots = "" if scores.shots is None else f", {counted(scores.shots, 'shot')}"
    return f"{probe_words(scores.probe)}{shots}"


def _table(number: int, scores: SuiteScores, titles: Mapping[str, str]) -> Table:
    suite = scores.suite
    titled = {name: title_in(suite, name, titles) for name in suite.datasets}
    columns = [
        Column("Backbone", number=False, names=("backbone",)),
        *(Column(f"{title}", f"mean of {len(names)}", names=(title.lower(),)) for title, names in suite.groups.items()),
        *([Column("Mean of groups", f"of {len(suite.groups)}", names=("mean-of-groups",))] if suite.groups else []),
        Column("Mean of data sets", f"of {len(suite.datasets)}", names=("mean-of-datasets",)),
        *(Column(titled[name], names=(name,)) for name in suite.datasets),
    ]
    rows = [Row([*_cells(scores, name)], backbone=name) for name in scores.values]
    caption = f"{suite.title}: {_probe(scores)}, {shots_name(scores.shots)} shots, percent"
    return Table(f"suite-{suite.name}-{number}", columns, rows, caption=caption, sortable=True)


def _cells(scores: SuiteScores, backbone: str) -> Iterator[Cell]:
    yield Cell(backbone, (backbone,), style="model", look=True)
    means = [*scores.groups(backbone).values()]
    if scores.suite.groups:
        means.append(scores.mean_of_groups(backbone))
    for mean in [*means, scores.mean(backbone)]:
        yield _cell(mean, "main", "a mean over fewer data sets is not the suite’s")
    for name in scores.suite.datasets:
        reason = "not all of its images" if name in scores.partial else "no score"
        yield _cell(scores.values[backbone].get(name), "faint" if name in scores.partial else "", reason)


def _cell(value: float | None, style: str, reason: str) -> Cell:
    return Cell("–", about=reason) if value is None else Cell(f"{100 * value:.1f}", (value,), style=style)
