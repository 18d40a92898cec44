"""The page of runs of shifts: accuracies of every model on every test set, and the possible fits."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unseen.analyses.robustness.found_subsets import ShiftSubsets
from unseen.analyses.robustness.hits import hits_of_runs
from unseen.analyses.robustness.of_runs import RunFits, RunTable, fit_chosen, fit_runs, open_runs
from unseen.analyses.robustness.predictors_of_runs import predictors_of_runs, spectra_of
from unseen.analyses.robustness.subsets import find_subsets
from unseen.errors import on_command_line, option
from unseen.metrics.subsets import FEWEST_MODELS
from unseen.report.shifts.files import study_page
from unseen.report.shifts.page_data import ShiftPage
from unseen.report.shifts.subset_pictures import Pictures, pictures_of_runs
from unseen.runs.provenance import provenance
from unseen.studies.places import Places

MOST_SEARCHED = 10**7
"""Images × models × ID test sets that a page searches for subsets: several seconds."""


def page_of_runs(folders: Sequence[Path], id_sets: Sequence[str] = (), ood_sets: Sequence[str] = ()) -> ShiftPage:
    """The data of the page of some runs.

    Args:
        id_sets, ood_sets: columns to fit; by default derived from the test sets and their classes.
    """
    runs = open_runs(folders)
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
    subsets, pictures = _searched(folders, runs, fits)
    return replace(
        page,
        title=runs.data.title,
        notes=(*told, *page.notes),
        provenance={**page.provenance, "Fitted on": _fitted_on(fits), **provenance(runs.data)},
        accuracies=runs,
        predictors=found.study,
        severities=found.severities,
        severity_notes=found.notices,
        subsets=subsets,
        subset_pictures=pictures,
    )


def _searched(folders: Sequence[Path], runs: RunTable, fits: RunFits) -> tuple[ShiftSubsets | None, Pictures]:
    """The searches for subsets with their pictures; None if there are too few models for any search."""
    hits = hits_of_runs(runs, [fit.ood for study in fits.studies for fit in study.fits])
    if not any(len(each.by_model) >= FEWEST_MODELS for each in hits.values()):
        return None, {}
    cells = sum(
        hits[fit.ood].images.count * len(fit.scores) * len(fit.fit.names)
        for study in fits.studies for fit in study.fits if fit.ood in hits
    )  # fmt: skip
    if cells > MOST_SEARCHED:
        words = f"unseen shifts subsets {' '.join(map(str, folders))}" if on_command_line() else "run.subsets()"
        return ShiftSubsets((), (f"These test sets are large, so that pages do not search them: {words} does.",)), {}
    subsets = find_subsets(fits.studies, hits)
    return subsets, pictures_of_runs(subsets, folders, Places())


def _fitted_on(fits: RunFits) -> str:
    return ", ".join(f"{ood} on {' and '.join(columns)}" for ood, columns in fits.fitted_on.items())
