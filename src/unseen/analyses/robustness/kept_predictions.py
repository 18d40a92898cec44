"""The predictions that runs of shifts keep on a column, by model, with the names of the classes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.of_runs import RunTable
from unseen.errors import UserError
from unseen.probes.by_name.classifier import Classifier
from unseen.runs.kept_labels import labels_place, read_labels
from unseen.runs.kept_units import result_behind
from unseen.runs.results import Result
from unseen.studies.shifts.predictions import FOLDER, LABELS, read_predictions

Classes = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class KeptPredictions:
    """The predictions of models on the same images.

    Attributes:
        classes: names of the classes, by index.
        y: (n,) true classes.
        models: model → (n,) predicted classes.
        ids: hash of the names of the images; empty if unknown.
        outputs: model → the folder of its run, and the key of its logits there.
    """

    column: str
    classes: tuple[str, ...]
    y: Classes
    models: Mapping[str, Classes]
    ids: str
    outputs: Mapping[str, tuple[Path, str]]


def kept_predictions(runs: RunTable, column: str) -> KeptPredictions:
    """The predictions on a column of all models that were tested on the images of the first one.

    Runs of which files are missing, as of earlier versions, are a user error.
    """
    made, files = dict[str, Classes](), dict[Path, Mapping[str, Classes]]()
    outputs = dict[str, tuple[Path, str]]()
    first: tuple[tuple[str, ...], Classes, str] | None = None
    for model, results, result in _results(runs, column):
        path = results.parent / FOLDER / f"{result.job['dataset']}.npz"
        if path not in files:
            if not path.is_file():
                raise UserError(f"{path}: the predictions of this run were not kept; run the study again")
            files[path] = read_predictions(path)
        guess = files[path].get(result.job["backbone"])
        if guess is None:
            raise UserError(f"{path}: has no predictions of {result.job['backbone']}; run the study again")
        own = (_classes(results, result), files[path][LABELS])
        if first is None:
            first = *own, read_labels(labels_place(results, result.job["reads"])).ids
        if own[0] == first[0] and np.array_equal(own[1], first[1]):
            made[model] = guess
            outputs[model] = results.parent, result.job["reads"]["outputs"]
    if first is None:
        raise UserError(f"no classifier of these runs has predictions on '{column}'")
    return KeptPredictions(column, first[0], first[1], made, first[2], outputs)


def _results(runs: RunTable, column: str) -> Iterator[tuple[str, Path, Result]]:
    """Model, folder of results, and result of each classifier on a column."""
    for score in runs.data.scores:
        if score.domain == column and score.probe == Classifier.name and score.metric == "top1":
            behind = result_behind(runs.data, score)
            if behind is not None:
                yield score.backbone, *behind


def _classes(results: Path, result: Result) -> tuple[str, ...]:
    """The names of the classes of a column, if every class has an image; otherwise their indices are not known."""
    images = read_labels(labels_place(results, result.job["reads"]))
    wanted = int(result.details["classes"])
    if len(images.classes) != wanted:
        raise UserError(
            f"{result.job['dataset']}: {wanted - len(images.classes)} of {wanted} classes have no image, so it is not "
            "known which class is which; complete the test set and run the study again"
        )
    return images.classes
