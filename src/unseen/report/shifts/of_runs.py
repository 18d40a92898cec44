"""The page of runs of shifts: accuracies of every model on every test set, and the possible fits."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unseen.analyses.robustness.of_runs import RunFits, fit_chosen, fit_runs, table_of_runs
from unseen.analyses.robustness.predictors_of_runs import predictors_of_runs, spectra_of
from unseen.errors import option
from unseen.report.shifts.files import study_page
from unseen.report.shifts.page_data import ShiftPage
from unseen.runs.data import RunData
from unseen.runs.provenance import provenance
from unseen.runs.record import read_with_results
from unseen.runs.results import Result
from unseen.runs.scores import results_on


def page_of_runs(folders: Sequence[Path], id_sets: Sequence[str] = (), ood_sets: Sequence[str] = ()) -> ShiftPage:
    """The data of the page of some runs.

    Args:
        id_sets, ood_sets: columns to fit; by default derived from the test sets and their classes.
    """
    runs = table_of_runs([(folder.resolve().name, *_read(folder)) for folder in folders])
    fits = fit_chosen(runs, id_sets, ood_sets) if id_sets or ood_sets else fit_runs(runs)
    places = ", ".join(str(folder) for folder in folders)
    told = [*runs.data.notices, *fits.notices]
    if not fits.studies:
        return ShiftPage(
            title=runs.data.title, id_sets=(), scale="logit", groups=(), panels=(), group_scores=(),
            notes=tuple(told), provenance={"Runs": places, **provenance(runs.data)}, accuracies=runs,
        )  # fmt: skip
    first, *others = fits.studies
    for study in others:
        ids, oods = (list(names) for names in (study.table.id_sets, study.table.ood_sets))
        told.append(f"On another page: {option('id', ids)} {option('ood', oods)}.")
    page = study_page(first, source=places)
    found = predictors_of_runs(runs, first, [score for folder in folders for score in spectra_of(folder)])
    return replace(
        page,
        title=runs.data.title,
        notes=(*told, *page.notes),
        provenance={**page.provenance, "Fitted on": _fitted_on(fits), **provenance(runs.data)},
        accuracies=runs,
        predictors=found.study,
        severities=found.severities,
        severity_notes=found.notices,
    )


def _read(folder: Path) -> tuple[RunData, list[Result]]:
    """The test sets of a run, and the results on them."""
    whole, results = read_with_results(folder)
    data = whole.on_axes("shifts")
    return data, results_on(data, results)


def _fitted_on(fits: RunFits) -> str:
    return ", ".join(f"{ood} on {' and '.join(columns)}" for ood, columns in fits.fitted_on.items())
