"""The comparison across axes: the same backbones in runs of the concept, task and shift studies."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unseen.analyses.axes.compared_pairs import ComparedPairs
from unseen.analyses.axes.measures import concept_measures, has_measure, shift_measures, task_measures
from unseen.analyses.axes.together import AXES, CONCEPTS, SHIFTS, TASKS, Axes, Measure, put_together
from unseen.analyses.tasks.scores import seed_notices
from unseen.backbones.catalogue import Published, catalogue
from unseen.errors import UserError, option
from unseen.papers import TABLES
from unseen.papers.concept_generalization import Accuracies, published_accuracies
from unseen.papers.transfer import (
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    published_task_scores,
    task_setting,
)
from unseen.report.axes.compared import compared_tasks
from unseen.report.axes.page_data import AxesPage, SharedModel
from unseen.report.axes.sources import (
    COG,
    OwnConcepts,
    Run,
    made_otherwise,
    own_concepts,
    own_shift_scores,
    own_task_scores,
    read_runs,
    read_shift_scores,
    short_finetunings,
    what_runs_say,
    what_task_runs_are_of,
)
from unseen.runs.score import Score
from unseen.runs.seed_means import SeedMean, renamed, seeds_text

ERICSSON = "ericsson-2021"
FINE_TUNED = (FINETUNED, FINETUNED_ECE, FINETUNED_SCALED_ECE)
LOADED_OTHERWISE = {
    "s-BYOL": "ImageNet-CoG used the converter's network, which pads its first layers like TensorFlow; Ericsson et al. "
    "loaded the weights into torchvision's network, which pads differently: the features differ"
}
"""For models with the same file in both papers, the differences in how the public code of each uses it."""


def study_axes(folders: Sequence[Path], shifts: Path | None = None, *, published: bool = False) -> AxesPage:
    """Compare the backbones of runs and of a fit of shifts on every axis with data.

    Backbones are matched by name. The published models are those that both ImageNet-CoG and Ericsson et al. measured;
    none of them is on the axis of shifts.

    Args:
        folders: folders of runs of the three studies.
        shifts: output folder of a fit of shifts, or its `models.csv`.
        published: whether to include the published models; they are shown alone if nothing else is given.
    """
    published = published or (not folders and shifts is None)
    models = shared_models() if published else []
    concepts, tasks, shift_runs = read_runs(folders)
    if shifts is not None and shift_runs:
        raise UserError(
            f"{shift_runs[0].folder}: a run of shifts was given together with a fit ({option('shifts')}); give one of "
            "the two"
        )
    taken = {model.name for model in models}
    own = own_concepts(concepts) if concepts else None
    accuracies = _accuracies(own, models, taken)
    own_scores = [renamed(score, _own_name(score.backbone, taken)) for score in own_task_scores(tasks)]
    seeds = seeds_text(score for score in own_scores if isinstance(score, SeedMean))
    short = short_finetunings(tasks)
    task_scores = [*own_scores, *_beside_own(_printed(models), whole_search=not short)]
    fitted, untold = own_shift_scores(shift_runs) if shifts is None else (read_shift_scores(shifts), ())
    shift_scores = [replace(score, backbone=_own_name(score.backbone, taken)) for score in fitted]
    names = {
        CONCEPTS: accuracies.models if accuracies else (),
        TASKS: tuple(dict.fromkeys(score.backbone for score in task_scores)),
        SHIFTS: tuple(dict.fromkeys(score.backbone for score in shift_scores)),
    }
    lacking = own.lacking if own else []
    if own and lacking and not any(names.values()):
        raise UserError(f"{own.places}: {lacking[0]}")
    # Before the measures: means are over the data that all have, and skipped backbones must not change them.
    kept = _on_several(names)
    of_tasks = compared_tasks([(run.name, run.data) for run in tasks])
    on_tasks, notes = task_measures((score for score in task_scores if score.backbone in kept), of_tasks)
    on_shifts, more = shift_measures(score for score in shift_scores if score.backbone in kept)
    on_concepts = _concepts(
        accuracies, kept, own is None or own.on_imagenet, own.compared if own and not models else {}
    )
    axes = put_together([*on_concepts, *on_tasks, *on_shifts])
    runs = {CONCEPTS: concepts, TASKS: tasks, SHIFTS: shift_runs}
    given = {axis: [run.name for run in of] for axis, of in runs.items()}
    given[SHIFTS] += [] if shifts is None else [str(shifts)]
    notices = [
        *what_runs_say([*concepts, *tasks, *shift_runs], _shown([*concepts, *tasks], taken, axes)),
        *what_task_runs_are_of(tasks),
        *short,
        *([f"Scores on tasks with several seeds are means over {seeds}."] if seeds else []),
        *seed_notices(task_scores),
        *made_otherwise(concepts, tasks),
        *filter(None, [own.classes if own else ""]),
        *(f"Left out of concepts: {clause}." for clause in lacking),
        *notes,
        *more,
        *untold,
        *_missing(axes, names, given, {CONCEPTS: lacking, SHIFTS: untold}),
        *_alone(names, axes),
    ]
    files = {"concept runs": concepts, "task runs": tasks, "shift runs": shift_runs}
    places = {label: [run.folder for run in runs] for label, runs in files.items()} | {"shifts": [shifts or ""]}
    return AxesPage(
        axes=axes,
        models=[model for model in models if model.name in axes.backbones],
        notices=notices,
        provenance={
            **{label: text for label, paths in places.items() if (text := ", ".join(map(str, paths)))},
            **{name: f"{TABLES[name].reference}. {TABLES[name].link}" for name in (COG, ERICSSON) if models},
        },
    )


def shared_models() -> list[SharedModel]:
    """The models that both ImageNet-CoG and Ericsson et al. measured, matched by their weights."""
    other = {_file(model): model.name for model in catalogue(ERICSSON)}
    return [
        SharedModel(model.name, other[_file(model)], model.weights, LOADED_OTHERWISE.get(model.name, ""))
        for model in catalogue(COG)
        if _file(model) in other
    ]


def _file(model: Published) -> tuple[str, str, str]:
    return model.source, model.repository, model.weights


def _accuracies(own: OwnConcepts | None, models: Sequence[SharedModel], taken: Collection[str]) -> Accuracies | None:
    """Accuracies of runs and of published models, with unique names."""
    parts = []
    if own is not None:
        if models and not own.on_imagenet:
            what = f"images of ImageNet-CoG ({own.other_data})" if own.other_data else "concepts of ImageNet-CoG"
            raise UserError(
                f"{own.places}: not a run on the {what}, so its scores are not comparable with the published ones; "
                f"leave out {option('published', True)}"
            )
        parts.append(own.accuracies.called([_own_name(name, taken) for name in own.accuracies.models]))
    if models:
        printed = published_accuracies()
        parts.append(printed.at([printed.models.index(model.name) for model in models]))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _concepts(
    accuracies: Accuracies | None, kept: Collection[str], on_imagenet: bool, compared: Mapping[str, ComparedPairs]
) -> list[Measure]:
    rows = [place for place, name in enumerate(accuracies.models) if name in kept] if accuracies else []
    if not accuracies or not rows:
        return []
    return concept_measures(accuracies.at(rows), published=on_imagenet, compared=compared)


def _own_name(name: str, taken: Collection[str]) -> str:
    return f"{name} (yours)" if name in taken else name


def _printed(models: Sequence[SharedModel]) -> list[Score]:
    """The paper's scores of the shared models, with their names here."""
    names = {model.other: model.name for model in models}
    return [
        replace(score, backbone=names[score.backbone]) for score in published_task_scores() if score.backbone in names
    ]


def _beside_own(printed: Sequence[Score], *, whole_search: bool) -> list[Score]:
    """The published scores for the measures; those of fine-tuning only if the run's own have the full search too."""
    return [
        score for score in printed if has_measure(score) and (whole_search or task_setting(score) not in FINE_TUNED)
    ]


def _shown(runs: Sequence[Run], taken: Collection[str], axes: Axes) -> dict[str, str]:
    """Backbones of runs on the page: name in runs → name on the page."""
    called = {each.name: _own_name(each.name, taken) for run in runs for each in run.data.backbones}
    return {name: title for name, title in called.items() if title in axes.backbones}


def _missing(
    axes: Axes,
    names: Mapping[str, Sequence[str]],
    given: Mapping[str, Sequence[str]],
    reasons: Mapping[str, Sequence[str]],
) -> list[str]:
    """Sentences about axes that are not on the page: no data, no common measure, or backbones with other names.

    Args:
        given: names of the runs of each axis.
        reasons: what other sentences say about runs without scores for their axis.
    """
    told = []
    for axis in axes.missing():
        title, own = AXES[axis], names[axis]
        if not own and given[axis]:
            what = f"{title} are not shown: no scores that this page compares in {', '.join(given[axis])}."
            told += [] if reasons.get(axis) else [what]
        elif not own:
            told.append(f"No data on {title.lower()}: give {_how_to_get(axis)} to include them.")
        elif _is_apart(axis, names):
            told.append(
                f"{title} are not shown: backbones are matched by name, and theirs ({_some(own)}) are not among those "
                f"of the other axes ({_some(axes.backbones)}). Give them the same names."
            )
        else:
            told.append(f"{title} are not shown: their backbones have no measure in common.")
    return told


def _how_to_get(axis: str) -> str:
    if axis == SHIFTS:
        return f"a run of the study shifts, or the output of unseen shifts fit ({option('shifts')}),"
    return f"a run of unseen {axis}"


def _is_apart(axis: str, names: Mapping[str, Sequence[str]]) -> bool:
    """Whether no backbone of an axis is on another one."""
    return not any(name in own for other, own in names.items() if other != axis for name in names[axis])


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"


def _on_several(names: Mapping[str, Sequence[str]]) -> set[str]:
    """The backbones on two or more axes; all backbones if there are none."""
    counts = Counter(name for own in names.values() for name in own)
    return {name for name, axes in counts.items() if axes > 1} or set(counts)


def _is_alone(name: str, axis: str, names: Mapping[str, Sequence[str]], measured: Collection[str]) -> bool:
    return name in measured or all(name not in own for other, own in names.items() if other != axis)


def _alone(names: Mapping[str, Sequence[str]], axes: Axes) -> list[str]:
    """Sentences about backbones on one axis only, if others are on several."""
    told = []
    for axis, title in AXES.items():
        if axis in axes.missing() and _is_apart(axis, names):
            continue  # told by `_missing`
        measured = {name for measure in axes.measures.values() if measure.axis == axis for name in measure.values}
        alone = [name for name in names[axis] if name not in axes.backbones and _is_alone(name, axis, names, measured)]
        if alone:
            told.append(f"Left out, only on {title.lower()}: {_some(alone)}. Backbones are matched by name.")
    return told
