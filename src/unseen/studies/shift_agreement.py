"""Agreement-on-the-line from files of predictions: one .npz a test set, an array of classes a model.

The arrays are (images,) predicted class indices under the names of the models; `labels`, where there is one, are the
true classes. ID labels turn the line into estimates of OOD accuracies; OOD labels are only to compare those with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean
from unseen.metrics.accuracy_scales import within_unit
from unseen.metrics.agreement import AgreementLine, agreement_line, expected_accuracy, refined_accuracy

LABELS = "labels"
Classes = NDArray[np.integer]


@dataclass(frozen=True)
class Estimate:
    """A model's accuracies, fractions: on ID, what the line and its refinement say of OOD, and OOD where known."""

    model: str
    id_accuracy: float
    line: float
    refined: float
    ood_accuracy: float | None


@dataclass(frozen=True)
class AgreementStudy:
    """The line over all pairs of models; estimates where there are ID labels."""

    models: tuple[str, ...]
    line: AgreementLine
    estimates: tuple[Estimate, ...]


def study_agreement(id_file: Path, ood_file: Path) -> AgreementStudy:
    """The line of two files of predictions of the same models."""
    known, shifted = read_predictions(id_file), read_predictions(ood_file)
    models = tuple(name for name in known if name != LABELS)
    for name in models:
        if name not in shifted:
            raise UserError(f"{ood_file}: no predictions of '{name}'{did_you_mean(name, shifted)}")
    on_id, on_ood = (np.stack([made[name] for name in models]) for made in (known, shifted))
    line = agreement_line(on_id, on_ood)
    if LABELS not in known:
        return AgreementStudy(models, line, ())
    right = (on_id == known[LABELS]).mean(axis=1)
    inside = within_unit(right, on_id.shape[1])
    guesses = zip(expected_accuracy(line, inside), refined_accuracy(line, inside), strict=True)
    truth = (on_ood == shifted[LABELS]).mean(axis=1).tolist() if LABELS in shifted else [None] * len(models)
    estimates = [
        Estimate(model, float(share), float(simple), float(refined), true)
        for model, share, (simple, refined), true in zip(models, right, guesses, truth, strict=True)
    ]
    return AgreementStudy(models, line, tuple(estimates))


def read_predictions(path: Path) -> Mapping[str, Classes]:
    """Arrays of class indices by model, all of one length; nothing is unpickled."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (OSError, ValueError, BadZipFile, AttributeError, TypeError):
        raise UserError(f"{path}: not an .npz file of plain arrays, one a model") from None
    for name, values in arrays.items():
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise UserError(f"{path}: '{name}' must be one class index an image, not {values.dtype} {values.shape}")
    if len({len(values) for values in arrays.values()}) > 1:
        sizes = ", ".join(f"{name} {len(values)}" for name, values in list(arrays.items())[:4])
        raise UserError(f"{path}: models have predictions of different numbers of images ({sizes} …)")
    if not [name for name in arrays if name != LABELS]:
        raise UserError(f"{path}: there are no predictions in it")
    return arrays
