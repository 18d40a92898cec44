"""What the commands of the shift study print: fits, and the page of runs in short."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.choices import split_names
from unseen.cli.output import console, print_table

if TYPE_CHECKING:
    from unseen.runs.data import RunData


def write_shift_results(runs: Sequence[Path], report: Path, table: Path | None, id_: str, ood: str) -> None:
    """Write the page of runs of shifts, and a table where one is asked for, and print them in short."""
    from unseen.report.shifts.of_runs import page_of_runs
    from unseen.report.shifts.page import write_shift_page

    page = page_of_runs(
        runs, *(split_names(option, text) if text else [] for option, text in (("--id", id_), ("--ood", ood)))
    )
    write_shift_page(page, report)
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
    console().print(f"\nReport: {report}" + (f"\nScores: {table}" if table else ""))


def print_accuracies(data: "RunData", models: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """The accuracies of a run, of all models and columns or of some."""
    cells = {(score.backbone, score.domain): f"{100 * score.value:.2f}" for score in data.scores}
    names = models or [backbone.name for backbone in data.backbones]
    asked = columns or [domain.name for domain in data.domains]
    shown = [name for name in asked if any((model, name) in cells for model in names)]
    rows = [[model, *(cells.get((model, name), "") for name in shown)] for model in names]
    print_table("Accuracies, percent", ["model", *shown], [row for row in rows if any(row[1:])], right=shown)
