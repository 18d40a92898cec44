"""`unseen demo`: the whole story on embedded data."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.running import WorkersOption, finish, processes
from unseen.cli.watching import CommandWatch
from unseen.runs.means import Means


def demo(
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead of the demo's own: a backbone trained on ImageNet-1K, by its id; any number of them."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run: unseen-demo, or unseen-drawings with --backbone.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The whole protocol instead of a short form of it.")] = False,
    workers: WorkersOption = None,
) -> None:
    """The whole story on embedded data: five backbones, a seen domain and five levels of unseen concepts, a report."""
    from unseen.demo.form import FULL, SHORT
    from unseen.demo.prepare import prepare_demo, prepare_given
    from unseen.studies.study import run_prepared

    form, count = FULL if full else SHORT, processes(workers)
    folder, watch = out or Path("unseen-drawings" if backbone else "unseen-demo"), CommandWatch(Means(count))
    prepare = partial(prepare_given, backbone) if backbone else prepare_demo
    data = run_prepared(prepare(folder, form, count, watch), folder, means=Means(count), watch=watch)
    finish(folder, data, open_)
