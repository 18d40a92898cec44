"""`unseen demo`: a small concept study on included data."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.running import REPORT, WorkersOption, finish, processes
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError
from unseen.runs.means import Means


def demo(
    backbone: Annotated[
        list[str] | None,
        typer.Option(help="Use this backbone, trained on ImageNet-1K, instead of the demo's own."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the run. Default: unseen-demo; unseen-drawings with --backbone; unseen-look with --look."
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Run the full protocol instead of a short form.")] = False,
    look: Annotated[
        bool,
        typer.Option(
            "--look", help="Look at single drawings instead: occlusion maps, and reconstructions from features."
        ),
    ] = False,
    workers: WorkersOption = None,
) -> None:
    """Run a small concept study on included drawings: five backbones, seen concepts, five levels of unseen ones.

    Needs no data, GPU or network connection, and writes a report.
    """
    if look:
        return _look(out or Path("unseen-look"), open_, backbone, full)
    from unseen.demo.form import FULL, SHORT
    from unseen.demo.prepare import prepare_demo, prepare_given
    from unseen.studies.study import run_prepared

    form, count = FULL if full else SHORT, processes(workers)
    folder, watch = out or Path("unseen-drawings" if backbone else "unseen-demo"), CommandWatch(Means(count))
    prepare = partial(prepare_given, backbone) if backbone else prepare_demo
    data = run_prepared(prepare(folder, form, count, watch), folder, means=Means(count), watch=watch)
    return finish(folder, data, open_)


def _look(folder: Path, open_: bool, backbone: list[str] | None, full: bool) -> None:
    from unseen.cli.task_results import carry_out
    from unseen.demo.look import look_requests
    from unseen.studies.study import run_study

    if backbone or full:
        raise UserError("--look uses the demo's own networks; for others, use unseen tasks --saliency and --invert")
    means = Means(1)
    *others, last = look_requests()
    for request in others:
        run_study(request, folder, means=means, watch=CommandWatch(means))
    carry_out(last, folder, means)  # which writes the page of all
    if open_:
        typer.launch(str((folder / REPORT).resolve()))
