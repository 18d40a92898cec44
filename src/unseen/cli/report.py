"""`unseen report`: the page of runs, of one study or across axes, and the paired comparison of two backbones."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.across_axes import write_axes
from unseen.cli.modes import refuse_options
from unseen.cli.paired_comparison import compare as compare_pair
from unseen.cli.running import REPORT, write_page
from unseen.cli.shift_results import write_shift_results
from unseen.cli.task_results import write_task_results
from unseen.errors import UserError

ACROSS, COMPARISON, SHIFTS = "Across axes", "Comparison of two backbones", "Runs of shifts"
ONE_STUDY = ("runs", "out", "table", "open_", "id_", "ood")
SEVERAL = ("runs", "shifts", "published", "axes", "out", "open_")
PAIR = ("runs", "compare", "shots", "table")


def report(
    context: typer.Context,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Folders of runs; several are put together on one page.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path(REPORT),
    table: Annotated[Path | None, typer.Option(help="Also write a table: .csv, .parquet, .md or .tex.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    shifts: Annotated[
        Path | None,
        typer.Option(help="What unseen shifts fit wrote: its folder, or its models.csv.", rich_help_panel=ACROSS),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Add the models that two papers measured; alone if there are no runs.",
            rich_help_panel=ACROSS,
        ),
    ] = False,
    axes: Annotated[
        bool, typer.Option("--axes", help="Make the page across axes of one study too.", rich_help_panel=ACROSS)
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Print the paired comparison of these backbones, by their names in the runs, instead of a page.",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    shots: Annotated[
        str, typer.Option(help="Samples per concept: a number, or all.", rich_help_panel=COMPARISON)
    ] = "all",
    id_: Annotated[
        str,
        typer.Option(
            "--id",
            help="ID columns to fit effective robustness on, with commas; by default as the test sets tell.",
            rich_help_panel=SHIFTS,
        ),
    ] = "",
    ood: Annotated[str, typer.Option(help="OOD columns of the fit, with commas.", rich_help_panel=SHIFTS)] = "",
) -> None:
    """Make the page of runs, finished or not.

    Runs of one study make its page. Runs of several studies, or with --shifts or --published, make the page across
    axes: ranks, correlations and strengths of the same backbones, which are matched by name.
    """
    folders = runs or []
    across = "--shifts" if shifts else "--published" if published else "--axes" if axes else ""
    if not folders and (compare or not (shifts or published)):
        raise UserError("say which runs: their folders, or --published for the papers' models alone")
    if not across and not compare and _have_several_studies(folders):
        across = "runs of several studies"
    modes = {"": ONE_STUDY, "--compare": PAIR, **({across: SEVERAL} if across else {"--axes": SEVERAL})}
    refuse_options(context, modes, "--compare" if compare else across)
    if compare is not None:
        compare_pair(folders, *compare, shots=shots, table=table)
        return
    if across:
        write_axes(folders, shifts, published=published, out=out)
    else:
        _write_page(folders, out, table, id_, ood)
    if open_:
        typer.launch(str(out.resolve()))


def _have_several_studies(runs: Sequence[Path]) -> bool:
    from unseen.report.of_runs import page_study
    from unseen.runs.record import read_run
    from unseen.studies.axes.sources import refuse_fit

    for run in runs:
        refuse_fit(run)
    return len({page_study(read_run(run).study) for run in runs}) > 1


def _write_page(runs: Sequence[Path], out: Path, table: Path | None, id_: str, ood: str) -> None:
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_run
    from unseen.studies.tasks.results import page_of_runs

    named = [(run.resolve().name, read_run(run)) for run in runs]
    if named[0][1].study == "shifts":
        write_shift_results(runs, out, table, id_, ood)
        return
    if id_ or ood:
        raise UserError("--id and --ood are for runs of shifts (unseen shifts run)")
    data = merge_runs(named)
    if data.study == "tasks":
        write_task_results(page_of_runs(runs, named), out, table)
    else:
        write_page(data, out, table)
