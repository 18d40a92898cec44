"""`unseen concepts`: the study of concept generalization."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import one_of
from unseen.cli.concept_tables import show_compared, show_noise, show_relative
from unseen.cli.domains import DomainOptions
from unseen.cli.extract import decoders
from unseen.cli.modes import chosen_mode, given_options, option_name, refuse_options
from unseen.cli.option_groups import BackboneOptions, ExtractionOptions, MachineOptions, with_groups
from unseen.cli.options import (
    BACKBONES,
    IMAGES,
    STUDY,
    DryRunOption,
    OwnMetricsOption,
    OwnProbesOption,
    PartOption,
    PreprocessingOption,
)
from unseen.cli.output import console, note
from unseen.cli.running import WorkersOption, finish, finish_read, others_shown
from unseen.cli.watching import CommandWatch, dry_run
from unseen.errors import UserError
from unseen.files import check_writable
from unseen.runs.means import Means

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.runs.data import RunData
    from unseen.runs.parts import Part
    from unseen.studies.concepts.finetune_request import FinetuneRequest
    from unseen.studies.concepts.images import ImagePlaces

FINETUNING, NOISE = "With --finetune", "With --label-noise"
LOADING = ("backbone", "checkpoint", "pool", "layer", "size", "weights", "name", "normalize", "preprocessing")
PLACES = ("images", "imagenet_1k", "truth")
DRAW = ("splits", "variant", "on_missing")
MACHINE = (
    "device", "precision", "batch", "on_error", "ignore_disk", "workers", "only_plan", "devices", "executor",
    "ray_address", "part",
)  # fmt: skip
MODES = {
    "": (
        "out", "features", "regroup", "levels", "vectors", "domains", "seen", "shots", "seeds", "protocol",
        "sequential", "extended", "probe", "metric", "fast", "exif", "decode", *LOADING, *PLACES, *DRAW, *MACHINE,
    ),
    "--finetune": (
        "finetune", "out", "levels", "domains", "epochs", "batch", "rate", "seeds", "workers", "only_plan", "devices",
        "executor", "ray_address", "part", *LOADING, *PLACES, *DRAW,
    ),
    "--label-noise": (
        "label_noise", "out", "page", "table", "features", "backbone", "domains", "threshold", "seed", *PLACES,
    ),
    "--check": ("check", "out", "features", "domains", "shots", "seeds", "checkpoint", "splits", *PLACES, *MACHINE),
}  # fmt: skip
"""Mode of the command → its options."""
IMAGE_OPTIONS = (
    "images", "imagenet_1k", "truth", "on_missing", "checkpoint", "pool", "layer", "size", "weights",
    "name", "normalize", "preprocessing", "device", "precision", "batch", "on_error", "fast", "exif", "decode",
    "ignore_disk",
)  # fmt: skip
"""Options about images and extraction, which have no effect on given features.

Splits are not among them: the report names the splits that features were drawn with.
"""


@with_groups
def concepts(
    *,
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the run. --finetune and --label-noise need an existing run.")],
    finetune: Annotated[
        bool,
        typer.Option("--finetune", help="Fine-tune the backbones of an existing run on its domains, and compare."),
    ] = False,
    label_noise: Annotated[
        bool,
        typer.Option(
            "--label-noise",
            help="List likely label errors: images that the classifier of another domain is confident about.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Reproduce the paper's ResNet-50 (torchvision V1); the exit code is 1 if the scores differ."
        ),
    ] = False,
    workers: WorkersOption = None,
    only_plan: DryRunOption = False,
    machine: MachineOptions,
    part: PartOption = "1/1",
    levels: Annotated[
        str,
        typer.Option(
            help="Levels: cog-v2, cog-v1, a levels CSV, a measure, random, or a TOML or CSV file of your own classes.",
            rich_help_panel=STUDY,
        ),
    ] = "cog-v2",
    where: DomainOptions,
    shots: Annotated[
        list[str] | None,
        typer.Option(help="Training images per concept, such as 1,8,all.", rich_help_panel=STUDY),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds. Default: 5; with --finetune, 1.", rich_help_panel=STUDY)
    ] = None,
    protocol: Annotated[
        str,
        one_of(
            "cog-v2",
            "cog-v2-pruned",
            "cog-v2-short",
            help="Full protocol, the same with early stopping of poor trials, or a short form for a quick look.",
            rich_help_panel=STUDY,
        ),
    ] = "cog-v2",
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Run one trial at a time, as in the paper.", rich_help_panel=STUDY)
    ] = False,
    extended: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PROBES]",
            help="Run further probes (unseen ls probes): knn,ridge. Without names: pca, mlp, kmeans and geometry.",
            rich_help_panel=STUDY,
        ),
    ] = None,
    probe: OwnProbesOption = None,
    metric: OwnMetricsOption = None,
    images: Annotated[
        str | None,
        typer.Option(
            help="Images of ImageNet-21K, or of your own classes: one folder or tar file per class.",
            rich_help_panel=IMAGES,
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features instead of images: one folder per domain, as unseen extract writes them.",
            rich_help_panel=IMAGES,
        ),
    ] = None,
    regroup: Annotated[
        bool,
        typer.Option(
            "--regroup",
            help="Regroup features of the same concepts that were extracted for other levels.",
            rich_help_panel=IMAGES,
        ),
    ] = False,
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            help="Backbone id, such as timm:resnet50. All backbones share one pass over the images. "
            "With --finetune or --label-noise, a backbone of the run.",
            rich_help_panel=BACKBONES,
        ),
    ] = None,
    loading: BackboneOptions,
    preprocessing: PreprocessingOption = "published",
    extraction: ExtractionOptions,
    epochs: Annotated[int, typer.Option(help="Number of epochs.", rich_help_panel=FINETUNING)] = 30,
    rate: Annotated[
        float,
        typer.Option(help="Initial learning rate; it follows a cosine schedule.", rich_help_panel=FINETUNING),
    ] = 0.01,
    threshold: Annotated[
        float, typer.Option(help="List predictions with a probability above this.", rich_help_panel=NOISE)
    ] = 0.99,
    seed: Annotated[int, typer.Option(help="Seed of the classifiers.", rich_help_panel=NOISE)] = 0,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Page (.html) or table (.csv, .parquet, .md, .tex) to write. Default: label-noise.html in the run.",
            rich_help_panel=NOISE,
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Also write all rows as a table: .csv, .parquet, .md or .tex.", rich_help_panel=NOISE),
    ] = None,
) -> None:
    """Measure how well backbones generalise from the concepts they have seen to levels of unseen concepts.

    Prints the plan with time, memory and disk estimates, extracts missing features, runs missing probes and writes a
    report. Run it again with other --domains, --shots or backbones to add them to the same run.
    """
    mode = chosen_mode({"--finetune": finetune, "--label-noise": label_noise, "--check": check})
    refuse_options(context, MODES, mode)
    if not mode and features is None and not backbone:  # before PyTorch is imported
        raise UserError("no backbone was given; name one (--backbone), or give its features (--features)")
    from unseen.runs.parts import parse_part

    share = parse_part(part)
    if mode == "--label-noise":
        return _look_for_noise(
            out, where.places(images), features, backbone or [], where.domains, threshold, seed,
            page or out / "label-noise.html", table,
        )  # fmt: skip
    if mode == "--finetune":

        def load(ids: "Sequence[str]", named: bool) -> "list[Backbone]":
            return (loading if named else replace(loading, name=None)).load(ids, preprocessing, "cpu")

        from unseen.images.own.concept_file import is_concept_file
        from unseen.studies.concepts.finetune_request import finetune_request

        data_file = Path(levels) if is_concept_file(Path(levels)) else None
        if data_file is None and "levels" in given_options(context):
            raise UserError("--finetune uses the levels of the run; --levels is only for a file of your own classes")
        trainings = finetune_request(
            out, where.places(images), load, backbones=backbone, names=loading.name, domains=where.domains,
            epochs=epochs, batch=256 if extraction.batch is None else extraction.batch, rate=rate,
            seeds=1 if seeds is None else seeds, levels=data_file, watch=CommandWatch(),
        )  # fmt: skip
        means = machine.means(workers or None, every_gpu=True)
        means = means if means.spread else Means(decoders(workers))  # which may be 0
        return _finetune(trainings, out, means, share, only_plan=only_plan)
    if features is not None:
        _refuse_image_options(context)
    elif regroup:
        raise UserError("--regroup needs features: add --features FOLDER")
    from unseen.studies.concepts.chosen import asked_of, with_names
    from unseen.studies.concepts.request import request_of_features, request_of_images
    from unseen.studies.concepts.verify import BACKBONE
    from unseen.studies.own_code import chosen_code
    from unseen.studies.study import run_study

    check_writable(out)
    means = machine.means(workers, every_gpu=extraction.device is None)
    watch, chosen = CommandWatch(means, share), where.levels(levels, images, features)
    further, own = chosen_code(probe or [], metric or [], note)
    asked = asked_of(
        chosen, domains=where.domains, shots=shots, seeds=5 if seeds is None else seeds, protocol=protocol,
        sequential=sequential, variant=where.variant, extended=with_names(extended, further), own=own,
    )  # fmt: skip
    ids = [BACKBONE] if check else backbone or []
    if features is not None:
        request = request_of_features(
            asked, features, ids, watch, regroup=regroup, by_class=chosen.by_class, splits=where.splits,
            published=check,
        )  # fmt: skip
    else:
        settings = extraction.settings(means.workers, share)
        loaded = loading.load(ids, preprocessing, settings.device)
        places = where.places(images, may_report=not check)
        request = request_of_images(asked, chosen, places, loaded, settings, watch, published=check)
    if only_plan:
        return dry_run(request, out, means, share)
    with others_shown(out, lambda: finish_read(out)):
        data = run_study(request, out, means=means, watch=watch, ignore_disk=extraction.ignore_disk, part=share)
    return _check(data, asked.domains) if check else finish(out, data, open_=False)


def _finetune(request: "FinetuneRequest", out: Path, means: Means, part: "Part", *, only_plan: bool) -> None:
    from unseen.studies.study import run_study

    if only_plan:
        return dry_run(request, out, means, part)
    with others_shown(out, lambda: finish_read(out)):
        data = run_study(request, out, means=means, watch=CommandWatch(means, part), part=part)
    finish(out, data, open_=False)
    return show_relative(data)


def _check(data: "RunData", domains: "Sequence[str]") -> None:
    """Print measured and published accuracies; the exit code is 1 if they disagree."""
    from unseen.runs.comparability_words import comparison_notices
    from unseen.studies.concepts.verify import compare_run

    rows = compare_run(data, domains)
    show_compared(rows)
    for sentence in [*data.notices, *comparison_notices(data)]:
        console().print(f"\n{sentence}")
    if not all(row.agrees for row in rows):
        raise typer.Exit(1)


def _look_for_noise(
    run: Path,
    places: "ImagePlaces",
    features: Path | None,
    backbones: "Sequence[str]",
    domains: "Sequence[str] | None",
    threshold: float,
    seed: int,
    page: Path,
    table: Path | None,
) -> None:
    """Write the page of images that classifiers of other domains are confident about, and print their number."""
    from unseen.report.concepts.label_noise_page import write_inspection
    from unseen.runs.tables import write_table
    from unseen.studies.concepts.noise_of_run import inspect_run

    if len(backbones) > 1:
        raise UserError(f"--label-noise takes one backbone, not {len(backbones)}; give --backbone once")
    found = inspect_run(
        run, places, features=features, backbone=backbones[0] if backbones else None, domains=domains,
        threshold=threshold, seed=seed, watch=CommandWatch(),
    )  # fmt: skip
    write_inspection(found.inspection, page, sources=found.sources, names=found.names, notices=found.notices)
    if table:
        write_table(found.inspection.table, table)
    show_noise(found.inspection, threshold)
    for sentence in found.notices:
        console().print(sentence)
    console().print(f"\nPage: {page}" + (f"\nTable: {table}" if table else ""))


def _refuse_image_options(context: typer.Context) -> None:
    """Refuse options about images when features are given."""
    wrong = next((name for name in given_options(context) if name in IMAGE_OPTIONS), None)
    if wrong is not None:
        option = option_name(context, wrong)
        raise UserError(f"give images or features (--features), not both: {option} has no effect on features")
