"""`unseen labels`: images that may show a concept of another domain, without a label for it."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.concept_tables import show_noise
from unseen.cli.output import console
from unseen.cli.study_options import DataOption, places_of
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError

PAGE = "label-noise.html"


def labels(
    run: Annotated[Path, typer.Argument(help="Folder of a run with levels, and regressions on all samples.")],
    backbone: Annotated[
        list[str] | None, typer.Option(help="The backbone whose classifiers are used, if the run has several.")
    ] = None,
    data: DataOption = None,
    features: Annotated[
        Path | None, typer.Option(help="Folder of the features of the run, if they are not in its folder.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Seen concepts and levels to compare, such as in1k,l1. Default: all.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="List predictions with a probability above this.")] = 0.99,
    seed: Annotated[int, typer.Option(help="Seed of the classifiers.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            help=f"Page (.html) or table (.csv, .json, .parquet, .md, .tex) to write. Default: {PAGE} in the run.",
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Also write all rows as a table: .csv, .json, .parquet, .md or .tex.")
    ] = None,
) -> None:
    """List likely label errors of a run of cog-v2.

    They are images that the classifier of another domain is confident about. The classifiers are fitted again, with the
    hyper-parameters that the run has found. With the images (--data), the page has thumbnails.
    """
    if backbone is not None and len(backbone) > 1:
        raise UserError(f"--backbone takes one backbone here, not {len(backbone)}")
    from unseen.analyses.label_noise.of_run import inspect_run
    from unseen.report.concepts.label_noise_page import write_inspection
    from unseen.runs.tables import write_table

    page = out or run / PAGE
    result = inspect_run(
        run, places_of(data), features=features, backbone=backbone[0] if backbone else None, datasets=datasets,
        threshold=threshold, seed=seed, watch=CommandWatch(),
    )  # fmt: skip
    write_inspection(result.inspection, page, sources=result.sources, names=result.names, notices=result.notices)
    if table:
        write_table(result.inspection.table, table)
    show_noise(result.inspection, threshold)
    for sentence in result.notices:
        console().print(sentence)
    console().print(f"\nPage: {page}" + (f"\nTable: {table}" if table else ""))
