"""`unseen tasks`: the study of transfer to other tasks."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose, one_of
from unseen.cli.datasets import dataset_names
from unseen.cli.loading import load_backbones
from unseen.cli.modes import chosen_mode, refuse_options
from unseen.cli.option_groups import extraction_settings
from unseen.cli.options import (
    BACKBONES,
    IMAGES,
    STUDY,
    BatchOption,
    CheckpointOption,
    DryRunOption,
    ExifOption,
    FastOption,
    IgnoreDiskOption,
    LayerOption,
    NamesOption,
    NormalizeOption,
    OnErrorOption,
    PoolOption,
    PrecisionOption,
    SizeOption,
    StudyDeviceOption,
    WeightsOption,
)
from unseen.cli.running import REPORT, WorkersOption, carry_out, processes
from unseen.cli.task_finetuning import finetune_tasks
from unseen.cli.task_results import write_task_results
from unseen.errors import UserError
from unseen.files import check_writable

if TYPE_CHECKING:
    from unseen.studies.tasks.features import Found

FINETUNING = "With --finetune"
BOTH = (
    "out", "backbone", "images", "datasets", "checkpoint", "pool", "layer", "size", "weights", "name", "normalize",
    "device", "workers", "dry_run",
)  # fmt: skip
MODES = {
    "": (
        *BOTH, "features", "limit", "protocol", "imagenet_top1", "precision", "batch", "on_error", "fast", "exif",
        "ignore_disk",
    ),
    "--finetune": (*BOTH, "finetune", "trials", "steps", "seed"),
}  # fmt: skip
"""What the command does, and the options that go with it."""


def tasks(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    finetune: Annotated[
        bool, typer.Option("--finetune", help="Train the whole backbone on each data set, instead of probing features.")
    ] = False,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    datasets: Annotated[
        str | None,
        typer.Option(help="Some of them, with commas; all that are there unless given.", rich_help_panel=STUDY),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="A quick look: at most so many images of each class in every split, always the same ones.",
            rich_help_panel=STUDY,
        ),
    ] = None,
    protocol: Annotated[
        str,
        one_of(
            "ericsson-2021",
            "ericsson-2021-exact",
            help="Exact: the iterations and the temperature of the authors' code.",
            rich_help_panel=STUDY,
        ),
    ] = "ericsson-2021",
    imagenet_top1: Annotated[
        list[float] | None,
        typer.Option(
            help="Accuracy on ImageNet in percent, one for each backbone, to correlate with.", rich_help_panel=STUDY
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="Folder that all data sets are below; see unseen doctor.", rich_help_panel=IMAGES),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Features instead of images: a folder for each data set.", rich_help_panel=IMAGES),
    ] = None,
    backbone: Annotated[
        list[str] | None,
        typer.Option(help="Its id; several share one pass over the images.", rich_help_panel=BACKBONES),
    ] = None,
    checkpoint: CheckpointOption = None,
    pool: PoolOption = None,
    layer: LayerOption = None,
    size: SizeOption = None,
    weights: WeightsOption = "pretrained",
    name: NamesOption = None,
    normalize: NormalizeOption = None,
    device: StudyDeviceOption = None,
    precision: PrecisionOption = None,
    batch: BatchOption = 128,
    on_error: OnErrorOption = "fail",
    fast: FastOption = False,
    exif: ExifOption = False,
    ignore_disk: IgnoreDiskOption = False,
    trials: Annotated[
        int, typer.Option(help="How many of the grid's 40 settings to try.", rich_help_panel=FINETUNING)
    ] = 40,
    steps: Annotated[
        int, typer.Option(help="Steps of each training, of the protocol's 5000.", rich_help_panel=FINETUNING)
    ] = 5000,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**31 - 1,
            help="Of the new layer, the order of images and their augmentation; it takes the place of an earlier seed.",
            rich_help_panel=FINETUNING,
        ),
    ] = 0,
) -> None:
    """How well a backbone does on other classification tasks: linear probes, few-shot episodes, calibration.

    Shows what it will do and what that takes, extracts the features that are missing, runs the probes that are missing,
    and writes a report. A data set that is not there is named and passed over. Asked for other data sets or backbones,
    it adds them to what the folder has.
    """
    mode = chosen_mode({"--finetune": finetune})
    refuse_options(context, MODES, mode)
    if mode:
        if not backbone or datasets is None:
            raise UserError("--finetune needs --backbone and --datasets: say what to train, and on which data sets")
        check_writable(out)
        load = partial(
            load_backbones, backbone, "published", "cpu", checkpoint, pool, layer, size, weights, name, normalize
        )
        finetune_tasks(
            out, load, dataset_names(datasets), images, trials=trials, steps=steps, seed=seed, device=device,
            workers=processes(workers), dry_run=dry_run,
        )  # fmt: skip
        return
    from unseen.probes.many_shot import PROTOCOLS
    from unseen.runs.lock import folder_lock
    from unseen.studies.tasks.features import find_task_features
    from unseen.studies.tasks.opened import open_datasets
    from unseen.studies.tasks.request import FromImages, TaskRequest, top1_shares
    from unseen.studies.tasks.results import task_page

    chosen = PROTOCOLS[choose("--protocol", protocol, tuple(PROTOCOLS))]
    check_writable(out)
    names, count, percents = dataset_names(datasets), processes(workers), imagenet_top1 or []
    top1_shares(backbone or [], percents)  # a mistake is told before anything is opened
    source: FromImages | Found
    if features is not None:
        if images is not None:
            raise UserError("give images (--images) or features (--features), not both")
        if limit is not None:
            raise UserError("--limit takes a part of images; features (--features) are taken as they are")
        source, called = find_task_features(features, names, backbone or []), backbone or []
    else:
        if not backbone:
            raise UserError("say which backbone: --backbone, or give its features: --features")
        settings = extraction_settings(device, precision, batch, count, on_error, fast, exif)
        opened = open_datasets(names, images, limit=limit)
        loaded = load_backbones(
            backbone, "published", settings.device, checkpoint, pool, layer, size, weights, name, normalize
        )
        source, called = FromImages(opened, loaded, settings), [each.label for each in loaded]
    request = TaskRequest(source, chosen, top1_shares(called, percents))
    if carry_out(request, out, count, dry_run=dry_run, ignore_disk=ignore_disk):
        with folder_lock(out):
            write_task_results(task_page(out), out / REPORT, out / "scores.csv")
