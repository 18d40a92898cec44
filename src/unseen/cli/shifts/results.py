"""Output of the commands of the shift study: accuracies, fits and groups."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table
from unseen.text.words import signed

if TYPE_CHECKING:
    from unseen.analyses.robustness.fits import ShiftStudy
    from unseen.analyses.robustness.groups import GroupScore
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.runs.data import RunData


def print_shift_results(page: "ShiftPage", table: Path | None) -> None:
    """Print a summary of the page of shift runs, and write the table."""
    from unseen.report.shifts.findings import findings

    if page.accuracies:
        print_accuracies(page.accuracies.data)
        if table:
            from unseen.runs.tables import score_table, summarise, write_table

            write_table(summarise(score_table(page.accuracies.data.scores)), table)
    if page.panels:
        columns = ["OOD test set", "models", "R²", "MAE", "leave-one-out MAE"]
        fits = [
            [panel.name, panel.record["n"], f"{panel.record['r2']:.4f}", f"{panel.record['mae']:.3f}",
             f"{panel.record['leave_one_out']['mae']:.3f}"]
            for panel in page.panels
        ]  # fmt: skip
        console().print()
        print_table(
            f"Fits on {' and '.join(page.id_sets)}; errors in percentage points", columns, fits, right=columns[1:]
        )
    for sentence in (*page.notes, *findings(page)):
        console().print(sentence)
    if table:
        console().print(f"\nScores: {table}")


def print_study(study: "ShiftStudy") -> None:
    """Print the fits of a table, and the effective robustness of groups of models if there are several."""
    from unseen.analyses.robustness.groups import group_scores

    names = study.table.id_sets
    columns = ["OOD test set", "models", *names, "intercept", "R²", "MAE", "leave-one-out MAE"]
    rows = [
        [
            found.ood, found.fit.n, *(f"{weight:.4f}" for weight in found.fit.weights), f"{found.fit.intercept:.4f}",
            f"{found.fit.r2:.4f}", f"{found.fit.mae:.3f}", f"{found.held_out.held_out:.3f}",
        ]
        for found in study.fits
    ]  # fmt: skip
    print_table(
        f"Weights on the {study.settings.method.scale.name} scale; errors in percentage points",
        columns,
        rows,
        right=columns[1:],
    )
    if len(set(study.table.groups)) > 1:
        _print_groups(group_scores(study))


def _print_groups(scores: "Sequence[GroupScore]") -> None:
    """One row per group and OOD test set, one column per fit: on single ID test sets, and on all."""
    fits = sorted(dict.fromkeys(score.id_sets for score in scores), key=len)
    cells = {(score.group, score.in_fit, score.ood, score.id_sets): score for score in scores}
    rows = []
    for group, in_fit, ood in dict.fromkeys((score.group, score.in_fit, score.ood) for score in scores):
        own = [cells.get((group, in_fit, ood, fit)) for fit in fits]
        spread = ("" if each is None else _mean_and_deviation(each.mean, each.deviation) for each in own)
        models = next(each.models for each in own if each)
        rows.append([group if in_fit else f"{group} (only scored)", models, ood, *spread])
    columns = ["group", "models", "OOD test set", *(" + ".join(fit) for fit in fits)]
    print_table(
        "Effective robustness in percentage points; one column per fit, named after its ID test sets",
        columns,
        rows,
        right=columns[3:],
    )


def _mean_and_deviation(mean: float, deviation: float | None) -> str:
    return signed(mean, 2) + ("" if deviation is None else f" ± {deviation:.2f}")


def print_accuracies(data: "RunData") -> None:
    """Print the accuracies of a run."""
    cells = {(score.backbone, score.domain): f"{100 * score.value:.2f}" for score in data.scores}
    models, columns = dict.fromkeys(model for model, _ in cells), dict.fromkeys(column for _, column in cells)
    rows = [[model, *(cells.get((model, name), "") for name in columns)] for model in models]
    print_table("Accuracies, percent", ["model", *columns], rows, right=[*columns])
