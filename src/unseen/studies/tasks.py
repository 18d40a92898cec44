"""The task study: a backbone on classification tasks it was not trained for (Ericsson et al. 2021).

What is run, what is written of it, and how its results become a page.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.features.store import MANIFEST
from unseen.images.datasets.dataset import Dataset
from unseen.images.datasets.registry import DATASETS
from unseen.jobs.few_shot_job import FewShotJob, few_shot_scores
from unseen.jobs.finetune_task_job import FinetuneTaskJob, finetuned_task_scores, short_notices
from unseen.jobs.many_shot_job import ManyShotJob, many_shot_scores
from unseen.jobs.runner import Result, read_result, run_jobs
from unseen.jobs.task_work import TaskJob, run_task_job
from unseen.metrics.correlation import LEAST
from unseen.probes.many_shot import ManyShotProtocol
from unseen.report.run_data import Backbone, Domain, RunData
from unseen.report.task_data import Average, Bins, CorrelationTable, Fit, Pair, TaskDataset, TaskPage
from unseen.results.transfer import (
    ECE,
    IMAGENET,
    LINEAR,
    SCALED_ECE,
    TaskScore,
    imagenet_top1,
    published_task_scores,
)
from unseen.studies.concept_features import Place, read_about
from unseen.studies.concepts import backbone_text
from unseen.studies.probing import on_gpu
from unseen.studies.run_folder import FEATURES_BY, RESULTS, TOP1, VERSION, merge_with_names
from unseen.studies.task_analysis import averages, correlations, mean_errors, ranks, without_average
from unseen.studies.task_features import TaskFeatures
from unseen.studies.task_imagenet import against_imagenet
from unseen.studies.task_plan import STUDY, by_size
from unseen.version import __version__

TITLE = "Transfer to other tasks"
PUBLISHED_SIZE = 224
"""Pixels of an image's side in the paper."""
EXACT = (
    "Temperatures are fitted on test data, as in the public code: calibration errors after scaling are better than "
    "a user would see."
)


def run_tasks(
    jobs: Sequence[TaskJob], tasks: Sequence[TaskFeatures], folder: Path, workers: int
) -> Generator[TaskJob, None, None]:
    """Run the jobs that have no result in `folder` yet and pass on each as it is done.

    Args:
        workers: processes for small jobs, and threads for large ones. One process drives a GPU.
    """
    places = {task.hashes[split]: place for task in tasks for split, place in task.places.items()}
    work = partial(run_task_job, places=places, load=read_features)
    if on_gpu():
        yield from run_jobs(jobs, folder, work)
        return
    small, large = by_size(jobs, tasks)
    yield from run_jobs(small, folder, work, workers=workers)
    yield from run_jobs(large, folder, work, threads=workers)


def task_run(
    tasks: Sequence[TaskFeatures],
    protocol: ManyShotProtocol,
    *,
    top1: Mapping[str, float],
    missing: Sequence[str] = (),
) -> RunData:
    """What is written of a study, without its scores.

    Args:
        top1: accuracy on ImageNet of backbones whose it is known, as shares.
        missing: sentences on the data sets that were asked for and are not there.
    """
    datasets = {task.dataset.name: task.dataset for task in tasks}
    backbones = {task.backbone: task for task in tasks}
    said = [EXACT] if protocol.temperature == "test-folds" else []
    said += [
        f"{name} saw images of {task.size} pixels; the published models saw {PUBLISHED_SIZE}."
        for name, task in backbones.items()
        if task.size not in {None, PUBLISHED_SIZE}
    ]
    return RunData(
        title=TITLE,
        scores=(),
        domains=[Domain(name, dataset.title) for name, dataset in datasets.items()],
        backbones=[
            Backbone(name, "yours", f"{task.dimension} features", imagenet_top1=top1.get(name))
            for name, task in backbones.items()
        ],
        baseline=next(iter(backbones)),
        notice=" ".join([*said, *missing]),
        provenance={
            "protocol": _protocol_text(protocol),
            **{f"{TOP1}{name}": f"{100 * share:g}" for name, share in top1.items()},
            **{f"{FEATURES_BY}{name}": text for name, task in backbones.items() if (text := _made_by(task))},
            **{f"features of {task.dataset.name} by {task.backbone}": task.made for task in tasks},
            **{f"licence of {name}": dataset.licence for name, dataset in datasets.items()},
            VERSION: __version__,
        },
        study=STUDY,
    )


def _made_by(task: TaskFeatures) -> str:
    """What decides features, as runs of concepts say it; empty where features do not tell."""
    path = Path(next(iter(task.places.values()), ""))
    about = read_about(path) if (path / MANIFEST).is_file() else {}
    spec = about.get("backbone")
    return backbone_text(Place(path, about)) if isinstance(spec, dict) and "transform" in spec else ""


def _protocol_text(protocol: ManyShotProtocol) -> str:
    where = "validation data" if protocol.temperature == "validation" else f"{protocol.folds} folds of the test data"
    return (
        f"{protocol.name}: {protocol.steps} constants from {protocol.weakest:g} to {protocol.strongest:g}, at most "
        f"{protocol.max_iterations} iterations each, temperature from {where}"
    )


def task_page(folder: Path, data: RunData, keys: Sequence[str], notes: Sequence[str] = ()) -> TaskPage:
    """The page of a run: its results, beside the published numbers.

    Args:
        folder: of the run.
        keys: of its jobs; those without a result are counted in a notice.
        notes: on what was left out.
    """
    found = [result for key in keys if (result := read_result(folder / RESULTS, key))]
    left = len(keys) - len(found)
    unfinished = f"This run is not finished: {left} of {len(keys)} jobs have no result yet." if left else ""
    return page_of_results(replace(data, notice=" ".join(filter(None, [data.notice, unfinished]))), found, notes)


def page_of_runs(folders: Sequence[Path], runs: Sequence[tuple[str, RunData]]) -> TaskPage:
    """The page of one run or several, finished or not; backbones are the same where `merge_runs` says so.

    Args:
        folders: of the runs.
        runs: each with its name, and with its scores.
    """
    data, names = merge_with_names(runs)
    if not data.scores:
        raise UserError(f"{', '.join(map(str, folders))}: no results yet; finish the run")
    left = {(score.key, score.backbone) for score in data.scores}
    found = []
    for folder, (_, run), called in zip(folders, runs, names, strict=True):
        for key, name in dict.fromkeys((score.key, score.backbone) for score in run.scores):
            result = read_result(folder / RESULTS, key)
            if result and (key, called[name]) in left:
                left.remove((key, called[name]))
                found.append(replace(result, job=result.job | {"backbone": called[name]}))
    return page_of_results(data, found)


def page_of_results(data: RunData, found: Sequence[Result], notes: Sequence[str] = ()) -> TaskPage:
    """The page of results that are there.

    Args:
        data: of the run; its notice says what is not there.
    """
    measured = task_scores(found)
    own = [*measured, *mean_errors(measured)]
    printed = [*published_task_scores(), *imagenet_top1()]
    own += [
        TaskScore(backbone.name, "", IMAGENET, "top1", backbone.imagenet_top1)
        for backbone in data.backbones
        if backbone.imagenet_top1 is not None
    ]
    together = averages([*own, *printed])
    tuned = [result for result in found if result.job["job"] == FinetuneTaskJob.__name__]
    tables = [CorrelationTable("The paper's 14 models", *_correlated(printed))]
    if len(data.backbones) >= LEAST:
        tables.append(CorrelationTable("Your backbones", *_correlated(own)))
    return TaskPage(
        title=data.title,
        protocol=", ".join(dict.fromkeys(map(_protocol_name, found))),
        backbones=[backbone.name for backbone in data.backbones],
        datasets=[_dataset(DATASETS[domain.name]) for domain in data.domains],
        scores=[*own, *printed],
        fits=[_fit(result) for result in found if result.job["job"] == ManyShotJob.__name__],
        averages=together,
        correlations=tables,
        ranks=ranks(together),
        against_imagenet=against_imagenet([*own, *printed]),
        notices=[*filter(None, [data.notice]), *short_notices(tuned)],
        notes=[*notes, *without_average([*own, *printed])],
        provenance=data.provenance,
        timings=_timings(found),
    )


def _protocol_name(result: Result) -> str:
    protocol = result.job["protocol"]
    return str(protocol["name"] if isinstance(protocol, dict) else protocol)


def _correlated(scores: Sequence[TaskScore]) -> tuple[list[Average], list[Pair]]:
    found = averages(scores)
    return found, correlations(found)


def _dataset(dataset: Dataset) -> TaskDataset:
    return TaskDataset(dataset.name, dataset.title, dataset.metric, dataset.few_shot or "")


def task_scores(results: Iterable[Result]) -> list[TaskScore]:
    """What results say, in the form of the published numbers; a damaged one is an error."""
    return [score for result in results for score in _checked(result)]


def _checked(result: Result) -> list[TaskScore]:
    try:
        return _scores(result)
    except (KeyError, TypeError):
        raise UserError(f"the result {result.key}.json is damaged; delete the file and run again") from None


def _scores(result: Result) -> list[TaskScore]:
    job = result.job
    if job["job"] == FinetuneTaskJob.__name__:
        return finetuned_task_scores(result)
    of = (job["backbone"], job["domain"])
    if job["job"] == FewShotJob.__name__:
        [score] = few_shot_scores(result)
        return [TaskScore(*of, f"{job['shots']}-shot", score.metric, score.value, result.values["interval"])]
    found = [
        TaskScore(*of, ECE if score.metric == "ece" else LINEAR, score.metric, score.value)
        for score in many_shot_scores(result)
    ]
    if "scaled_ece" in result.values:
        found.append(TaskScore(*of, SCALED_ECE, "ece", float(result.values["scaled_ece"])))
    return found


def _fit(result: Result) -> Fit:
    values = result.values
    bins = {
        when: Bins(found["counts"], found["confidence"], found["accuracy"])
        for when, found in values.get("reliability", {}).items()
    }
    return Fit(
        backbone=result.job["backbone"],
        dataset=result.job["domain"],
        penalty=values["penalty"],
        edge=values["edge"],
        stopped=values["converged"].count(False) + (not values["refit_converged"]),
        before=bins.get("before"),
        after=bins.get("after"),
        temperatures=values.get("temperatures", ()),
        unbounded=values.get("unbounded_temperature", False),
    )


def _timings(results: Sequence[Result]) -> dict[str, tuple[int, float]]:
    found: dict[str, tuple[int, float]] = {}
    for result in results:
        jobs, seconds = found.get(result.job["backbone"], (0, 0.0))
        found[result.job["backbone"]] = (jobs + 1, seconds + result.seconds)
    return found
