"""`unseen demo`: a small concept study on included data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.running import REPORT, WorkersOption, finish_run, others_shown, processes
from unseen.cli.watching import CommandWatch
from unseen.runs.means import Means

if TYPE_CHECKING:
    from unseen.studies.study import Study


def demo(
    backbone: Annotated[
        list[str] | None,
        typer.Option(help="Use this backbone, trained on ImageNet-1K, instead of the demo's own."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run. Default: unseen-demo; unseen-drawings with --backbone."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    workers: WorkersOption = None,
) -> None:
    """Run a small concept study on included drawings: five backbones, seen concepts, five levels of unseen ones.

    Needs no data, GPU or network connection, and writes a report. It is the study `drawings`, which unseen run drawings
    runs with other settings.
    """
    from unseen.studies.given import Given
    from unseen.studies.run import run_study

    folder = out or Path("unseen-drawings" if backbone else "unseen-demo")
    means = Means(processes(workers), decoders=0)
    with others_shown(folder, lambda: finish_run(folder)):
        run_study(demo_study(backbone), Given(), folder, means=means, watch=CommandWatch(means), replacing=True)
    finish_run(folder)
    if open_:
        typer.launch(str((folder / REPORT).resolve()))


def demo_study(backbones: list[str] | None) -> "Study":
    """The study of the demo; for backbones trained on ImageNet-1K, with levels for these, beside the pixels."""
    from unseen.studies.backbones import named_words
    from unseen.studies.toml import shipped_study

    study = shipped_study("drawings")
    if not backbones:
        return study
    study = study.replace(title="Concept generalization from ImageNet-1K on human drawings", levels="drawings-imagenet")
    return named_words(study, ["pixels", *backbones])
