"""Across axes: runs of the concept and the task study and a fit of the shift study, of the same backbones, together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.backbones.catalogue import Published, catalogue
from unseen.errors import UserError
from unseen.files import read_table
from unseen.metrics.catalogue import METRICS
from unseen.report.axes_data import AxesPage, SharedModel
from unseen.results.axes import AXES, Measure, put_together
from unseen.results.concept_generalization import SEEN, Accuracies, measured_accuracies, published_accuracies
from unseen.results.published import TABLES
from unseen.results.tables import score_table, summarise
from unseen.results.transfer import TaskScore, published_task_scores
from unseen.studies.axis_measures import ShiftScore, concept_measures, shift_measures, task_measures

if TYPE_CHECKING:
    from unseen.jobs.runner import Result

COG, ERICSSON = "cog-v2", "ericsson-2021"
TASK_JOBS = {"ManyShotJob", "FewShotJob"}
SCORES, MODELS = "scores.csv", "models.csv"
LOADED_OTHERWISE = {
    "s-BYOL": "ImageNet-CoG ran the converter's network, which pads its first layers as TensorFlow does; Ericsson et "
    "al. loaded the weights into torchvision's, which pads otherwise: features are not the same"
}
"""Of models that are the same file in both papers, what differs in how their public codes use it."""
HOW_TO_GET = {
    "concepts": "a run of unseen concepts",
    "tasks": "a run of unseen tasks",
    "shifts": "--shifts with what unseen shifts fit wrote",
}


def study_axes(folders: Sequence[Path], shifts: Path | None = None, *, published: bool = False) -> AxesPage:
    """Backbones of runs and of a fit of shifts, on every axis that there is something of.

    Backbones are the same where their names are. The papers' models are those that both ImageNet-CoG and Ericsson et
    al. measured, and none of them is on the axis of shifts.

    Args:
        folders: of runs of the concept and of the task study.
        shifts: the folder, or its `models.csv`, that a fit of shifts was written to.
        published: whether the papers' models stand beside them; they stand alone where nothing else is given.
    """
    published = published or (not folders and shifts is None)
    models = shared_models() if published else []
    concepts, tasks = _sorted(folders)
    own_tasks = _task_scores(tasks)
    own_shifts = [] if shifts is None else list(read_shift_scores(shifts))
    taken = {model.name for model in models}
    on_tasks, notes = task_measures([*_free(own_tasks, taken), *_printed(models)])
    on_shifts, more = shift_measures(replace(score, model=_own_name(score.model, taken)) for score in own_shifts)
    measures = [*_concepts(concepts, models, taken), *on_tasks, *on_shifts]
    axes = put_together(measures)
    files = {"concept runs": concepts, "task runs": list(tasks), "shifts": [shifts] if shifts else []}
    return AxesPage(
        axes=axes,
        models=[model for model in models if model.name in axes.backbones],
        notices=[*notes, *more, *_missing(axes.missing()), *_alone(measures, axes.left_out)],
        provenance={
            **{label: ", ".join(map(str, paths)) for label, paths in files.items() if paths},
            **{name: f"{TABLES[name].reference}. {TABLES[name].link}" for name in (COG, ERICSSON) if models},
        },
    )


def shared_models() -> list[SharedModel]:
    """The models that ImageNet-CoG and Ericsson et al. both measured: those of which both name the same weights."""
    other = {_file(model): model.name for model in catalogue(ERICSSON)}
    return [
        SharedModel(model.name, other[_file(model)], model.weights, LOADED_OTHERWISE.get(model.name, ""))
        for model in catalogue(COG)
        if _file(model) in other
    ]


def _file(model: Published) -> tuple[str, str, str]:
    return model.source, model.repository, model.weights


def _sorted(folders: Sequence[Path]) -> tuple[list[Path], dict[Path, "list[Result]"]]:
    """Runs of concepts, and runs of tasks with their results."""
    if not folders:
        return [], {}
    # Reading runs imports the probes, which the published models alone can do without.
    from unseen.studies.run_folder import read_results

    concepts, tasks = [], {}
    for folder in folders:
        results = read_results(folder)
        if not results:
            raise UserError(f"{folder}: no results yet; finish the run")
        if any(result.job.get("job") in TASK_JOBS for result in results):
            tasks[folder] = results
        else:
            concepts.append(folder)
    return concepts, tasks


def _concepts(folders: Sequence[Path], models: Sequence[SharedModel], taken: set[str]) -> list[Measure]:
    parts, on_imagenet = [], True
    if folders:
        own, on_imagenet = _own_accuracies(folders)
        if models and not on_imagenet:
            raise UserError(
                f"{folders[0]}: not a run over the concepts of ImageNet-CoG, so its scores are not to be set beside "
                f"the published ones; leave out --published"
            )
        parts.append(replace(own, models=tuple(_own_name(name, taken) for name in own.models)))
    if models:
        printed = published_accuracies()
        rows = [printed.models.index(model.name) for model in models]
        parts.append(
            Accuracies(
                tuple(model.name for model in models), printed.mean[rows], printed.error[rows], printed.rounding[rows]
            )
        )
    if not parts:
        return []
    together = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return concept_measures(together, together.models, published=on_imagenet)


def _own_accuracies(folders: Sequence[Path]) -> tuple[Accuracies, bool]:
    """Accuracies of runs on the seen concepts and the five levels, and whether these are ImageNet-CoG's."""
    from unseen.studies.run_folder import merge_runs, read_run

    data = merge_runs([(folder.resolve().name, read_run(folder)) for folder in folders])
    seen = next((domain.name for domain in data.domains if domain.seen), SEEN)
    summary = summarise(score_table(data.scores))
    found, lacking = measured_accuracies(summary.assign(domain=summary["domain"].replace({seen: SEEN})))
    for backbone, domains in lacking.items():
        names = ", ".join(seen if name == SEEN else name for name in domains)
        raise UserError(
            f"{', '.join(map(str, folders))}: {backbone} has no score of the logistic probe on {names} with all "
            f"images, which its place among others needs; finish the run"
        )
    return found, data.published == COG


def _task_scores(runs: "Mapping[Path, Sequence[Result]]") -> list[TaskScore]:
    protocols: dict[str, Path] = {}
    for folder, results in runs.items():
        for result in results:
            if result.job["job"] == "ManyShotJob":
                protocols.setdefault(str(result.job["protocol"]["name"]), folder)
    if len(protocols) > 1:
        raise UserError(f"these task runs follow different protocols ({', '.join(protocols)}); put them together apart")
    return [score for folder in runs for score in read_task_scores(folder / SCORES)]


def read_task_scores(path: Path) -> Iterator[TaskScore]:
    """The scores that a finished run of the task study wrote."""
    if not path.is_file():
        raise UserError(f"{path.parent}: the run has no {SCORES} yet; finish it with the same command")
    for line, row in read_table(path, ["backbone", "dataset", "setting", "metric", "value"], ["interval"]):
        if row["metric"] not in METRICS:
            raise UserError(f"{path}, line {line}: no metric '{row['metric']}' is known")
        value = _number(row["value"], path, line, "value")
        half = _number(row["interval"], path, line, "interval") if row["interval"] else None
        if not 0 <= value <= 1 or (half is not None and half < 0):
            raise UserError(f"{path}, line {line}: scores are shares from 0 to 1, not {row['value']}")
        yield TaskScore(row["backbone"], row["dataset"], row["setting"], row["metric"], value, half)


def read_shift_scores(path: Path) -> Iterator[ShiftScore]:
    """What `unseen shifts fit` wrote of each model, from its folder or its table."""
    table = path / MODELS if path.is_dir() else path
    numbers = ["accuracy", "rho", "low", "high"]
    for line, row in read_table(table, ["ood", "model", *numbers]):
        accuracy, rho, low, high = (_number(row[column], table, line, column) for column in numbers)
        if not 0 <= accuracy <= 1 or not -1 <= low <= high <= 1:
            raise UserError(f"{table}, line {line}: accuracies and ρ are shares, as unseen shifts fit writes them")
        yield ShiftScore(row["model"], row["ood"], accuracy, rho, low, high)


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not isfinite(number):
        raise UserError(f"{path}, line {line}: '{text}' in column '{column}' is not a number")
    return number


def _free(scores: Iterable[TaskScore], taken: set[str]) -> Iterator[TaskScore]:
    return (replace(score, backbone=_own_name(score.backbone, taken)) for score in scores)


def _own_name(name: str, taken: set[str]) -> str:
    return f"{name} (yours)" if name in taken else name


def _printed(models: Sequence[SharedModel]) -> list[TaskScore]:
    """The paper's scores of the shared models, under the names that they have here."""
    names = {model.other: model.name for model in models}
    return [
        replace(score, backbone=names[score.backbone]) for score in published_task_scores() if score.backbone in names
    ]


def _missing(axes: Sequence[str]) -> list[str]:
    return [f"Nothing on {AXES[axis].lower()}: give {HOW_TO_GET[axis]} to have them here." for axis in axes]


def _alone(measures: Sequence[Measure], left_out: Sequence[str]) -> list[str]:
    """Who is on one axis alone, where others are on several."""
    told = []
    for axis, title in AXES.items():
        known = {name for measure in measures if measure.axis == axis for name in measure.values}
        names = [name for name in left_out if name in known]
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            who = f"{', '.join(names[:3])}{more}"
            told.append(f"Left out, on {title.lower()} alone: {who}. Backbones go together by their names.")
    return told
