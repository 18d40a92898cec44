"""`unseen.effective_robustness`: from a table of accuracies to the accuracy beyond what is expected."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from unseen.analyses.robustness.fits import ShiftSettings, ShiftStudy, study_shifts
from unseen.analyses.robustness.table import FitOn
from unseen.analyses.robustness.units import Unit
from unseen.api.shift_tables import given_table
from unseen.errors import UserError, did_you_mean, look_up

if TYPE_CHECKING:
    import pandas as pd

    from unseen.report.core.model import Figure

NAMED = 5
"""Number of models that a plot labels: those farthest from the fitted line."""
FURTHER = ("method", "resamples", "seed", "level")
"""Names of further settings."""


@dataclass(frozen=True, repr=False)
class Robustness(ShiftStudy):
    """The result of `unseen.effective_robustness`: one fit per OOD test set, with tables and a plot."""

    def groups(self) -> "pd.DataFrame":
        """Effective robustness of groups of models, in percentage points.

        One row per combination of ID test sets (`id`), OOD test set and group, with the number of models, the mean and
        standard deviation of ρ, and the MAE. Rows with the OOD test set `(average)` average over OOD test sets for each
        model that has all of them, and then over models.
        """
        import pandas as pd

        from unseen.analyses.robustness.groups import group_scores

        rows = [{"id": " + ".join(score.id_sets), **asdict(score)} for score in group_scores(self)]
        return pd.DataFrame(rows).drop(columns="id_sets")

    def plot(self, ood: str | None = None) -> "Figure":
        """Plot accuracy on an OOD test set against the accuracy expected from the ID test sets.

        The height above the line is the effective robustness of a model.

        Args:
            ood: the OOD test set; by default the first.

        Returns:
            A figure, which a notebook displays and `.save("robustness.svg")` writes to a file.
        """
        from unseen.report.core.looks import GREY, level_colour
        from unseen.report.core.model import Figure, Series

        names = [fit.ood for fit in self.fits]
        chosen = ood or names[0]
        if chosen not in names:
            raise UserError(
                f"no OOD test set '{chosen}'{did_you_mean(chosen, names) or '; choose from ' + ', '.join(names)}"
            )
        scores = self.fits[names.index(chosen)].scores
        farthest = sorted(scores, key=lambda score: -abs(score.rho))[:NAMED]
        groups = list(dict.fromkeys(score.group for score in scores))
        ends = [min(score.expected for score in scores), max(score.expected for score in scores)]
        series = [Series("as expected", ends, ends, GREY, mode="lines")]
        for number, name in enumerate(groups, 1):
            own = [score for score in scores if score.group == name]
            series.append(
                Series(
                    name, [score.expected for score in own], [score.accuracy for score in own], level_colour(number),
                    strong=len(groups) > 1, mode="markers",
                    labels=[score.model if score in farthest else "" for score in own],
                    hover=[f"{score.model} ({score.group}): ρ {score.rho:+.4f}" for score in own],
                )
            )  # fmt: skip
        return Figure(
            title=f"Effective robustness on {chosen}",
            caption=f"{len(scores)} models; the {len(farthest)} farthest from the line are labelled",
            x_label=f"accuracy expected from {' and '.join(self.table.id_sets)}",
            y_label=f"accuracy on {chosen}",
            series=tuple(series),
        )


def effective_robustness(
    table: "pd.DataFrame | str | PathLike[str]",
    id: str | Sequence[str] | Mapping[str, str | Sequence[str]],  # noqa: A002  (the field's own term)
    ood: str | Sequence[str] | None = None,
    *,
    fit_on: FitOn = None,
    group: str | None = None,
    model: str = "model",
    unit: Unit | None = None,
    minimum: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Robustness:
    """Effective robustness of models: OOD accuracy beyond what is expected from ID accuracy.

    For each OOD test set, logit(OOD accuracy) is fitted linearly to the logits of the ID accuracies over all models.
    The effective robustness of a model is ρ = OOD accuracy − expected accuracy (Shi et al. 2023; with one ID test set
    Taori et al. 2020).

    Args:
        table: one row per model, one column per test set, in percent or as fractions; or a CSV file of it.
        id: columns of the ID test sets, one or several. If the ID accuracies differ between OOD test sets because they
            are computed on the classes of each, a mapping from OOD test set to its ID columns, equally many for each
            and in the same order.
        ood: columns of the OOD test sets, one or several; by default the keys of `id`.
        fit_on: the models of the fit, as an expression (`"group in {a, b}"`) or a function of the table; all other
            models are scored but not fitted. By default all.
        group: column with groups of models, for group means and leave-one-group-out fits.
        model: column with the names of the models.
        unit: "percent" or "fraction"; by default it is detected.
        minimum: lowest ID accuracy that a model needs to be included, by ID test set.
        sizes: number of images of each test set; required to use accuracies of exactly 0 or 1.
        settings: further settings by name: `method`, a `unseen.metrics.robustness.Method` (by default that of the
            paper, least squares on logits); `resamples` (2000) of the models by the bootstrap, and its `seed` (0); and
            `level` (0.95), the coverage of the intervals.

    Returns:
        A study with one fit per OOD test set, with `.to_frame()`, `.groups()` and `.plot()`.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({
        ...     "model": ["A", "B", "C", "D", "CLIP"],
        ...     "imagenet": [60.0, 65.0, 70.0, 75.0, 68.0],
        ...     "sketch": [20.0, 24.5, 29.0, 35.0, 48.0],
        ... })
        >>> study = unseen.effective_robustness(table, id="imagenet", ood="sketch", fit_on="model != CLIP")
        >>> study.to_frame()[["model", "accuracy", "expected", "rho"]].round(3)
          model  accuracy  expected    rho
        0     A     0.200     0.202 -0.002
        1     B     0.245     0.242  0.003
        2     C     0.290     0.291 -0.001
        3     D     0.350     0.351 -0.001
        4  CLIP     0.480     0.270  0.210
    """
    _, checked = given_table(table, id, ood, model=model, group=group, fit_on=fit_on, unit=unit)
    for name in settings or {}:
        look_up(dict.fromkeys(FURTHER), name, "setting")
    chosen = ShiftSettings(minimum=minimum or {}, sizes=sizes or {}, **(settings or {}))
    study = study_shifts(checked, chosen)
    return Robustness(study.table, study.settings, study.fits)
