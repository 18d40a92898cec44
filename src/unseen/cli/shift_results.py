"""What the commands of the shift study print: fits, and the page of runs in short."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table

if TYPE_CHECKING:
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.runs.data import RunData


def print_shift_results(page: "ShiftPage", table: Path | None) -> None:
    """Print the page of runs of shifts in short, and write the table that was asked for."""
    if page.accuracies:
        print_accuracies(page.accuracies.data)
        if table:
            from unseen.runs.tables import write_table

            write_table(page.accuracies.to_frame(), table)
    if page.panels:
        columns = ["OOD test set", "models", "R²", "MAE", "leave-one-out"]
        fits = [
            [panel.name, panel.record["n"], f"{panel.record['r2']:.4f}", f"{panel.record['mae']:.3f}",
             f"{panel.record['leave_one_out']['mae']:.3f}"]
            for panel in page.panels
        ]  # fmt: skip
        console().print()
        print_table(f"Fits on {' and '.join(page.id_sets)}; errors in points", columns, fits, right=columns[1:])
    for sentence in page.notes:
        console().print(sentence)
    if table:
        console().print(f"\nScores: {table}")


def print_accuracies(data: "RunData", models: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """The accuracies of a run, of all models and columns or of some."""
    cells = {(score.backbone, score.domain): f"{100 * score.value:.2f}" for score in data.scores}
    names = models or [backbone.name for backbone in data.backbones]
    asked = columns or [domain.name for domain in data.domains]
    shown = [name for name in asked if any((model, name) in cells for model in names)]
    rows = [[model, *(cells.get((model, name), "") for name in shown)] for model in names]
    print_table("Accuracies, percent", ["model", *shown], [row for row in rows if any(row[1:])], right=shown)
