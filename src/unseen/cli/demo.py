"""`unseen demo`: the whole story on embedded data."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import counted, duration, note, track
from unseen.cli.running import WorkersOption, finish, processes, run_missing

if TYPE_CHECKING:
    from unseen.demo.form import Form
    from unseen.ontology.levels import Levels
    from unseen.probes.by_name.logistic import LogisticJob
    from unseen.runs.data import RunData
    from unseen.studies.probing import FeaturePair

    Prepared = tuple[list[LogisticJob], list[FeaturePair], RunData, Levels]


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
    from unseen.runs.lock import folder_lock
    from unseen.runs.record import LEVELS, with_scores, write_run
    from unseen.studies.probing import job_keys

    form, count = FULL if full else SHORT, processes(workers)
    folder = out or Path("unseen-drawings" if backbone else "unseen-demo")
    prepare = partial(_prepare_given, backbone) if backbone else _prepare_demo
    jobs, pairs, data, levels = prepare(folder, form, count)
    with folder_lock(folder):
        write_run(folder, data, job_keys(jobs))
        levels.write(folder / LEVELS)
    run_missing(jobs, pairs, folder, count)
    finish(folder, with_scores(folder, data, job_keys(jobs)), open_)


def _prepare_demo(folder: Path, form: "Form", workers: int) -> "Prepared":
    """Features of the demo's own backbones, and what to do with them."""
    from unseen.demo.drawings import demo_levels
    from unseen.demo.study import demo_run_data, estimate_demo, extract_missing, missing_features, plan_demo

    features = folder / "features"
    left = len(missing_features(features))
    if left:
        _say_time(estimate_demo(form, folder, workers), workers)
    for _ in track(extract_missing(features, workers=workers), "sets of features extracted", left):
        pass
    return *plan_demo(form, features), demo_run_data(form), demo_levels().levels


def _prepare_given(backbones: list[str], folder: Path, form: "Form", workers: int) -> "Prepared":
    """Features of a user's backbones on drawings, and what to do with them."""
    from unseen.demo.imagenet_levels import imagenet_levels
    from unseen.demo.imagenet_study import (
        estimate_imagenet,
        extract_missing,
        find_backbone,
        imagenet_run_data,
        missing_features,
        plan_imagenet,
        with_pixels,
    )

    features, specs = folder / "features", []
    for name in with_pixels(backbones):
        loaded = find_backbone(name)
        specs.append(loaded.spec)
        for sentence in loaded.notes:
            note(sentence)
    left = missing_features(features, specs)
    if left:
        _say_time(estimate_imagenet(form, folder, specs, left, workers), workers)
    for _ in track(extract_missing(features, left, workers=workers), "sets of features extracted", len(left)):
        pass
    return *plan_imagenet(form, features, specs), imagenet_run_data(form, specs), imagenet_levels().levels


def _say_time(seconds: float, workers: int) -> None:
    note(f"About {duration(seconds)} in all on {counted(workers, 'core')}: first features, then probes.")
