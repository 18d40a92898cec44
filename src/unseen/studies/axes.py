"""Across axes: runs of the concept and the task study and a fit of the shift study, of the same backbones, together."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from unseen.results.axes import AXES, CONCEPTS, SHIFTS, TASKS, Axes, Measure, put_together
from unseen.results.concept_generalization import SEEN, Accuracies, measured_accuracies, published_accuracies
from unseen.results.published import TABLES
from unseen.results.tables import score_table, summarise
from unseen.results.transfer import TaskScore, published_task_scores
from unseen.studies.axis_measures import ShiftScore, concept_measures, has_measure, shift_measures, task_measures

if TYPE_CHECKING:
    from unseen.jobs.runner import Result

COG, ERICSSON = "cog-v2", "ericsson-2021"
TASK_JOBS = {"ManyShotJob", "FewShotJob"}
FINETUNE_JOB = "FinetuneTaskJob"
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
    taken = {model.name for model in models}
    accuracies, on_imagenet = _accuracies(concepts, models, taken)
    task_scores = [score for score in [*_free(_task_scores(tasks), taken), *_printed(models)] if has_measure(score)]
    shift_scores = [] if shifts is None else list(_free_shifts(read_shift_scores(shifts), taken))
    names = {
        CONCEPTS: accuracies.models if accuracies else (),
        TASKS: tuple(dict.fromkeys(score.backbone for score in task_scores)),
        SHIFTS: tuple(dict.fromkeys(score.model for score in shift_scores)),
    }
    # Before the measures: means are over what all have, and who is left out must not change them.
    kept = _on_several(names)
    on_tasks, notes = task_measures(score for score in task_scores if score.backbone in kept)
    on_shifts, more = shift_measures(score for score in shift_scores if score.model in kept)
    axes = put_together([*_concepts(accuracies, kept, on_imagenet), *on_tasks, *on_shifts])
    files = {"concept runs": concepts, "task runs": list(tasks), "shifts": [shifts] if shifts else []}
    return AxesPage(
        axes=axes,
        models=[model for model in models if model.name in axes.backbones],
        notices=[*notes, *more, *_missing(axes.missing()), *_alone(names, axes)],
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
        jobs = {result.job.get("job") for result in results}
        if jobs & TASK_JOBS:
            tasks[folder] = results
        elif FINETUNE_JOB in jobs:
            raise UserError(
                f"{folder}: a run of unseen finetune alone, whose scores are on no axis; give runs of unseen concepts "
                f"and of unseen tasks"
            )
        else:
            concepts.append(folder)
    return concepts, tasks


def _accuracies(
    folders: Sequence[Path], models: Sequence[SharedModel], taken: set[str]
) -> tuple[Accuracies | None, bool]:
    """Accuracies of runs and of published models, and whether they are on ImageNet-CoG's concepts."""
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
        return None, on_imagenet
    return parts[0] if len(parts) == 1 else parts[0] + parts[1], on_imagenet


def _concepts(accuracies: Accuracies | None, kept: Collection[str], on_imagenet: bool) -> list[Measure]:
    if accuracies is None:
        return []
    rows = [place for place, name in enumerate(accuracies.models) if name in kept]
    if not rows:
        return []
    names = tuple(accuracies.models[place] for place in rows)
    of = Accuracies(names, accuracies.mean[rows], accuracies.error[rows], accuracies.rounding[rows])
    return concept_measures(of, names, published=on_imagenet)


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


def _free_shifts(scores: Iterable[ShiftScore], taken: set[str]) -> Iterator[ShiftScore]:
    return (replace(score, model=_own_name(score.model, taken)) for score in scores)


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


def _on_several(names: Mapping[str, Sequence[str]]) -> set[str]:
    """Who is on two axes or more; everybody where nobody is."""
    counts = Counter(name for own in names.values() for name in own)
    return {name for name, axes in counts.items() if axes > 1} or set(counts)


def _is_alone(name: str, axis: str, names: Mapping[str, Sequence[str]], measured: Collection[str]) -> bool:
    return name in measured or all(name not in own for other, own in names.items() if other != axis)


def _alone(names: Mapping[str, Sequence[str]], axes: Axes) -> list[str]:
    """Who is on one axis alone, where others are on several, or is left there as others share no data of a second."""
    told = []
    for axis, title in AXES.items():
        measured = {name for measure in axes.measures.values() if measure.axis == axis for name in measure.values}
        alone = [name for name in names[axis] if name not in axes.backbones and _is_alone(name, axis, names, measured)]
        if alone:
            more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
            who = f"{', '.join(alone[:3])}{more}"
            told.append(f"Left out, on {title.lower()} alone: {who}. Backbones go together by their names.")
    return told
