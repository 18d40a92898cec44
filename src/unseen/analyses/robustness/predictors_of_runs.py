"""What runs of shifts know of their models beside accuracies: severity of mistakes, agreement, spectra of features."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import AXIS, ShiftStudy
from unseen.analyses.robustness.kept_predictions import KeptPredictions, kept_predictions
from unseen.analyses.robustness.of_runs import RunTable, fit_runs, table_of_runs
from unseen.analyses.robustness.predictor_columns import Columns, Estimated, Measure
from unseen.analyses.robustness.predictors import HeldOut, PredictorStudy, compare_predictors
from unseen.analyses.robustness.severity import AUTO, UNITS, Severity, severity
from unseen.analyses.robustness.table import ShiftTable
from unseen.errors import UserError, did_you_mean, names_of
from unseen.metrics.accuracy_scales import within_unit
from unseen.metrics.agreement import agreement_line, expected_accuracy, refined_accuracy
from unseen.metrics.severity import FEWEST_MISTAKES
from unseen.ontology.class_distances import By
from unseen.probes.by_name.spectrum import Spectrum
from unseen.runs.record import read_run, read_with_results
from unseen.runs.score import Score
from unseen.runs.scores import results_on

Array = NDArray[np.float64]
LINE, REFINED = "agreement (line)", "agreement (refined)"


@dataclass(frozen=True, eq=False)
class RunPredictors:
    """The comparison of runs, or why there is none, and the severity of mistakes on each ID column."""

    study: PredictorStudy | None
    why_not: str
    severities: tuple[Severity, ...]
    notices: tuple[str, ...]


def predictors_of_runs(
    runs: RunTable,
    study: ShiftStudy,
    spectra: Sequence[Score] = (),
    *,
    hierarchy: str = AUTO,
    held_out: HeldOut | None = None,
) -> RunPredictors:
    """The comparison on the models and test sets of a fit of runs.

    Args:
        spectra: scores of the probe `spectrum` of the same models, on any data.
        hierarchy: as in `unseen.analyses.robustness.severity.severity`.
    """
    table, told = study.table, list[str]()
    severities = dict[str, Severity]()
    for column in dict.fromkeys(columns[0] for columns in table.id_columns.values()):
        try:
            severities[column] = severity(kept_predictions(runs, column), hierarchy)
        except UserError as error:
            if hierarchy != AUTO:
                raise
            told.append(f"Severity of mistakes on {column} is not known: {error}.")
    told += [sentence for each in severities.values() for sentence in _sentences(each)]
    measures = [*_severity_measures(table, severities), *_label_free(spectra, table)]
    estimates, lost = _agreements(runs, table)
    columns = Columns(measures, estimates, tuple(lost))
    try:
        found = compare_predictors(table, study.settings, columns, held_out=held_out)
    except UserError as error:
        return RunPredictors(None, str(error), tuple(severities.values()), tuple(told))
    return RunPredictors(found, "", tuple(severities.values()), tuple(told))


def _sentences(found: Severity) -> Iterator[str]:
    """What a reader must know of a severity."""
    if found.note:
        yield f"{found.column}: {found.note}"
    perfect = [model for model in found.values if not found.mistakes(model)]
    if perfect:
        yield f"{found.column}: {', '.join(perfect)} made no mistakes, so their severity is not defined."
    few = {
        model: None for by in found.by for model in found.values
        if model not in found.compared(by) and model not in perfect
    }  # fmt: skip
    if few:
        yield (
            f"{found.column}: no interval and no comparison of {names_of([*few])}, with fewer than {FEWEST_MISTAKES} "
            "mistakes or all of them at one distance."
        )


def _severity_measures(table: ShiftTable, severities: Mapping[str, Severity]) -> Iterator[Measure]:
    """The mean severities on the first ID columns of all OOD test sets."""
    firsts = {ood: columns[0] for ood, columns in table.id_columns.items()}
    if not {*firsts.values()} <= {*severities}:
        return
    for by in UNITS:
        if all(by in found.by for found in severities.values()):
            values = {column: _means(table, found, by) for column, found in severities.items()}
            yield Measure(f"severity ({by})", {ood: values[column] for ood, column in firsts.items()})


def _means(table: ShiftTable, found: Severity, by: By) -> Array:
    means = [found.mean(model, by) if model in found.values else None for model in table.models]
    return np.array([np.nan if mean is None else mean.value for mean in means])


def _agreements(runs: RunTable, table: ShiftTable) -> tuple[list[Estimated], list[str]]:
    """The estimates of agreement-on-the-line from each OOD test set and its first ID column."""
    by: dict[str, dict[str, Array]] = {LINE: {}, REFINED: {}}
    read = dict[str, KeptPredictions]()
    try:
        for ood, columns in table.id_columns.items():
            for name in (columns[0], ood):
                read[name] = read.get(name) or kept_predictions(runs, name)
            for kind, values in _estimates(table, read[columns[0]], read[ood]).items():
                by[kind][ood] = values
    except UserError as error:
        return [], [f"Agreement is not compared: {error}."]
    whole = {kind: values for kind, values in by.items() if {*values} == {*table.ood_sets}}
    return [Estimated(kind, values) for kind, values in whole.items()], []


def _estimates(table: ShiftTable, known: KeptPredictions, shifted: KeptPredictions) -> dict[str, Array]:
    """(models,) estimates of OOD accuracy; NaN for models without predictions on both."""
    models = [model for model in table.models if model in known.models and model in shifted.models]
    on_id, on_ood = (np.stack([each.models[model] for model in models]) for each in (known, shifted))
    line = agreement_line(on_id, on_ood)
    right = within_unit((on_id == known.y).mean(axis=1), on_id.shape[1])
    found = {LINE: expected_accuracy(line, right), REFINED: refined_accuracy(line, right)}
    place = {model: number for number, model in enumerate(table.models)}
    rows = [place[model] for model in models]
    return {kind: _placed(values, rows, len(place)) for kind, values in found.items()}


def _placed(values: Array, rows: Sequence[int], count: int) -> Array:
    whole = np.full(count, np.nan)
    whole[rows] = values
    return whole


def _label_free(spectra: Sequence[Score], table: ShiftTable) -> Iterator[Measure]:
    """The spectra of the models' features, on every data set on which the runs have them: means over seeds."""
    found = dict[str, dict[str, list[float]]]()
    for score in spectra:
        if score.metric in Spectrum.metrics and score.backbone in table.models:
            of = found.setdefault(f"{score.metric} on {score.domain}", {})
            of.setdefault(score.backbone, []).append(score.value)
    for name, of in found.items():
        values = np.array([np.mean(of[model]) if model in of else np.nan for model in table.models])
        yield Measure(name, dict.fromkeys(table.ood_sets, values))


def spectra_of(folder: Path) -> list[Score]:
    """The scores of the probe `spectrum` in a run, on any axis."""
    return [score for score in read_run(folder).scores if score.metric in Spectrum.metrics]


def predictors_of_folder(folder: Path, *, hierarchy: str = AUTO, held_out: HeldOut | None = None) -> RunPredictors:
    """The comparison of a run of shifts, on the fit with the most OOD test sets."""
    runs = _table(folder)
    fits = fit_runs(runs)
    if not fits.studies:
        raise UserError(" ".join(fits.notices) or f"{folder}: has no fit of effective robustness")
    return predictors_of_runs(runs, fits.studies[0], spectra_of(folder), hierarchy=hierarchy, held_out=held_out)


def severity_of_folder(folder: Path, column: str, hierarchy: str = AUTO) -> Severity:
    """The severity of mistakes on a column of a run of shifts."""
    runs = _table(folder)
    if column not in runs.columns:
        hint = did_you_mean(column, runs.columns) or f"; choose from {', '.join(runs.columns)}"
        raise UserError(f"no column '{column}' in this run{hint}")
    return severity(kept_predictions(runs, column), hierarchy)


def _table(folder: Path) -> RunTable:
    whole, results = read_with_results(folder)
    data = whole.on_axes(AXIS)
    return table_of_runs([(folder.resolve().name, data, results_on(data, results))])
