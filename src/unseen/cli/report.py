"""`unseen report`: the page of runs of one study or across axes, and the paired comparison of two backbones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.across_axes import print_axes
from unseen.cli.modes import refuse_options
from unseen.cli.options import ExportOption
from unseen.cli.output import console, print_table
from unseen.cli.running import REPORT, print_scores, write_export
from unseen.cli.shifts.results import print_shift_results
from unseen.cli.task_results import print_task_results
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.report.of_runs import Reported
    from unseen.studies.concepts.comparison import PairComparison

ACROSS, COMPARISON, SHIFTS = "Across axes", "Comparison of two backbones", "Runs of shifts"
EVERY = ("runs", "out", "export", "open_")
ONE_STUDY = (*EVERY, "table", "id_", "ood")
SEVERAL = (*EVERY, "shifts", "published", "axes")
PAIR = (*EVERY, "compare", "shots", "table")


def report(
    context: typer.Context,
    runs: Annotated[list[Path] | None, typer.Argument(help="Folders of runs; several runs share one page.")] = None,
    out: Annotated[Path, typer.Option(help="Page to write (.html).")] = Path(REPORT),
    table: Annotated[Path | None, typer.Option(help="Also write a table: .csv, .parquet, .md or .tex.")] = None,
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
    from unseen.report.core.render import write_page
    from unseen.report.of_runs import page_studies, report_on

    folders = runs or []
    across = "--shifts" if shifts else "--published" if published else "--axes" if axes else ""
    if not folders and (compare or not (shifts or published)):
        raise UserError("give folders of runs, or --published for the published models alone")
    if not across and not compare and len(page_studies(folders)) > 1:
        across = "runs of several studies"
    modes = {"": ONE_STUDY, "--compare": PAIR, **({across: SEVERAL} if across else {"--axes": SEVERAL})}
    refuse_options(context, modes, "--compare" if compare else across)
    if out.suffix != ".html":
        raise UserError(f"{out}: --out must end in .html")
    number = _one_number_of_shots(shots)
    found = report_on(
        folders, shifts=shifts, published=published, axes=axes, compare=compare, shots=number, id_sets=id_ or (),
        ood_sets=ood or (),
    )  # fmt: skip
    write_page(found.page, out)
    _print(found, table)
    console().print(f"\nReport: {out}")
    if export:
        write_export(found.page, export)
    if open_:
        typer.launch(str(out.resolve()))


def _print(found: "Reported", table: Path | None) -> None:
    """Print a summary of the page, and write the table."""
    from unseen.report.shifts.page_data import ShiftPage
    from unseen.runs.data import RunData
    from unseen.studies.axes.page_data import AxesPage

    if found.pair is not None:
        _print_comparison(found.pair, table)
    elif isinstance(found.source, AxesPage):
        print_axes(found.source)
    elif isinstance(found.source, ShiftPage):
        print_shift_results(found.source, table)
    elif isinstance(found.source, RunData):
        print_scores(found.source, table)
    else:
        print_task_results(found.source, table)


def _one_number_of_shots(shots: str) -> int | None:
    """The number of `--shots`; None for all samples."""
    from unseen.runs.shots import parse_shots

    numbers = parse_shots(shots)
    if len(numbers) > 1:
        raise UserError(f"--shots takes one number or all with --compare, not {shots}; compare one at a time")
    return numbers[0]


def _print_comparison(pair: "PairComparison", table: Path | None) -> None:
    """Print the difference of two backbones on the same test images of each domain, with intervals and p-values."""
    from unseen.report.concepts.sections.comparison import method_text, pair_texts, seeds_caution
    from unseen.runs.tables import write_table
    from unseen.studies.concepts.comparison import comparison_table

    if table is not None:
        write_table(comparison_table(pair.domains), table)
    columns = ["domain", "difference", "95% interval", "p (Holm)", "effect size", "concepts won"]
    rows = [[item.domain, *pair_texts(item)] for item in pair.domains]
    print_table(f"{pair.first} minus {pair.second}, top-1, percentage points", columns, rows, right=columns[1:])
    for sentence in (method_text(pair), *seeds_caution([pair])):
        console().print(f"\n{sentence}")
    if table is not None:
        console().print(f"\nTable: {table}")
