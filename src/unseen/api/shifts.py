"""`unseen.effective_robustness`: what models have under a shift beyond what their accuracies lead to expect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unseen.errors import UserError, did_you_mean
from unseen.metrics.robustness import PAPER
from unseen.studies.shifts.study import ShiftSettings, ShiftStudy, study_shifts
from unseen.studies.shifts.table import FitOn, shift_table
from unseen.studies.shifts.units import Unit

if TYPE_CHECKING:
    import pandas as pd

    from unseen.metrics.robustness import Method
    from unseen.report.core.chart import Chart

NAMED = 5
"""Models whose names a plot has: those farthest from what is expected of them."""


@dataclass(frozen=True, repr=False)
class Robustness(ShiftStudy):
    """A study of shifts that can be drawn."""

    def plot(self, ood: str | None = None) -> "Chart":
        """Accuracies on an OOD test set over those expected from the ID ones; above the line is effective robustness.

        Args:
            ood: the test set, by default the first.

        Returns:
            A chart: the last line of a notebook's cell shows it, and `.save("robustness.svg")` writes it.
        """
        from unseen.report.core.chart import GREY, Chart, Line, Mark, level_colour

        names = [fit.ood for fit in self.fits]
        chosen = ood or names[0]
        if chosen not in names:
            raise UserError(
                f"no OOD test set '{chosen}'{did_you_mean(chosen, names) or '; there are ' + ', '.join(names)}"
            )
        scores = self.fits[names.index(chosen)].scores
        farthest = sorted(scores, key=lambda score: -abs(score.rho))[:NAMED]
        groups = list(dict.fromkeys(score.group for score in scores))
        ends = [min(score.expected for score in scores), max(score.expected for score in scores)]
        marks = (
            Mark(
                score.expected, score.accuracy, score.model if score in farthest else "",
                level_colour(1 + groups.index(score.group)), f"{score.model} ({score.group}): ρ {score.rho:+.4f}",
            )
            for score in scores
        )  # fmt: skip
        legend = [
            Line(name, ends[:1], ends[:1], level_colour(number))
            for number, name in enumerate(groups, 1)
            if len(groups) > 1
        ]
        return Chart(
            title=f"Effective robustness on {chosen}",
            caption=f"{len(scores)} models; the {len(farthest)} farthest from the line have names",
            x_label=f"accuracy expected from {' and '.join(self.table.id_sets)}",
            y_label=f"accuracy on {chosen}",
            lines=(Line("as expected", ends, ends, GREY), *legend),
            marks=tuple(marks),
        )


def effective_robustness(
    table: "pd.DataFrame",
    id: str | Sequence[str],  # noqa: A002  (what the field calls it)
    ood: str | Sequence[str],
    *,
    fit_on: FitOn = None,
    group: str | None = None,
    model: str = "model",
    unit: Unit | None = None,
    method: "Method | None" = None,
    minimum: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Robustness:
    """Fit accuracies out of distribution (OOD) on those in distribution (ID), and score models by what lies beyond.

    Args:
        table: one row per model, one column per test set, in percent or as fractions.
        id, ood: names of columns, each one or several.
        fit_on: the models of the fit, as an expression (`"group in {a, b}"`) or a function of the table; the others
            are only scored. By default all.
        group: column of groups, for means and for held-out groups.
        model: column of the models' names.
        unit: "percent" or "fraction"; by default it is detected.
        method: of the fit, by default that of the paper: least squares on logits.
        minimum: least accuracy on an ID test set for a model to take part, by the test set's name.
        sizes: number of images of test sets; with it, accuracies of exactly 0 or 1 can be used.
        resamples, seed, level: of the bootstrap over models, and the coverage of its intervals.

    Returns:
        A study with one fit per OOD test set, with `.to_frame()` and `.plot()`.

    Example:
        >>> study = unseen.effective_robustness(table, id=["imagenet", "yfcc"], ood="imagenet-v2")
        >>> study.to_frame().sort_values("rho", ascending=False).head()
    """
    id_sets, ood_sets = ([names] if isinstance(names, str) else list(names) for names in (id, ood))
    checked = shift_table(table, id_sets, ood_sets, model=model, group=group, fit_on=fit_on, unit=unit)
    settings = ShiftSettings(method or PAPER, minimum or {}, sizes or {}, resamples, seed, level)
    study = study_shifts(checked, settings)
    return Robustness(study.table, study.settings, study.fits)
