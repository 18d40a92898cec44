"""The page of one run of the task study, or of several merged runs."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from pathlib import Path
from statistics import fmean

import numpy as np

from unseen.analyses.tasks.data import OTHER
from unseen.metrics.catalogue import METRICS
from unseen.papers.dense_settings import METRIC_TITLES, is_headline, text_with_unit
from unseen.papers.transfer import FINETUNED, LINEAR, task_setting
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.report.core.render import write_page
from unseen.report.tasks.dense_data import DenseTask
from unseen.report.tasks.image_parts import image_findings
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.tables import MANY_SHOT, compared_images, leader, paired_winner
from unseen.runs.score import Score
from unseen.runs.seed_means import seeds_text
from unseen.text.words import counted, joined

MOST_NAMED = 3
"""Data sets that a sentence of the findings names; more are only counted."""
MOST_SCORES = 4000
"""Scores of the shown backbones; each takes about 1 KB with its figures."""
FEWEST_BACKBONES = 50


def write_task_page(page: TaskPage, path: Path) -> None:
    """Write the page of a run."""
    write_page(task_page(page), path)


def task_page(page: TaskPage) -> Page:
    """The page of a run; a large run is shown with some of its backbones."""
    whole, page = page, shown_part(page)
    return Page(
        title=page.title,
        sections=build_sections("tasks", page),
        facts=[
            page.protocol,
            counted(len(whole.backbones), "backbone"),
            *([counted(sets, "data set")] if (sets := len(page.datasets) + len(page.dense)) else []),
            *_pictures(page),
        ],
        notices=page.notices,
        findings=findings(page),
        backbones=[Backbone(name) for name in page.backbones],
        beside_published=True,
    )


def findings(page: TaskPage) -> list[str]:
    """The scores of the probes, and the ranks of the backbones among the paper's models.

    The average is over the paper's data sets; scores on other data sets are listed.
    """
    others = {dataset.name for dataset in page.datasets if dataset.family == OTHER}
    titles = {dataset.name: dataset.title for dataset in page.datasets} | {task.name: task.title for task in page.dense}
    sentences = list[str]()
    by_backbone = defaultdict[tuple[str, str], dict[str, Score]](dict)
    for score in page.scores:
        if task_setting(score) in MANY_SHOT:
            by_backbone[score.backbone, task_setting(score)][score.domain] = score
    sentences += _leaders(page)
    for name in page.backbones:
        linear = by_backbone[name, LINEAR]
        own = {dataset: score for dataset, score in linear.items() if dataset not in others}
        if own:
            over = f"{len(own)} of the paper's data sets"
            sentences.append(f"{name}: linear probes reach {_average(own, titles, over)}.")
        beside = {dataset: score for dataset, score in linear.items() if dataset in others}
        if beside:
            reached = [f"{100 * score.value:.1f}% on {titles[dataset]}" for dataset, score in beside.items()]
            sentences.append(
                f"{name}: linear probes on data sets outside the paper reach {joined(reached)}{_mean_over(beside)}."
            )
        if tuned := by_backbone[name, FINETUNED]:
            over = counted(len(tuned), "data set")
            sentences.append(f"{name}: fine-tuning reaches {_average(tuned, titles, over)}.")
        ranked = [
            average
            for average in page.averages
            if average.datasets
            and name in average.values
            and len(average.values) > len(page.backbones)
            and is_headline(average.setting)
        ]
        places = []
        for datasets, averages in groupby(ranked, key=lambda average: tuple(average.datasets)):
            found = [f"{page.ranks[each.setting][name]} of {len(each.values)} in {each.title}" for each in averages]
            places.append(f"{'; '.join(found)} ({_named(datasets, titles)})")
        if places:
            sentences.append(f"Among the paper's models, {name} ranks {'; '.join(places)}, by means without intervals.")
    sentences += [sentence for task in page.dense for sentence in _dense_findings(task)]
    return [*sentences, *image_findings(page)]


def _leaders(page: TaskPage) -> Iterator[str]:
    """The backbones whose linear-probe score is above all others beyond chance, of data sets with several backbones."""
    by_dataset = defaultdict[str, list[Score]](list)
    for score in page.scores:
        if task_setting(score) == LINEAR and not score.published:
            by_dataset[score.domain].append(score)
    several = {dataset: scores for dataset, scores in by_dataset.items() if len(scores) > 1}
    compared = [
        dataset for dataset, scores in several.items()
        if paired_winner(page, dataset, scores) is not None or compared_images(page, dataset, scores)
    ]  # fmt: skip
    if not compared:
        return
    first = Counter(filter(None, (leader(page, dataset, several[dataset]) for dataset in compared)))
    of = counted(len(compared), "data set")
    who = joined([f"{name} on {count}" for name, count in first.most_common()])
    where = f" on {first.total()} of {of}: {who}" if first else f" on any of {of}" if len(compared) > 1 else f" on {of}"
    others = counted(len(several) - len(compared), "other data set")
    rest = f" The scores on {others} have no such intervals." if len(several) > len(compared) else ""
    yield (
        f"Linear probes: {'one' if first else 'no'} backbone is more accurate than all others beyond chance{where} "
        f"(95% intervals of the differences).{rest}"
    )


def _pictures(page: TaskPage) -> list[str]:
    """How many images each analysis of single images used; two analyses may share images."""
    images = defaultdict[str, set[tuple[str, str]]](set)
    for result in page.by_image:
        images[result.probe].update((result.domain, name) for name in result.images)
    return [f"{probe} of {counted(len(of), 'image')}" for probe, of in images.items()]


def _average(scores: Mapping[str, Score], titles: Mapping[str, str], over: str) -> str:
    """The mean of scores by data set, with the lowest and the highest."""
    values = {name: score.value for name, score in scores.items()}
    best, worst = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    mean = 100 * np.mean(list(values.values()))
    if len(values) == 1:
        return f"{mean:.1f}% on {titles[best]}{_mean_over(scores)}"
    low, high = (f"{100 * values[name]:.1f}% on {titles[name]}" for name in (worst, best))
    return f"{mean:.1f}% on average over {over}, from {low} to {high}{_mean_over(scores)}"


def _mean_over(scores: Mapping[str, Score]) -> str:
    seeds = seeds_text(scores.values())
    return f" (means over {seeds})" if seeds else ""


def _named(datasets: Sequence[str], titles: Mapping[str, str]) -> str:
    """A few data sets by name; more only by their number, as the tables have their names."""
    if len(datasets) > MOST_NAMED:
        return counted(len(datasets), "data set")
    return ", ".join(titles.get(dataset, dataset) for dataset in datasets)


def _dense_findings(task: DenseTask) -> Iterator[str]:
    """The main score of every backbone, the best first."""
    for probe in task.probes:
        first = [result.scores[0] for result in probe.results]
        order = sorted(first, key=lambda s: s.value, reverse=METRICS[first[0].metric].ranks_high)
        found = ", ".join(f"{text_with_unit(score.metric, score.value)} by {score.backbone}" for score in order)
        title = f"{task.title[:1].upper()}{task.title[1:]}"
        yield f"{title}. {probe.title}: {METRIC_TITLES[first[0].metric]} {found}."


def shown_part(page: TaskPage) -> TaskPage:
    """The backbones with the best mean rank over settings, and a notice if some are left out.

    Ranks and correlations are computed over all backbones.
    """
    many, own = len(page.backbones), sum(not score.published for score in page.scores)
    most = max(FEWEST_BACKBONES, MOST_SCORES * many // max(own, 1))
    if many <= most:
        return page
    ranks = {name: [of[name] for of in page.ranks.values() if name in of] for name in page.backbones}
    names = {*sorted(ranks, key=lambda name: fmean(ranks[name]) if ranks[name] else inf)[:most]}
    sentence = (
        f"This page shows {most:,} of {many:,} backbones: those with the best mean rank. Ranks and correlations use "
        "all backbones; unseen report --table writes every score."
    )
    return replace(
        page,
        backbones=[name for name in page.backbones if name in names],
        scores=[score for score in page.scores if score.published or score.backbone in names],
        further_scores=[score for score in page.further_scores if score.backbone in names],
        fits=[fit for fit in page.fits if fit.backbone in names],
        tuned=[each for each in page.tuned if each.backbone in names],
        against_imagenet=[
            replace(each, points=[point for point in each.points if point.published or point.backbone in names])
            for each in page.against_imagenet
        ],
        notices=[*page.notices, sentence],
        timings={name: of for name, of in page.timings.items() if name in names},
    )
