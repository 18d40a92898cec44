"""From models and test sets to the table of accuracies that `unseen shifts fit` reads.

Logits are computed once for each model and test set. Accuracies come from them, under any choice of classes:

- `own`: each test set on the classes it has (`imagenet-r`);
- the name of a test set: every test set that has all its classes, on just those (`val-on-imagenet-r-classes`);
- `shared`: every test set on the classes that all have (`val-on-shared-classes`).

An ID and an OOD test set of one fit must be on the same classes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from unseen.backbones.classifier import ClassifierSpec
from unseen.errors import UserError, did_you_mean
from unseen.features.logits import Logits, read_logits, store_logits
from unseen.files import write_table
from unseen.images.shift_sets.shift_set import OpenSet
from unseen.metrics.class_subset import class_names, lacking_classes, shared_classes, subset_accuracy
from unseen.studies.shift_plans import ModelPlan, check_plan, load_model

if TYPE_CHECKING:
    from unseen.features.one_pass import Progress
    from unseen.features.settings import Settings

OWN, SHARED = "own", "shared"
REMEDY = "say how classes compare (--mapping), or what the outputs are (--outputs, or the column classes)"
LOGITS, ACCURACIES, COLUMNS = "logits", "accuracies.csv", "columns.csv"
Watch = Callable[[str, str], "Callable[[Progress], None]"]
"""Model and test set → what is called as it goes on."""


@dataclass(frozen=True)
class Column:
    """A column of the table: a test set on some classes.

    Attributes:
        kept: the classes, among the values of `classes`, which says what class a name is of.
    """

    name: str
    test_set: str
    kept: tuple[str, ...]
    classes: Mapping[str, str]


@dataclass(frozen=True)
class Scored:
    """A model's row.

    Attributes:
        accuracy: by column, a fraction; a column is missing where the model has no output for some of its classes.
        images: that were scored, by column.
    """

    plan: ModelPlan
    accuracy: Mapping[str, float]
    images: Mapping[str, int]


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
) -> list[Scored]:
    """Evaluate every model on every test set and write the table and what its columns are.

    Stopped, the same call goes on at the shard where it was; run again, it only scores.

    Args:
        folder: for `accuracies.csv`, `columns.csv` and the logits.
        scopes: on which classes: any of "own", "shared" and names of test sets.
        mapping: name → class, for labels and for outputs of models; what is not in it is left out.
        tell: given sentences on how models were loaded.
    """
    for plan in plans:
        check_plan(plan)
    columns = table_columns({found.shift_set.name: _labels(found) for found in sets}, scopes, mapping)
    rows = []
    for plan in plans:
        stores = dict(_store_all(plan, sets, columns, folder / LOGITS, settings, watch, tell))
        rows.append(score_model(plan, {name: read_logits(store) for name, store in stores.items()}, columns))
    if not any(row.accuracy for row in rows):
        raise UserError(f"no model has outputs for all classes of any column, so nothing is scored; {REMEDY}")
    write_accuracies(rows, columns, folder)
    return rows


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
    if scope == OWN:
        for name, own in labels.items():
            yield _column(name, name, [own], mapping)
    elif scope == SHARED:
        for name in labels:
            yield _column(f"{name}-on-shared-classes", name, list(labels.values()), mapping)
    else:
        yield _column(scope, scope, [labels[scope]], mapping)
        of_scope = _column(scope, scope, [labels[scope]], mapping).kept
        for name, own in labels.items():
            column = _column(f"{name}-on-{scope}-classes", name, [labels[scope], own], mapping)
            if name != scope and column.kept == of_scope:
                yield column


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


def write_accuracies(rows: Sequence[Scored], columns: Sequence[Column], folder: Path) -> None:
    """`accuracies.csv`: a row a model, fractions, gaps where a model lacks classes; `columns.csv`: sizes of columns."""
    cells = (
        [row.plan.model, row.plan.group, *(_cell(row.accuracy.get(column.name)) for column in columns)] for row in rows
    )
    write_table(folder / ACCURACIES, ["model", "group", *(column.name for column in columns)], cells)
    facts = (
        [
            column.name,
            column.test_set,
            max((row.images.get(column.name, 0) for row in rows), default=0),
            len(column.kept),
        ]
        for column in columns
    )
    write_table(folder / COLUMNS, ["column", "test_set", "images", "classes"], facts)


def _cell(accuracy: float | None) -> str:
    return "" if accuracy is None else f"{accuracy:.6f}"


def _store_all(
    plan: ModelPlan,
    sets: Sequence[OpenSet],
    columns: Sequence[Column],
    folder: Path,
    settings: "Settings",
    watch: Watch,
    tell: Callable[[str], None],
) -> Iterator[tuple[str, Path]]:
    """The stores of the test sets of which a column can be scored; of the others nothing is computed."""
    model = load_model(plan, settings.device)
    for sentence in model.notes:
        tell(f"{plan.model}: {sentence}")
    outputs = model.spec.classes if isinstance(model.spec, ClassifierSpec) else ()
    for found in sets:
        name = found.shift_set.name
        own = [column for column in columns if column.test_set == name]
        if all(lacking_classes(outputs, column.kept, column.classes) for column in own):
            tell(f"{plan.model}: passes {name} over, as it lacks outputs for its classes; {REMEDY}")
            continue
        told = watch(plan.model, name)
        store = store_logits(found.source, found.manifest, found.shift_set.split, model, folder, settings, watch=told)
        yield name, store


def _labels(found: OpenSet) -> tuple[str, ...]:
    return tuple(sorted({entry.label for entry in found.manifest.entries}))
