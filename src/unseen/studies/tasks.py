"""The task study: a backbone on classification tasks it was not trained for (Ericsson et al. 2021).

What is run, what is written of it, and how its results become a page.
"""

import shutil
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from unseen.backbones.backbone import Backbone as LoadedBackbone
from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.images.datasets.dataset import Dataset
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.images.datasets.registry import DATASETS
from unseen.jobs.few_shot_job import FewShotJob, few_shot_scores
from unseen.jobs.finetune_task_job import FinetuneTaskJob, finetuned_task_scores, short_notices
from unseen.jobs.fit_progress import FitProgress
from unseen.jobs.many_shot_job import ManyShotJob, many_shot_scores
from unseen.jobs.runner import Result, read_result, run_jobs
from unseen.jobs.task_work import TaskJob, kept_folder, run_task_job
from unseen.metrics.correlation import LEAST
from unseen.probes.many_shot import ManyShotProtocol
from unseen.report.run_data import Backbone, Domain, RunData
from unseen.report.task_data import Average, Bins, CorrelationTable, Fit, Pair, TaskDataset, TaskPage
from unseen.results.flaws import flaw_sentences
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
from unseen.studies.run_folder import RESULTS, TOP1, VERSION
from unseen.studies.task_analysis import averages, correlations, mean_errors, ranks, without_average
from unseen.studies.task_features import TaskFeatures
from unseen.studies.task_plan import by_size
from unseen.version import __version__

TITLE = "Transfer to other tasks"
PUBLISHED_SIZE = 224
"""Pixels of an image's side in the paper."""
FEATURES_BY = "features by "
"""How the label of provenance begins that says what decides a backbone's features, in the words of `backbone_text`."""
LIMIT_OF = "images taken of "
"""How the label of provenance begins that says how much of a data set was taken."""
UNFINISHED = "unfinished"
"""The folder, among results, of what jobs have so far that are not finished."""
EXACT = (
    "Temperatures are fitted on test data, as in the public code: calibration errors after scaling are better than "
    "a user would see."
)


def run_tasks(
    jobs: Sequence[TaskJob],
    tasks: Sequence[TaskFeatures],
    folder: Path,
    workers: int,
    tell: Callable[[FitProgress], None] | None = None,
) -> Generator[TaskJob, None, None]:
    """Run the jobs that have no result in `folder` yet and pass on each as it is done.

    Args:
        workers: processes for small jobs, and threads for large ones. One process drives a GPU.
        tell: told every few seconds how far a linear probe is, in whatever process it runs.
    """
    places = {task.hashes[split]: place for task in tasks for split, place in task.places.items()}
    kept = folder / UNFINISHED
    work = partial(run_task_job, places=places, load=read_features, kept=kept, tell=tell)
    small, large = (jobs, []) if on_gpu() else by_size(jobs, tasks)
    running = chain(
        run_jobs(small, folder, work, workers=1 if on_gpu() else workers),
        run_jobs(large, folder, work, threads=workers),
    )
    for job in running:
        shutil.rmtree(kept_folder(job, kept), ignore_errors=True)
        yield job


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
        missing: sentences on the data sets that were asked for and are not there, and on settings that some lack the
            images for.
    """
    datasets = {task.dataset.name: task.dataset for task in tasks}
    limits = {task.dataset.name: task.limit for task in tasks}
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
        domains=[Domain(name, _title(dataset, limits[name]), limit=limits[name]) for name, dataset in datasets.items()],
        backbones=[Backbone(name, "yours", f"{task.dimension} features") for name, task in backbones.items()],
        baseline=next(iter(backbones)),
        notice=" ".join([*said, *missing]),
        provenance={
            "protocol": _protocol_text(protocol),
            **{f"{TOP1}{name}": f"{100 * share:g}" for name, share in top1.items()},
            **{f"{FEATURES_BY}{name}": text for name, task in backbones.items() if (text := _made_by(task))},
            **{f"features of {task.dataset.name} by {task.backbone}": task.made for task in tasks},
            **{f"{LIMIT_OF}{name}": _limit_text(limit) for name, limit in limits.items()},
            **{f"licence of {name}": dataset.licence for name, dataset in datasets.items()},
            VERSION: __version__,
        },
        flaws=[flaw for task in tasks for flaw in task.flaws],
    )


def _title(dataset: Dataset, limit: int | None) -> str:
    """What a data set is called, with a part of it named as one."""
    return f"{dataset.title} (part: {limit} images per class)" if limit else dataset.title


def _limit_text(limit: int | None) -> str:
    return f"at most {limit} images of each class in every split" if limit else "all images"


def task_provenance(
    backbones: Sequence[LoadedBackbone],
    opened: Sequence[OpenDataset],
    settings: Settings,
    protocol: ManyShotProtocol,
) -> dict[str, str]:
    """What decides a study before any of its features are there, to compare with the run that a folder has."""
    made = {
        f"{FEATURES_BY}{each.label}": backbone_text(Place(Path(), settings.decides(each.spec, "", "")))
        for each in backbones
    }
    limits = {f"{LIMIT_OF}{each.dataset.name}": _limit_text(each.manifest.limit) for each in opened}
    return {"protocol": _protocol_text(protocol), **made, **limits}


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


def is_task_run(data: RunData) -> bool:
    """Whether a run is of this study, so that it has a page of its own kind."""
    return data.title == TITLE


def task_page(folder: Path, data: RunData, keys: Sequence[str], notes: Sequence[str] = ()) -> TaskPage:
    """The page of a run: its results, beside the published numbers.

    Args:
        folder: of the run.
        keys: of its jobs; those without a result are counted in a notice.
        notes: on what was left out.
    """
    found = [result for key in keys if (result := read_result(folder / RESULTS, key))]
    printed = [*published_task_scores(), *imagenet_top1()]
    data, found = _told_apart(data, found, {score.backbone for score in printed})
    measured = task_scores(found)
    own = [*measured, *mean_errors(measured)]
    own += [
        TaskScore(label.removeprefix(TOP1), "", IMAGENET, "top1", float(text) / 100)
        for label, text in data.provenance.items()
        if label.startswith(TOP1)
    ]
    # A quick look at a part of a data set has no place beside numbers that are of all of it.
    beside = [] if any(domain.limit for domain in data.domains) else printed
    together = averages([*own, *beside])
    tuned = [result for result in found if result.job["job"] == FinetuneTaskJob.__name__]
    left = len(keys) - len(found)
    unfinished = [f"This run is not finished: {left} of {len(keys)} jobs have no result yet."] if left else []
    tables = [CorrelationTable("The paper's 14 models", *_correlated(printed))]
    if len(data.backbones) >= LEAST:
        tables.append(CorrelationTable("Your backbones", *_correlated(own)))
    return TaskPage(
        title=data.title,
        protocol=data.provenance.get("protocol", "fine-tuning only"),
        backbones=[backbone.name for backbone in data.backbones],
        datasets=[_dataset(DATASETS[domain.name], domain.limit) for domain in data.domains],
        scores=[*own, *beside],
        fits=[_fit(result) for result in found if result.job["job"] == ManyShotJob.__name__],
        averages=together,
        correlations=tables,
        ranks=ranks(together),
        notices=[
            *filter(None, [data.notice]),
            *_limit_notices(data),
            *flaw_sentences(data.flaws, {domain.name: domain.title for domain in data.domains}),
            *short_notices(tuned),
            *unfinished,
        ],
        notes=[*notes, *without_average([*own, *beside])],
        provenance=data.provenance,
        timings=_timings(found),
    )


def _told_apart(data: RunData, found: Sequence[Result], taken: Container[str]) -> tuple[RunData, list[Result]]:
    """A run and its results, with "(yours)" behind the name of a backbone that a published model has too."""
    called = {each.name: f"{each.name} (yours)" for each in data.backbones if each.name in taken}
    backbones = [replace(each, name=called.get(each.name, each.name)) for each in data.backbones]
    top1 = {f"{TOP1}{name}": f"{TOP1}{label}" for name, label in called.items()}
    provenance = {top1.get(label, label): text for label, text in data.provenance.items()}
    results = [
        replace(each, job=each.job | {"backbone": called.get(each.job["backbone"], each.job["backbone"])})
        for each in found
    ]
    return replace(data, backbones=backbones, provenance=provenance), results


def _correlated(scores: Sequence[TaskScore]) -> tuple[list[Average], list[Pair]]:
    found = averages(scores)
    return found, correlations(found)


def _limit_notices(data: RunData) -> list[str]:
    titles: dict[int, list[str]] = {}
    for domain in data.domains:
        if domain.limit:
            titles.setdefault(domain.limit, []).append(DATASETS[domain.name].title)
    return [
        f"A quick look at a part of {', '.join(names)}: {_limit_text(limit)}. Such scores are not those of all images, "
        "so no published ones stand beside them."
        for limit, names in titles.items()
    ]


def _dataset(dataset: Dataset, limit: int | None) -> TaskDataset:
    return TaskDataset(dataset.name, _title(dataset, limit), dataset.metric, dataset.few_shot or "", limit)


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
