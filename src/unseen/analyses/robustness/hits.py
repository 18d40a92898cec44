"""Which images of the columns of a study of shifts each model gets right: of runs, and of exported results."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.fits import ShiftStudy, study_shifts
from unseen.analyses.robustness.found_subsets import ShiftSubsets
from unseen.analyses.robustness.of_runs import RunTable, fit_chosen, fit_runs, open_runs
from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.analyses.robustness.subsets import ColumnHits, find_subsets
from unseen.analyses.robustness.table import shift_table
from unseen.errors import UserError, option
from unseen.exchange.check import sound_results
from unseen.exchange.contributions import is_results
from unseen.exchange.hits import record_hits, why_no_hits
from unseen.exchange.record import ResultRecord
from unseen.features.store import read_store
from unseen.probes.units import CORRECT, ScoredImages, ids_hash
from unseen.runs.kept_units import result_behind
from unseen.studies.shifts.survey import LOGITS

KEY, TRIED = 12, 3
"""Letters of the key of a store that end its name, and models whose stores are looked at for names of images."""


def find_subsets_in(
    place: Path, id_sets: Sequence[str] = (), ood_sets: Sequence[str] = (), keys: SubsetKeys | None = None
) -> ShiftSubsets:
    """Search the shifted test sets of a run, or of a file of results that was exported with hits.

    Args:
        id_sets, ood_sets: columns; by default those of the fits of the run, derived from the classes of test sets.
    """
    if is_results(place):
        study, hits = hits_of_results(place, id_sets, ood_sets)
        return find_subsets([study], hits, keys)
    runs = open_runs([place])
    fits = fit_chosen(runs, id_sets, ood_sets) if id_sets or ood_sets else fit_runs(runs)
    if not fits.studies:
        raise UserError(f"{place}: {' '.join(fits.notices).removesuffix('.') or 'no shifted test set can be fitted'}")
    columns = [fit.ood for study in fits.studies for fit in study.fits]
    found = find_subsets(fits.studies, hits_of_runs(runs, columns), keys)
    return replace(found, notices=(*fits.notices, *_reasons(runs, columns), *found.notices))


def _reasons(runs: RunTable, columns: Sequence[str]) -> Iterator[str]:
    """Why the hits of models are not used: the first reason of each column."""
    for column in columns:
        for model, reason in [*runs.left_out(column).items()][:1]:
            yield f"{column}, {model}: {reason}."


def hits_of_runs(runs: RunTable, columns: Sequence[str]) -> dict[str, ColumnHits]:
    """Column → the hits of the models of runs; columns without any are left out."""
    found = dict[str, ColumnHits]()
    for name in columns:
        comparable = runs.comparable(name)
        if comparable is None:
            continue
        kept = {model: of[min(of)] for model, of in comparable.kept.items()}
        hits = {model: each.arrays[CORRECT] for model, each in kept.items() if CORRECT in each.arrays}
        images = next((each.images for each in kept.values() if each.images is not None), None)
        if hits and images is not None:
            found[name] = ColumnHits(images, hits, _names(runs, name, images), runs.columns[name].test_set)
    return found


def _names(runs: RunTable, column: str, images: ScoredImages) -> Sequence[str]:
    """The names of the images of a column, from the logits of any model on them; empty if there are none left."""
    scores = [score for score in runs.data.scores if score.domain == column] if images.ids else []
    for score in scores[:TRIED]:
        behind = result_behind(runs.data, score)
        if behind is None:
            continue
        results, result = behind
        for store in (results.parent / LOGITS).glob(f"*-{result.job['reads']['outputs'][:KEY]}"):
            names = names_in(images, _entries(store))
            if names:
                return names
    return ()


def _entries(store: Path) -> list[tuple[str, str]]:
    try:
        features = read_store(store)
    except UserError:
        return []
    labels = [features.classes[label] for label in features.y.tolist()]
    return list(zip(features.ids, labels, strict=False))


def names_in(images: ScoredImages, entries: Sequence[tuple[str, str]]) -> Sequence[str]:
    """The names of images, from the names and labels of all images of their test set, in order; empty if others."""
    kept = {*images.classes}
    for names in ([name for name, _ in entries], [name for name, label in entries if label in kept]):
        if len(names) == images.count and ids_hash(names) == images.ids:
            return names
    return ()


def hits_of_results(
    path: Path, id_sets: Sequence[str], ood_sets: Sequence[str]
) -> tuple[ShiftStudy, dict[str, ColumnHits]]:
    """The fits of a file of results that was exported with hits, and the hits of its shifted test sets."""
    import pandas as pd

    records = [record for record in sound_results(path).records if record.study == "shifts"]
    if not records:
        raise UserError(f"{path}: has no results on shifted test sets; export a run of the study shifts")
    if not id_sets or not ood_sets:
        names = ", ".join(dict.fromkeys(record.data.name for record in records))
        raise UserError(f"{path}: name test sets by {option('id')} and {option('ood')}: {names}")
    cells = {(record.backbone.name, record.data.name): _top1(record) for record in records}
    groups = {record.backbone.name: record.backbone.category for record in records}
    columns = dict.fromkeys(record.data.name for record in records)
    frame = pd.DataFrame(
        [{"model": model, "group": group, **{name: cells.get((model, name)) for name in columns}}
         for model, group in groups.items()]
    )  # fmt: skip
    hits = {name: _column(name, [record for record in records if record.data.name == name]) for name in ood_sets}
    table = shift_table(
        frame, id_sets, ood_sets, group="group" if any(groups.values()) else None, unit="fraction"
    )  # fmt: skip
    return study_shifts(table), hits


def _top1(record: ResultRecord) -> float | None:
    return next((score.value for score in record.scores if score.metric == "top1"), None)


def _column(name: str, records: Sequence[ResultRecord]) -> ColumnHits:
    """The hits of models on a column; models on other images than the first are left out."""
    first: ScoredImages | None = None
    hits = dict[str, NDArray[np.bool_]]()
    for record in records:
        kept = next((each for each in record_hits(record) if each.kind == "images"), None)
        if kept is None or kept.images is None:
            raise UserError(why_no_hits(record))
        first = first or kept.images
        if not first.difference(kept.images):
            hits[record.backbone.name] = kept.arrays[CORRECT]
    if first is None:
        raise UserError(f"no model was scored on '{name}'")
    return ColumnHits(first, hits)
