"""The page of the task study: results of one or several runs, with the published numbers."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from unseen.analyses.tasks.averages import (
    Average,
    CorrelationTable,
    Pair,
    averages,
    correlations,
    mean_errors,
    ranks,
    without_average,
)
from unseen.analyses.tasks.data import (
    Names,
    data_names,
    is_by_image,
    is_further,
    own_name,
    page_datasets,
    refuse_changed_data,
    task_comparison_notices,
    task_verdicts,
)
from unseen.analyses.tasks.imagenet import against_imagenet
from unseen.analyses.tasks.scores import data_name, dense_scores, seed_notices, short_searches, task_scores
from unseen.errors import UserError
from unseen.metrics.correlation import LEAST
from unseen.papers.transfer import SOURCE, imagenet_score, imagenet_top1, published_task_scores
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.by_name.linear import Linear
from unseen.report.tasks.attention_data import attention_results
from unseen.report.tasks.dense_data import dense_tasks
from unseen.report.tasks.image_data import image_results
from unseen.report.tasks.page_data import PICTURES, Bins, Fit, TaskPage, Tuned
from unseen.report.tasks.tuned import arithmetic_text, tuned_of
from unseen.runs.data import RunData
from unseen.runs.flaws import flaw_sentences
from unseen.runs.merge import merge_with_names
from unseen.runs.provenance import provenance
from unseen.runs.record import read_with_results
from unseen.runs.result_flaws import diverged, skipped_steps, zero_rows
from unseen.runs.results import RESULTS, Result, read_result
from unseen.runs.score import Score
from unseen.runs.scores import result_scores, results_on
from unseen.runs.seed_means import over_seeds


def page_of_run(folder: Path) -> TaskPage:
    """The page of the run in a folder: its results, with the published numbers.

    A notice gives the number of jobs without a result.
    """
    whole, results = read_with_results(folder)
    data = whole.on_axes("tasks")
    found = results_on(data, results)
    if not found:
        raise UserError(f"{folder}: no results yet; finish the run")
    return page_of_results(data, found, {result.key: folder for result in found})


def page_of_runs(folders: Sequence[Path], runs: Sequence[tuple[str, RunData]]) -> TaskPage:
    """The page of one or several runs, finished or not; backbones are matched as in `merge_runs`.

    Args:
        folders: folders of the runs.
        runs: names and runs, with their scores.
    """
    refuse_changed_data(runs)
    data, names = merge_with_names(runs)
    if not data.scores:
        raise UserError(f"{', '.join(map(str, folders))}: no results yet; finish the run")
    left = {(score.key, score.backbone) for score in data.scores}
    found, places = [], {}
    for folder, (_, run), called in zip(folders, runs, names, strict=True):
        for key, name in dict.fromkeys((score.key, score.backbone) for score in run.scores):
            result = read_result(folder / RESULTS, key)
            if result and (key, called[name]) in left:
                left.remove((key, called[name]))
                found.append(replace(result, job=result.job | {"backbone": called[name]}))
                places[key] = folder
    return page_of_results(data, found, places)


def page_of_results(
    data: RunData, found: Sequence[Result], folders: Mapping[str, Path] = MappingProxyType({})
) -> TaskPage:
    """The page of existing results.

    Args:
        data: the run; its notices name what is missing.
        folders: key of a result → the folder of its run.
    """
    printed = [*published_task_scores(), *imagenet_top1()]
    data, found = _told_apart(data, found, {score.backbone for score in printed})
    others = [result for result in found if is_further(result)]
    found = [result for result in found if not is_further(result)]
    dense = dense_tasks(data, found, {key: folder / PICTURES / key for key, folder in folders.items()})
    verdicts = task_verdicts(data, [*found, *others])
    names = data_names(verdicts)
    measured = [*task_scores(found, data, names), *dense_scores(data, found)]
    measured += [score for result in filter(is_by_image, found) for score in result_scores(result, data)]
    own = over_seeds([*measured, *mean_errors(measured)])
    further = over_seeds(task_scores(others, data, names))
    own += [
        imagenet_score(backbone.name, backbone.imagenet_top1)
        for backbone in data.backbones
        if backbone.imagenet_top1 is not None
    ]
    finetuned = [result for result in found if result.is_of(FineTuned.name)]
    if short := short_searches(finetuned):
        beside = [score for score in printed if score.probe != "fine-tuned"]  # published ones have the full search
    else:
        beside = printed
    together = averages([*own, *beside])
    flaws = [*dict.fromkeys([*data.flaws, *zero_rows(found), *skipped_steps(found), *diverged(found)])]
    tables = [CorrelationTable("The paper's 14 models", *_correlated(printed))]
    if len(data.backbones) >= LEAST:
        tables.append(CorrelationTable("Your backbones", *_correlated(own)))
    datasets = page_datasets(data, names)
    titles = {each.name: each.title for each in datasets}
    for task in dense:
        titles |= {task.name: task.title, own_name(task.name): own_name(task.title)}
    tuned = [tuned_of(result, data, at := data_name(result, names), titles[at]) for result in finetuned]
    arithmetic = {"arithmetic of fine-tuning": arithmetic_text(tuned)} if tuned else {}
    return TaskPage(
        title=data.title,
        protocol=", ".join(dict.fromkeys(map(_protocol_name, found))),
        backbones=[backbone.name for backbone in data.backbones],
        datasets=datasets,
        dense=dense,
        by_image=image_results(data, found, folders),
        attention=attention_results(others, names, titles, folders),
        scores=[*own, *beside],
        fits=[_fit(result, names) for result in found if result.is_of(Linear.name)],
        averages=together,
        correlations=tables,
        ranks=ranks(together),
        tuned=tuned,
        against_imagenet=against_imagenet([*own, *printed], titles),
        notices=[
            *filter(None, [data.notice]),
            *task_comparison_notices(verdicts),
            *flaw_sentences(
                flaws, {each.name: each.title for each in data.domains}, [each.name for each in data.backbones]
            ),
            *(each for each in short if each not in data.notice),
            *seed_notices([*own, *beside]),
        ],
        notes=without_average([*own, *printed]),
        provenance={**provenance(data), **arithmetic},
        timings=_timings([*found, *others], tuned),
        own_code=data.own_code,
        further_scores=further,
        trained_on={
            (backbone.name, name)
            for backbone in data.backbones
            for domain in data.domains
            if backbone.was_trained_on(domain)
            for name in {domain.name, own_name(domain.name), names.get((backbone.name, domain.name), domain.name)}
        },
    )


def _told_apart(data: RunData, found: Sequence[Result], taken: Container[str]) -> tuple[RunData, list[Result]]:
    """A run and its results, with "(yours)" appended to backbone names that published models have too."""
    called = {each.name: f"{each.name} (yours)" for each in data.backbones if each.name in taken}

    def named(name: str) -> str:
        return called.get(name, name)

    told = replace(
        data,
        backbones=[replace(each, name=named(each.name)) for each in data.backbones],
        scored=[replace(each, backbone=named(each.backbone)) for each in data.scored],
        flaws=[replace(each, backbone=named(each.backbone)) for each in data.flaws],
    )
    return told, [replace(each, job=each.job | {"backbone": named(each.job["backbone"])}) for each in found]


def _protocol_name(result: Result) -> str:
    return result.protocol or SOURCE


def _correlated(scores: Sequence[Score]) -> tuple[list[Average], list[Pair]]:
    found = averages(scores)
    return found, correlations(found)


def _fit(result: Result, names: Names) -> Fit:
    details = result.details
    bins = {
        when: Bins(found["counts"], found["confidence"], found["accuracy"])
        for when, found in details.get("reliability", {}).items()
    }
    return Fit(
        backbone=result.job["backbone"],
        dataset=data_name(result, names),
        penalty=details["penalty"],
        edge=details["edge"],
        stopped=details["converged"].count(False) + (not details["refit_converged"]),
        before=bins.get("before"),
        after=bins.get("after"),
        temperatures=details.get("temperatures", ()),
        unbounded=details.get("unbounded_temperature", False),
        shots=result.setting[0],
        seed=result.setting[1],
    )


def _timings(results: Sequence[Result], tuned: Sequence[Tuned]) -> dict[str, tuple[int, float]]:
    """Backbone → number of jobs and their seconds; in fine-tuning every training is a job."""
    spent = [(result.job["backbone"], 1, result.seconds) for result in results if not result.is_of(FineTuned.name)]
    spent += [(each.backbone, len(each.tried) + len(each.passed_over) + 1, each.seconds) for each in tuned]
    found: dict[str, tuple[int, float]] = {}
    for backbone, number, seconds in spent:
        jobs, before = found.get(backbone, (0, 0.0))
        found[backbone] = (jobs + number, before + seconds)
    return found
