"""The files of `unseen shifts fit`: fit.json, models.csv, groups.csv and report.html."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unseen.analyses.robustness.fits import ShiftFit, ShiftStudy
from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.analyses.robustness.group_effects import group_effects
from unseen.analyses.robustness.groups import AVERAGE, GroupScore, group_scores
from unseen.analyses.robustness.notes import notes
from unseen.analyses.robustness.predictors import PredictorStudy, compare_predictors
from unseen.errors import UserError
from unseen.files import write_table, write_text
from unseen.metrics.robustness import LogitFit, fit_accuracies
from unseen.metrics.robustness_checks import Comparison
from unseen.probes.by_name.classifier import PROTOCOL
from unseen.report.shifts.page import write_shift_page
from unseen.report.shifts.page_data import GroupLine, Line, OodPanel, ShiftPage
from unseen.text.words import joined
from unseen.version import __version__

FEWEST_FOR_A_LINE = 4
MOST_SHOWN = 4000
"""Models on a page, over all OOD sets together: about 3 MB."""


def write_study(study: ShiftStudy, folder: Path, *, source: str, fit_on: str = "") -> ShiftPage:
    """Write the files, and return the page; `source` and `fit_on` are recorded in them."""
    groups = group_scores(study)
    record = study_record(study, groups) | {"table": source, "fit_on": fit_on or None}
    page = study_page(study, source=source, fit_on=fit_on)
    write_text(folder / "fit.json", json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    ids = [f"id:{name}" for name in study.table.id_sets]
    header = ["ood", "model", "group", "in_fit", *ids, "accuracy", "expected", "rho", "low", "high"]
    write_table(folder / "models.csv", header, _model_rows(study))
    header = ["id", "ood", "group", "in_fit", "models", "mean", "deviation", "mae"]
    write_table(folder / "groups.csv", header, map(_group_row, groups))
    write_shift_page(page, folder / "report.html")
    return page


def study_record(study: ShiftStudy, groups: Sequence[GroupScore]) -> dict[str, Any]:
    """fit.json: R² on the scale of the fit; mae, errors and ρ in points."""
    settings, table = study.settings, study.table
    return {
        "unseen": __version__,
        "protocol": PROTOCOL,
        "unit": table.unit,
        "id": list(table.id_sets),
        "method": settings.method.name,
        "minimum": dict(settings.minimum),
        "sizes": dict(settings.sizes),
        "bootstrap": {"resamples": settings.resamples, "seed": settings.seed, "level": settings.level},
        "ood": {fit.ood: {"id": list(table.id_columns[fit.ood])} | _fit_record(fit) for fit in study.fits},
        "groups": [asdict(group) for group in groups],
        "notes": notes(study),
    }


def _fit_record(fit: ShiftFit) -> dict[str, Any]:
    ends = {name: [float(low), float(high)] for name, low, high in zip(
        (*fit.fit.names, "intercept"), *fit.intervals, strict=True
    )}  # fmt: skip
    return _coefficients(fit.fit) | {
        "intervals": {"coefficients": {name: ends[name] for name in fit.fit.names}, "intercept": ends["intercept"]},
        "leave_one_out": {"mae": fit.held_out.held_out, "standard_error": fit.held_out.standard_error},
        "collinearity": {
            "condition": fit.collinearity.condition,
            "variance_inflation": dict(zip(fit.fit.names, fit.collinearity.inflation.tolist(), strict=True)),
            "warning": fit.collinearity.warning,
        },
        "leave_one_out_of_id_sets": [_comparison(found) for found in fit.comparisons],
        "leave_group_out_of_id_sets": [_comparison(found) for found in fit.by_group],
        "alternatives": [
            {
                "method": other.fit.method.name,
                "leave_one_out_mae": other.held_out,
                "greatest_change_of_rho": other.change,
            }
            | _coefficients(other.fit)
            for other in fit.alternatives
        ],
        "left_out": {model: why.text for model, why in fit.left_out.items()},
    }


def _coefficients(fit: LogitFit) -> dict[str, Any]:
    weights = dict(zip(fit.names, fit.weights.tolist(), strict=True))
    return {
        "n": fit.n,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "few_models": fit.few_models,
        "coefficients": weights,
        "intercept": fit.intercept,
        "r2": fit.r2,
        "adjusted_r2": fit.adjusted_r2,
        "mae": fit.mae,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    fit = found.fit
    errors = {"held_out_mae": found.held_out, "standard_error": found.standard_error}
    return {"id": list(fit.names), "r2": fit.r2, "mae": fit.mae} | errors


def _model_rows(study: ShiftStudy) -> Iterator[list[object]]:
    """One row per OOD set and model; accuracies and ρ as fractions, whatever the unit of the table."""
    for fit in study.fits:
        for score in fit.scores:
            numbers = (*score.id_accuracy, score.accuracy, score.expected, score.rho, score.low, score.high)
            in_fit = "yes" if score.in_fit else "no"
            yield [fit.ood, score.model, score.group, in_fit, *(f"{number:.6f}" for number in numbers)]


def _group_row(score: GroupScore) -> list[object]:
    """One row per group and choice of ID sets, in points."""
    numbers = ("" if number is None else f"{number:.6f}" for number in (score.mean, score.deviation, score.mae))
    in_fit = "yes" if score.in_fit else "no"
    return [" + ".join(score.id_sets), score.ood, score.group, in_fit, score.models, *numbers]


def study_page(study: ShiftStudy, *, source: str, fit_on: str = "") -> ShiftPage:
    """The data of the page of a fit; `source` and `fit_on` appear in its provenance."""
    settings, table = study.settings, study.table
    most = MOST_SHOWN // len(study.fits)
    provenance = {
        "Table": f"{source}, accuracies read as {table.unit}",
        "Protocol": f"{PROTOCOL}: {settings.method.name}",
        "Fit on": fit_on or "all models",
        "Minimum": ", ".join(f"{name} ≥ {value:g}" for name, value in settings.minimum.items()) or "none",
        "Sizes": ", ".join(f"{name} {size:,}" for name, size in settings.sizes.items()) or "not given",
        "Intervals": f"{settings.level:.0%}, {settings.resamples:,} resamples of the models, seed {settings.seed}",
    }
    return ShiftPage(
        title=f"Effective robustness over {joined(table.id_sets)}",
        id_sets=table.id_sets,
        scale=settings.method.scale.name,
        groups=tuple(dict.fromkeys(table.groups)),
        panels=tuple(_panel(study, fit, most) for fit in study.fits),
        group_scores=tuple(asdict(group) | {"average": group.ood == AVERAGE} for group in group_scores(study)),
        notes=(*notes(study), *shown_note(study, most)),
        provenance=provenance,
        level=settings.level,
        group_effects=group_effects(study),
        predictors=_predictors(study),
    )


def _predictors(study: ShiftStudy) -> PredictorStudy | None:
    """What a table of accuracies alone says of predictors, if it has several; None if they cannot be compared."""
    if len(study.table.id_sets) < 2:
        return None
    try:
        return compare_predictors(study.table, study.settings)
    except UserError:
        return None


def _panel(study: ShiftStudy, fit: ShiftFit, most: int) -> OodPanel:
    return OodPanel(
        name=fit.ood,
        id_columns=study.table.id_columns[fit.ood],
        record=_fit_record(fit),
        points=shown_models(fit.scores, most),
        lines=tuple(_line(study, fit, place) for place in range(len(fit.fit.names))),
    )


def _line(study: ShiftStudy, fit: ShiftFit, place: int) -> Line:
    """The fit to a single ID set with its interval, on the scale of the fit."""
    name, line = fit.fit.names[place], fit.lines[place]
    single = next(found.fit for found in fit.comparisons if found.fit.names == (name,))
    weight = float(single.weights[0])
    return Line(
        name, weight, single.intercept, single.r2, single.mae, tuple(line.grid.tolist()), tuple(line.low.tolist()),
        tuple(line.high.tolist()), tuple(_group_lines(study, fit, place)),
    )  # fmt: skip


def _group_lines(study: ShiftStudy, fit: ShiftFit, place: int) -> Iterator[GroupLine]:
    """One line per group, if there are several groups and a group has enough different models."""
    method = study.settings.method
    groups = dict[str, list[FittedModel]]()
    for score in fit.scores:
        groups.setdefault(score.group, []).append(score)
    for group, members in groups.items() if len(groups) > 1 else ():
        x = np.array([score.id_accuracy[place] for score in members])
        if len(members) < FEWEST_FOR_A_LINE:
            continue
        try:
            own = fit_accuracies(x, np.array([score.accuracy for score in members]), method=method)
        except UserError:  # all models of the group have the same ID or OOD accuracy
            continue
        ends = method.scale.forward([x.min(), x.max()])
        low, high = own.weights[0] * ends + own.intercept
        yield GroupLine(group, (float(ends[0]), float(ends[1])), (float(low), float(high)))


def shown_models(models: Sequence[FittedModel], most: int) -> tuple[FittedModel, ...]:
    """At most `most` models, in their order: a quarter each with the highest and the lowest ρ, the rest between."""
    if len(models) <= most:
        return tuple(models)
    by_rho = np.argsort([model.rho for model in models], kind="stable")
    ends = most // 4
    between = np.linspace(ends, len(models) - ends - 1, most - 2 * ends).round().astype(int)
    chosen = np.concatenate([by_rho[:ends], by_rho[between], by_rho[len(models) - ends :]])
    return tuple(models[place] for place in np.sort(chosen))


def shown_note(study: ShiftStudy, most: int) -> list[str]:
    """A sentence if some models are not shown; `most` counts models per OOD set."""
    many = max(len(fit.scores) for fit in study.fits)
    if many <= most:
        return []
    return [
        f"This page shows {most:,} of {many:,} models for each OOD test set: the {most // 4:,} with the highest and "
        "the lowest effective robustness, and an even selection of the others. Fits and group means use all models; "
        "models.csv lists them all."
    ]
