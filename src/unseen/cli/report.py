"""`unseen report`: the page of runs of one study or across axes, and the paired comparison of two backbones."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import console
from unseen.cli.running import REPORT, ExportOption, write_export
from unseen.cli.summaries import print_summary
from unseen.errors import UserError

ACROSS, COMPARISON, SHIFTS = "Across axes", "Comparison of two backbones", "Runs of shifts"


def report(
    runs: Annotated[list[Path] | None, typer.Argument(help="Folders of runs; several runs share one page.")] = None,
    out: Annotated[Path, typer.Option(help="Page to write (.html).")] = Path(REPORT),
    table: Annotated[Path | None, typer.Option(help="Also write a table: .csv, .json, .parquet, .md or .tex.")] = None,
    export: ExportOption = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    shifts: Annotated[
        Path | None,
        typer.Option(help="Results of unseen shifts fit: the folder, or its models.csv.", rich_help_panel=ACROSS),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Add the published models; without runs, show only these.",
            rich_help_panel=ACROSS,
        ),
    ] = False,
    axes: Annotated[
        bool,
        typer.Option("--axes", help="Make the page across axes even for runs of one study.", rich_help_panel=ACROSS),
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Compare two backbones of the runs on the same test images, with intervals and p-values.",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    shots: Annotated[
        str, typer.Option(help="Training images per concept: a number, or all.", rich_help_panel=COMPARISON)
    ] = "all",
    id_: Annotated[
        list[str] | None,
        typer.Option("--id", help="ID test sets to fit on. Default: those marked as ID.", rich_help_panel=SHIFTS),
    ] = None,
    ood: Annotated[
        list[str] | None,
        typer.Option(help="OOD test sets to fit. Default: those marked as OOD.", rich_help_panel=SHIFTS),
    ] = None,
) -> None:
    """Write the report of runs, finished or not.

    Runs of one study give the page of that study. Runs of several studies, --shifts and --published give the page
    across axes: ranks, correlations and strengths of the same backbones. Backbones are matched by name.
    """
    from unseen.report.axes.page_data import AxesPage
    from unseen.report.core.render import write_page
    from unseen.report.of_runs import for_papers, report_on

    if out.suffix != ".html":
        raise UserError(f"{out}: --out must end in .html")
    found = report_on(
        runs or [], shifts=shifts, published=published, axes=axes, compare=compare, shots=_one_number_of_shots(shots),
        id_sets=id_ or (), ood_sets=ood or (), beside=out.parent,
    )  # fmt: skip
    if table is not None and isinstance(found.source, AxesPage):
        raise UserError("the page across axes has several tables; write them with --export, not --table")
    write_page(found.page, out)
    print_summary(found, table)
    console().print(f"\nReport: {out}")
    if export:
        write_export(for_papers(found, runs or []).page, export)
    if open_:
        typer.launch(str(out.resolve()))


def _one_number_of_shots(shots: str) -> int | None:
    """The number of `--shots`; None for all samples."""
    from unseen.runs.shots import parse_shots

    numbers = parse_shots(shots)
    if len(numbers) > 1:
        raise UserError(f"--shots takes one number or all with --compare, not {shots}; compare one at a time")
    return numbers[0]
