"""`unseen shifts subsets`: subsets of shifted test sets on which models of higher ID accuracy are less accurate."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.cli.output import Json, console, note, print_json, print_table
from unseen.cli.settings import setting_option
from unseen.cli.study_options import DataOption, places_of
from unseen.errors import UserError
from unseen.reading.keys import with_texts
from unseen.text.words import p_text

PAGE = "subsets.html"


def subsets(
    place: Annotated[
        Path, typer.Argument(help="Folder of a run of the study shifts, or its results (.json) exported with --hits.")
    ],
    id_: Annotated[
        list[str] | None, typer.Option("--id", help="ID test sets: columns. Default: those of the same classes.")
    ] = None,
    ood: Annotated[list[str] | None, typer.Option(help="OOD test sets to search: columns. Default: all.")] = None,
    settings: Annotated[list[str] | None, setting_option(SubsetKeys)] = None,
    data: DataOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            help=f"Page (.html) or table of images (.csv, .json, .parquet, .md or .tex). Default: {PAGE} in the run.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Find subsets of shifted test sets on which models of higher ID accuracy are less accurate.

    Half of the models choose the images, the other half confirms the choice, and the same search with permuted models
    says how far chance gets.
    """
    from unseen.analyses.robustness.hits import find_subsets_in
    from unseen.exchange.contributions import is_results
    from unseen.files import check_writable
    from unseen.report.shifts.subset_page import write_subsets
    from unseen.report.shifts.subset_pictures import pictures_of_runs
    from unseen.runs.tables import check_table_name

    if place.is_file() and not is_results(place):
        raise UserError(
            f"{place}: subsets need to know which images each model gets right; give the folder of a run of shifts, or "
            "its results exported with hits (unseen export RUN --hits)"
        )
    page = out or (Path(PAGE) if is_results(place) else place / PAGE)
    check_writable(page.parent)
    if page.suffix != ".html":
        check_table_name(page)
    found = find_subsets_in(place, id_ or (), ood or (), with_texts(SubsetKeys(), settings or ()))
    shown = page.suffix == ".html" and not is_results(place)
    write_subsets(found, page, pictures_of_runs(found, [place], places_of(data)) if shown else {})
    if json:
        print_json({"searches": found.to_frame().to_dict("records"), "notices": [*found.notices], "file": str(page)})
        return
    columns = ["OOD test set", "ID test set", "images", "subset", "r, all", "r, choosing", "r, other half", "p (Holm)"]
    rows = [
        [each.ood, each.id_set, f"{each.images.count:,}", f"{len(each.subset):,}", f"{each.search.whole:.2f}",
         f"{each.search.found[each.place]:.2f}", f"{each.correlation:.2f}", p_text(each.p_holm)]
        for each in found.found
    ]  # fmt: skip
    print_table("Correlations of accuracy with ID accuracy", columns, rows, right=columns[2:])
    for each in found.found:
        console().print(each.sentence)
    for sentence in (*found.notices, f"Page: {page}"):
        note(sentence)
