"""Agreement-on-the-line from files of predictions (`unseen.studies.shifts.predictions`), one per test set.

With ID labels, the line gives estimates of OOD accuracies; OOD labels are only used to check them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unseen.errors import UserError
from unseen.metrics.accuracy_scales import within_unit
from unseen.metrics.agreement import AgreementLine, agreement_line, expected_accuracy, refined_accuracy
from unseen.studies.shifts.predictions import LABELS, read_predictions


@dataclass(frozen=True)
class Estimate:
    """A model's accuracies as fractions: ID, OOD as estimated by the line and its refinement, and OOD if known."""

    model: str
    id_accuracy: float
    line: float
    refined: float
    ood_accuracy: float | None


@dataclass(frozen=True)
class AgreementStudy:
    """The line over all pairs of models with predictions on both sets, and estimates if there are ID labels.

    Attributes:
        left_out: models with predictions on only one set.
    """

    models: tuple[str, ...]
    left_out: tuple[str, ...]
    line: AgreementLine
    estimates: tuple[Estimate, ...]


def study_agreement(id_file: Path, ood_file: Path) -> AgreementStudy:
    """The line of two files of predictions."""
    known, shifted = read_predictions(id_file), read_predictions(ood_file)
    models = tuple(name for name in known if name in shifted and name != LABELS)
    left_out = tuple(sorted((set(known) ^ set(shifted)) - {LABELS}))
    if not models:
        raise UserError(f"{id_file} and {ood_file} have no model in common; give predictions of the same models")
    on_id, on_ood = (np.stack([made[name] for name in models]) for made in (known, shifted))
    line = agreement_line(on_id, on_ood)
    if LABELS not in known:
        return AgreementStudy(models, left_out, line, ())
    right = (on_id == known[LABELS]).mean(axis=1)
    inside = within_unit(right, on_id.shape[1])
    guesses = zip(expected_accuracy(line, inside), refined_accuracy(line, inside), strict=True)
    truth = (on_ood == shifted[LABELS]).mean(axis=1).tolist() if LABELS in shifted else [None] * len(models)
    estimates = [
        Estimate(model, float(share), float(simple), float(refined), true)
        for model, share, (simple, refined), true in zip(models, right, guesses, truth, strict=True)
    ]
    return AgreementStudy(models, left_out, line, tuple(estimates))
