"""The page of a run of the task study, or of several that were merged."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unseen.metrics.catalogue import METRICS
from unseen.papers.dense_settings import METRIC_TITLES, is_headline, text_with_unit
from unseen.papers.transfer import LINEAR, task_setting
from unseen.report.concepts.rows import METRICS as METRIC_WORDS
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.report.core.render import write_page
from unseen.studies.tasks.dense_page import DenseTask
from unseen.studies.tasks.page_data import OTHER, TaskPage
from unseen.words import counted


def write_task_page(page: TaskPage, path: Path) -> None:
    """Write the page of a run."""
    write_page(task_page(page), path)


def task_page(page: TaskPage) -> Page:
    """The page of a run."""
    return Page(
        title=page.title,
        sections=build_sections("tasks", page),
        facts=[
            page.protocol,
            counted(len(page.backbones), "backbone"),
            counted(len(page.datasets) + len(page.dense), "data set"),
        ],
        notices=page.notices,
        findings=findings(page),
        backbones=[Backbone(name) for name in page.backbones],
        beside_published=True,
    )


def findings(page: TaskPage) -> list[str]:
    """What a reader should know first: how well the probes do, and where the backbones stand among the paper's.

    The average is over the paper's data sets; others are named with their scores.
    """
    others = {dataset.name for dataset in page.datasets if dataset.family == OTHER}
    titles = {dataset.name: dataset.title for dataset in page.datasets} | {task.name: task.title for task in page.dense}
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
            if average.datasets
            and name in average.values
            and len(average.values) > len(page.backbones)
            and is_headline(average.setting)
        ]
        if places:
            sentences.append(f"Among the paper's models, {name} ranks {', '.join(places)}.")
    return (
        sentences
        + [
            f"{each.backbone}, fine-tuned on {each.title}: {100 * each.scores[0].value:.2f}% "
            f"{METRIC_WORDS.get(each.metric, each.metric)}."
            for each in page.tuned
        ]
        + [sentence for task in page.dense for sentence in _dense_findings(task)]
    )


def _dense_findings(task: DenseTask) -> Iterator[str]:
    """The score that counts most of every backbone, the best first."""
    for probe in task.probes:
        first = [result.scores[0] for result in probe.results]
        order = sorted(first, key=lambda s: s.value, reverse=METRICS[first[0].metric].higher_is_better)
        found = ", ".join(f"{score.backbone} {text_with_unit(score.metric, score.value)}" for score in order)
        yield f"{task.title}, {probe.title} ({METRIC_TITLES[first[0].metric]}): {found}."
