"""`unseen demo`, `unseen probe` and `unseen report`: running studies and looking at them."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import Json, counted, duration, note, print_json, track
from unseen.cli.probe_by_name import probe_by_name, refuse_logistic_options
from unseen.cli.running import REPORT, WorkersOption, finish, processes, run_missing, write_page
from unseen.cli.task_results import write_task_results
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.demo.form import Form
    from unseen.jobs.probe_job import LogisticJob
    from unseen.ontology.levels import Levels
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
    from unseen.runs.folder import LEVELS, with_scores, write_run
    from unseen.studies.probing import job_keys

    form, count = FULL if full else SHORT, processes(workers)
    folder = out or Path("unseen-drawings" if backbone else "unseen-demo")
    prepare = partial(_prepare_given, backbone) if backbone else _prepare_demo
    jobs, pairs, data, levels = prepare(folder, form, count)
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


def probe(
    train: Annotated[Path, typer.Argument(help="Training features: .npz, .safetensors, .pth, .npy, or a store.")],
    test: Annotated[Path, typer.Argument(help="Test features.")],
    kind: Annotated[
        str,
        typer.Option(
            "--probe", help="logistic, linear, knn, ridge, kmeans, mlp, pca, centroids or geometry (unseen.probes)."
        ),
    ] = "logistic",
    protocol: Annotated[
        str | None, typer.Option(help="cog-v2, or cog-v2-short for a quick look; ericsson-2021 of --probe linear.")
    ] = None,
    shots: Annotated[
        str | None, typer.Option(help="Samples per class: numbers and 'all', with commas. By default all.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 5,
    sequential: Annotated[bool, typer.Option("--sequential", help="One trial at a time, as in the paper.")] = False,
    backbone: Annotated[str, typer.Option(help="What to call these features.")] = "yours",
    domain: Annotated[str, typer.Option(help="What to call these classes.")] = "yours",
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("unseen-probe"),
    keep: Annotated[
        Path | None, typer.Option(help="File for the probe on all samples (.npz), a --head of unseen shifts evaluate.")
    ] = None,
    workers: WorkersOption = None,
    as_json: Json = False,
) -> None:
    """Probe your own features: train and test a classifier on them, by default a linear one with searched settings."""
    if kind != "logistic":
        refuse_logistic_options(kind, sequential=sequential, keep=keep is not None, workers=workers is not None)
        return probe_by_name(kind, (train, test), protocol, shots, seeds, (backbone, domain), out, as_json)
    from unseen.features.features import align
    from unseen.features.readers import read_features
    from unseen.runs.folder import RESULTS, with_scores
    from unseen.studies.final_classifier import keep_probe
    from unseen.studies.own_features import parse_shots, plan_own, protocol_named
    from unseen.studies.probing import job_keys, pair_from_features

    chosen = protocol_named(protocol or "cog-v2", sequential=sequential)
    settings = parse_shots(shots or "all")
    if keep and None not in settings:
        raise UserError("--keep is for the probe on all samples: have 'all' among the --shots")
    sides = align(read_features(train), read_features(test), f"{train} and {test}")
    pair = pair_from_features(backbone, domain, *sides, (train, test))
    count = processes(workers)
    data, jobs = plan_own(out, pair, sides[0].classes, chosen, settings, seeds)
    run_missing(jobs, [pair], out, count)
    if keep:
        keep_probe(jobs, sides[0], out / RESULTS, keep)
        note(f"the probe on all samples, of the first seed, is kept in {keep}")
    # Read by these jobs' own keys: another run may have been planned in the same folder meanwhile.
    done = with_scores(out, data, job_keys(jobs))
    if as_json:
        print_json([score.as_dict() for score in done.scores])
    else:
        finish(out, done, open_=False)
    return None


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs; several are compared on one page.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path(REPORT),
    table: Annotated[Path | None, typer.Option(help="Also a table: .csv, .parquet, .md or .tex.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Make the page of one run or several, finished or not."""
    from unseen.runs.folder import merge_runs, read_run
    from unseen.studies.tasks.results import page_of_runs

    named = [(run.resolve().name, read_run(run)) for run in runs]
    data = merge_runs(named)
    if data.study == "tasks":
        write_task_results(page_of_runs(runs, named), out, table)
    else:
        write_page(data, out, table)
    if open_:
        typer.launch(str(out.resolve()))
