"""From models and test sets to the table of accuracies that `unseen shifts fit` reads.

Logits are computed once for each model and test set. Accuracies come from them, under any choice of classes:

- `own`: each test set on the classes it has (`imagenet-r`);
- the name of a test set: every test set that has all its classes, on just those (`val-on-imagenet-r-classes`);
- `shared`: every test set on the classes that all have (`val-on-shared-classes`).

An ID and an OOD test set of one fit must be on the same classes. A column that is called like a test set is on all
classes of it, with or without a mapping of classes; what a mapping keeps of them is a column of its own
(`cifar-10-on-mapped-classes`, `val-on-mapped-cifar-10-classes`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.classifier import ClassifierSpec, classifier_digest
from unseen.errors import UserError, did_you_mean, names_of
from unseen.features.logits import Logits, read_logits, store_logits
from unseen.images.shift_sets.shift_set import OpenSet
from unseen.metrics.class_subset import class_names, label_class, lacking_classes, shared_classes, subset_accuracy
from unseen.runs.lock import folder_lock
from unseen.studies.shifts.accuracies import Column, Scored, add_row, check_columns, has_row
from unseen.studies.shifts.plans import ModelPlan, check_plan, load_model
from unseen.studies.shifts.predictions import FOLDER as PREDICTIONS
from unseen.studies.shifts.predictions import add_predictions, predictions

if TYPE_CHECKING:
    from unseen.features.one_pass import Progress
    from unseen.features.settings import Settings

OWN, SHARED = "own", "shared"
REMEDY = "say how classes compare (--mapping), or what the outputs are (--outputs, or the column classes)"
LOGITS = "logits"
Watch = Callable[[str, str], "Callable[[Progress], None]"]
"""Model and test set → what is called as it goes on."""


@dataclass(frozen=True)
class Evaluated:
    """The rows of the models that were evaluated; `passed_over`: model → why it could not be loaded."""

    rows: tuple[Scored, ...]
    passed_over: Mapping[str, str]


def evaluate_models(
    plans: Sequence[ModelPlan],
    sets: Sequence[OpenSet],
    folder: Path,
    settings: "Settings",
    *,
    scopes: Sequence[str] = (OWN,),
    mapping: Mapping[str, str] | None = None,
    watch: Watch = lambda model, test_set: lambda progress: None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Evaluated:
    """Evaluate every model on every test set and add each to the tables of a folder as soon as it is done.

    Stopped, the same call goes on at the shard where it was; run again, it only scores. A model that cannot be loaded
    is passed over; if none can, or none has the outputs, that is an error.

    Args:
        folder: for `accuracies.csv`, `columns.csv`, predictions and logits; what other models have there stays.
        scopes: on which classes: any of "own", "shared" and names of test sets.
        mapping: name → class, for labels and for outputs of models; what is not in it is left out.
        tell: given sentences on how models were loaded, what they were not scored on, and what was left out.
    """
    for plan in plans:
        check_plan(plan)
    labels = {found.shift_set.name: _labels(found) for found in sets}
    columns = table_columns(labels, scopes, mapping)
    check_columns(folder, columns)
    for sentence in _unmapped(columns, labels) if mapping is not None else ():
        tell(sentence)
    rows, passed_over, damaged = list[Scored](), dict[str, str](), dict[str, int]()
    for plan in plans:
        try:
            model = load_model(plan, settings.device)
        except UserError as error:
            passed_over[plan.model] = str(error)
            continue
        stores = dict(_store_all(plan.model, model, sets, columns, folder / LOGITS, settings, watch, tell))
        logits = {name: read_logits(store) for name, store in stores.items()}
        _tell_damaged(logits, damaged, tell)
        rows.append(_add(plan, model.spec, logits, columns, folder, tell))
    if not any(row.accuracy for row in rows):
        raise UserError(_nothing_scored(passed_over))
    return Evaluated(tuple(rows), passed_over)


def _nothing_scored(passed_over: Mapping[str, str]) -> str:
    if passed_over:
        model, why = next(iter(passed_over.items()))
        more = f", and {len(passed_over) - 1} more could not be loaded" if len(passed_over) > 1 else ""
        return f"no model is scored; {model}: {why}{more}"
    return f"no model has outputs for all classes of any column, so nothing is scored; {REMEDY}"


def _tell_damaged(logits: Mapping[str, Logits], said: dict[str, int], tell: Callable[[str], None]) -> None:
    """Say how many images of each test set are left out, once, or again where another model leaves out others."""
    for name, found in logits.items():
        if found.damaged != said.get(name, 0):
            said[name] = found.damaged
            total = len(found) + found.damaged
            tell(f"{name}: images that are damaged and were left out: {found.damaged:,} of {total:,}")


def _add(
    plan: ModelPlan,
    spec: Spec,
    logits: Mapping[str, Logits],
    columns: Sequence[Column],
    folder: Path,
    tell: Callable[[str], None],
) -> Scored:
    """Score a model and add it to the files of the folder, if there is anything to add."""
    classifier = classifier_digest(spec) if isinstance(spec, ClassifierSpec) else ""
    row = replace(score_model(plan, logits, columns), classifier=classifier)
    if row.accuracy:
        scored = [column for column in columns if column.name in row.accuracy]
        made = {column.name: predictions(logits[column.test_set], column) for column in scored}
        with folder_lock(folder):
            check_columns(folder, columns, row.images)
            same = has_row(folder, plan.model, classifier)
            add_predictions(folder / PREDICTIONS, plan.model, made, keep=same)
            changed = add_row(folder, row, columns)
        if changed:
            tell(
                f"{plan.model}: takes the place of a row of that name, which had other accuracies on {changed[0]}"
                + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
            )
    return row


def table_columns(
    labels: Mapping[str, tuple[str, ...]], scopes: Sequence[str], mapping: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """The columns that some scopes ask for; see the module.

    Args:
        labels: those that each test set has.
    """
    columns = dict[str, Column]()
    for scope in scopes:
        if scope not in (OWN, SHARED, *labels):
            words = [OWN, SHARED, *labels]
            hint = did_you_mean(scope, words) or f"; there are {', '.join(words)}"
            raise UserError(f"no classes '{scope}' to score on{hint}")
        columns |= {column.name: column for column in _scope_columns(scope, labels, mapping)}
    return tuple(columns.values())


def _scope_columns(
    scope: str, labels: Mapping[str, tuple[str, ...]], mapping: Mapping[str, str] | None
) -> Iterator[Column]:
    mapped = "mapped-" if mapping is not None else ""
    if scope == OWN:
        for name, own in labels.items():
            yield _column(name, name, [own], None)
            if mapping is not None and shared_classes([own], class_names([own], mapping)):
                yield _column(f"{name}-on-mapped-classes", name, [own], mapping)
    elif scope == SHARED:
        for name in labels:
            yield _column(f"{name}-on-shared-classes", name, list(labels.values()), mapping)
    else:
        whole = _column(f"{scope}-on-mapped-classes" if mapped else scope, scope, [labels[scope]], mapping)
        yield whole
        for name, own in labels.items():
            both = [labels[scope], own]
            if name != scope and shared_classes(both, class_names(both, mapping)) == whole.kept:
                yield _column(f"{name}-on-{mapped}{scope}-classes", name, both, mapping)


def _unmapped(columns: Sequence[Column], labels: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Of each column under a mapping: which labels of its test set it has no images of."""
    for column in columns:
        own = labels[column.test_set]
        lost = [label for label in own if label_class(label, column.classes) not in column.kept]
        if lost:
            yield f"{column.name}: {len(lost):,} of {len(own):,} labels are left out: {names_of(lost)}"


def _column(name: str, test_set: str, labels: Sequence[tuple[str, ...]], mapping: Mapping[str, str] | None) -> Column:
    classes = class_names(labels, mapping)
    kept = shared_classes(labels, classes)
    if not kept:
        raise UserError(f"{name}: no class that its test sets share; give other test sets or a mapping of classes")
    return Column(name, test_set, kept, classes)


def score_model(plan: ModelPlan, logits: Mapping[str, Logits], columns: Sequence[Column]) -> Scored:
    """A model's accuracies from its logits by test set; where it has none of a test set, there are gaps."""
    accuracy, images = dict[str, float](), dict[str, int]()
    for column in columns:
        found = logits.get(column.test_set)
        if found is None or lacking_classes(found.columns, column.kept, column.classes):
            continue
        values = torch.from_numpy(np.ascontiguousarray(found.values[: len(found)]))
        subset = subset_accuracy(values, found.image_labels, found.columns, column.kept, column.classes)
        accuracy[column.name], images[column.name] = subset.accuracy, subset.images
    return Scored(plan, accuracy, images)


def _store_all(
    name: str,
    model: Backbone,
    sets: Sequence[OpenSet],
    columns: Sequence[Column],
    folder: Path,
    settings: "Settings",
    watch: Watch,
    tell: Callable[[str], None],
) -> Iterator[tuple[str, Path]]:
    """The stores of the test sets of which a column can be scored; of the others nothing is computed."""
    for sentence in model.notes:
        tell(f"{name}: {sentence}")
    outputs = model.spec.classes if isinstance(model.spec, ClassifierSpec) else ()
    for found in sets:
        test_set = found.shift_set.name
        own = [column for column in columns if column.test_set == test_set]
        if all(lacking_classes(outputs, column.kept, column.classes) for column in own):
            tell(f"{name}: passes {test_set} over, as it lacks outputs for its classes; {REMEDY}")
            continue
        told = watch(name, test_set)
        store = store_logits(found.source, found.manifest, found.shift_set.split, model, folder, settings, watch=told)
        yield test_set, store


def _labels(found: OpenSet) -> tuple[str, ...]:
    return tuple(sorted({entry.label for entry in found.manifest.entries}))
