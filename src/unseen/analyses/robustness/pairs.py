"""The pairs of ID test sets that predict an OOD test set best."""

from collections.abc import Mapping
from dataclasses import dataclass

from unseen.analyses.robustness.fits import LeftOut, ShiftSettings, check_settings, usable_models
from unseen.analyses.robustness.notes import few_models
from unseen.analyses.robustness.table import ShiftTable
from unseen.errors import UserError, names_of, setting
from unseen.metrics.robustness_checks import Comparison, best_pairs

FEWEST = 4
"""Smallest number of models for a leave-one-out error of a fit with three coefficients."""


@dataclass(frozen=True)
class PairRanking:
    """Pairs of ID test sets, all fitted on the same models.

    Attributes:
        ranked: pairs by leave-one-out error, best first.
        passed_over: pairs that cannot be fitted, with the reason.
        outside: number of models that are not in the fit and are not used here.
        left_out: model of the fit → why it is left out.
    """

    ranked: tuple[Comparison, ...]
    passed_over: Mapping[tuple[str, str], str]
    outside: int
    left_out: Mapping[str, LeftOut]

    @property
    def notes(self) -> list[str]:
        """Notes for the reader."""
        few = few_models(self.ranked[0].fit)
        told = [few] if few else []
        told += [f"skipped, {' + '.join(pair)}: {why}" for pair, why in self.passed_over.items()]
        if self.outside:
            told.append(f"models that are not in the fit and are not used here: {self.outside}")
        if self.left_out:
            names = names_of(list(self.left_out))
            told.append(f"models of the fit that are left out: {_reasons(self.left_out)} ({names})")
        return told


def rank_pairs(table: ShiftTable, settings: ShiftSettings | None = None) -> PairRanking:
    """Rank all pairs of the table's ID test sets by leave-one-out error on its OOD test set.

    The models are those of the fit that have all test sets, so that pairs are comparable; they and the method are
    chosen as in `study_shifts`.
    """
    settings = settings or ShiftSettings()
    if len(table.id_sets) < 2:
        raise UserError("ranking pairs needs at least two ID test sets")
    if len(table.ood_sets) != 1:
        raise UserError(f"pairs are ranked for one OOD test set at a time, not {len(table.ood_sets)}")
    check_settings(table, settings)
    (ood,) = table.ood_sets
    accuracy, unusable = usable_models(table, ood, settings)
    inside = [row for row, of_fit in enumerate(table.in_fit) if of_fit]
    left_out = {table.models[row]: unusable[table.models[row]] for row in inside if table.models[row] in unusable}
    complete = accuracy[[row for row in inside if table.models[row] not in left_out]]
    if len(complete) < FEWEST:
        why = f" (left out: {_reasons(left_out)})" if left_out else ""
        raise UserError(f"{len(complete)} models of the fit have all of these test sets; a pair needs {FEWEST}{why}")
    ranked, passed_over = best_pairs(complete[:, :-1], complete[:, -1], table.id_sets, method=settings.method)
    if not ranked:
        raise UserError(f"no pair can be fitted: {next(iter(passed_over.values()))}")
    return PairRanking(tuple(ranked), passed_over, len(table.models) - len(inside), left_out)


def _reasons(left_out: Mapping[str, LeftOut]) -> str:
    """`3 without an accuracy, 1 at exactly 0% or 100% …`."""
    kinds = {
        "gap": "without an accuracy on one of the test sets",
        "end": f"at exactly 0% or 100% ({setting('sizes')} keeps them)",
        "below": "below the minimum",
    }
    counts = {words: sum(why.kind == kind for why in left_out.values()) for kind, words in kinds.items()}
    return ", ".join(f"{count} {words}" for words, count in counts.items() if count)
