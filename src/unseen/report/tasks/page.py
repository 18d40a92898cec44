"""The report of a task study: one HTML file that needs nothing else."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from unseen.files import atomic_write
from unseen.papers import TABLES
from unseen.papers.transfer import LINEAR, SOURCE, task_setting
from unseen.report.core.render import render
from unseen.report.tasks.imagenet import imagenet_sections, imagenet_tables
from unseen.report.tasks.sections import COLOURS, PUBLISHED, SELF_SUPERVISED, task_sections
from unseen.report.tasks.tables import task_tables
from unseen.studies.tasks.page_data import OTHER, TaskPage
from unseen.words import duration

SHEETS = ("page.css", "tasks.css")
SCRIPTS = ("plots.js", "sections.js", "look.js", "tasks.js")
LEAST_AXES = 3
"""Settings that a radar chart needs to be a figure with an inside."""


@dataclass(frozen=True)
class Radar:
    """The ranks of one backbone: a spoke for each setting, the best rank at the rim.

    Attributes:
        heights: how many of the others are behind it, as a share: 1 is the best of all.
        texts: the rank in words.
    """

    name: str
    colour: int
    strong: bool
    spokes: Sequence[str]
    heights: Sequence[float]
    texts: Sequence[str]


def write_task_page(page: TaskPage, path: Path) -> None:
    """Write the page; the same data give the same bytes. Names from the data are only ever text in it."""
    sections, radars = [*task_sections(page), *imagenet_sections(page)], rank_radars(page)
    content = render(
        "tasks.html.j2",
        sheets=SHEETS,
        scripts=SCRIPTS,
        filters={"duration": duration},
        values={
            "page": page,
            "sections": sections,
            "tables": [*task_tables(page), *imagenet_tables(page)],
            "radars": radars,
            "findings": findings(page),
            "source": TABLES[SOURCE],
            # The scripts of the report look for rows of scores; the tables here are plain.
            "payload": {
                "rows": [],
                "sections": [asdict(section) for section in sections],
                "radars": [asdict(radar) for radar in radars],
            },
        },
    )
    with atomic_write(path) as file:
        file.write(content.encode(errors="replace"))


def findings(page: TaskPage) -> list[str]:
    """What a reader should know first: how well the probes do, and where the backbones stand among the paper's.

    The average is over the paper's data sets; others are named with their scores.
    """
    others = {dataset.name for dataset in page.datasets if dataset.family == OTHER}
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    sentences = []
    for name in page.backbones:
        linear = {s.domain: s.value for s in page.scores if s.backbone == name and task_setting(s) == LINEAR}
        own = {dataset: value for dataset, value in linear.items() if dataset not in others}
        if own:
            best, worst = max(own, key=own.__getitem__), min(own, key=own.__getitem__)
            spread = f", from {100 * own[worst]:.1f}% ({titles[worst]}) to {100 * own[best]:.1f}% ({titles[best]})"
            sentences.append(
                f"{name}: linear probes get {100 * np.mean(list(own.values())):.1f}% on average over {len(own)} of the "
                f"paper's data sets{spread if len(own) > 1 else f' ({titles[best]})'}."
            )
        beside = [f"{100 * linear[dataset]:.1f}% on {titles[dataset]}" for dataset in linear if dataset in others]
        if beside:
            sentences.append(f"{name}, linear probes on data sets that are not the paper's: {', '.join(beside)}.")
        places = [
            f"{page.ranks[average.setting][name]} of {len(average.values)} in {average.title} "
            f"({', '.join(titles.get(dataset, dataset) for dataset in average.datasets)})"
            for average in page.averages
            if average.datasets and name in average.values and len(average.values) > len(page.backbones)
        ]
        if places:
            sentences.append(f"Among the paper's models, {name} ranks {', '.join(places)}.")
    return sentences


def rank_radars(page: TaskPage) -> list[Radar]:
    """A radar for the run's backbones and each published model, over the settings it has (the paper's Fig. 7).

    Settings that only one backbone has tell nothing of ranks, and calibration is not in the paper's figure.
    """
    compared = [average for average in page.averages if len(average.values) > 1 and average.higher_is_better]
    names = dict.fromkeys([*page.backbones, *(name for average in compared for name in average.values)])
    found = []
    for number, name in enumerate(names):
        own = [average for average in compared if name in average.values]
        if len(own) < LEAST_AXES:
            continue
        ranks = [(page.ranks[average.setting][name], len(average.values)) for average in own]
        yours = name in page.backbones
        found.append(
            Radar(
                name=name,
                colour=number % COLOURS if yours else PUBLISHED.get(name, SELF_SUPERVISED)[1],
                strong=yours,
                spokes=[average.title for average in own],
                heights=[(of - rank) / (of - 1) for rank, of in ranks],
                texts=[f"{average.title}: {rank} of {of}" for average, (rank, of) in zip(own, ranks, strict=True)],
            )
        )
    return found
