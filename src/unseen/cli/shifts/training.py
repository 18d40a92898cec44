"""`unseen shifts pool` and `unseen shifts finetune`: train the models of a fit."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.machine_options import DevicesOption, ExecutorOption, MachineOptions, WorkersOption
from unseen.cli.output import note
from unseen.cli.settings import setting_option
from unseen.cli.watching import CommandWatch
from unseen.reading.keys import with_texts
from unseen.studies.shifts.keys import FinetuneKeys, PoolKeys

DataOption = Annotated[
    list[str],
    typer.Option(
        help="Training images: a folder with one subfolder per class, a CSV or Parquet file of images with labels or "
        "captions, or a TOML file. A second set is mixed with the first."
    ),
]
WithoutOption = Annotated[
    list[Path] | None,
    typer.Option(help="CSV with ids of images to exclude, such as the remove.csv of unseen shifts captions."),
]
ApartOption = Annotated[
    list[str] | None,
    typer.Option("--test-set", help="Test set that must not share images with the training set."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the trainings with time estimates, and stop.")]


def pool(
    data: DataOption,
    network: Annotated[
        list[str],
        typer.Option(help="Architecture of timm, torchvision or open_clip, such as timm:resnet18 or openclip:RN50."),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for checkpoints and models.csv, a table of models for unseen run shifts.")
    ],
    without: WithoutOption = None,
    test_set: ApartOption = None,
    settings: Annotated[list[str] | None, setting_option(PoolKeys)] = None,
    workers: WorkersOption = None,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Train a pool of models on fractions and mixtures of training sets.

    If it is interrupted, the same command resumes.
    """
    keys, means = with_texts(PoolKeys(), settings or ()), MachineOptions(workers, devices, executor).means
    from unseen.studies.shifts.pool import train_pool
    from unseen.studies.shifts.training_requests import pool_request

    request = pool_request(data, network, keys, without=without or (), test_sets=test_set or (), workers=means.decoding)
    watch = CommandWatch(means)
    if dry_run:
        watch.planned(request.plan(out, means))
        return
    table = train_pool(request, out, means=means, watch=watch, every=keys.every)
    note(f"Wrote {table}. Evaluate the models: unseen run shifts --backbone {table}")


def finetune(
    backbone: Annotated[str, typer.Option(help="Zero-shot model: openclip: and its name and weights, or a folder.")],
    data: Annotated[
        str,
        typer.Option(help="Labelled training images: a folder with one subfolder per class, a table, or a TOML file."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for models.csv and the checkpoints before and after fine-tuning.")],
    without: WithoutOption = None,
    test_set: ApartOption = None,
    settings: Annotated[list[str] | None, setting_option(FinetuneKeys)] = None,
    workers: WorkersOption = None,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Fine-tune a zero-shot model, starting from its zero-shot head.

    If it is interrupted, the same command resumes.
    """
    keys, means = with_texts(FinetuneKeys(), settings or ()), MachineOptions(workers, devices, executor).means
    from unseen.studies.shifts.finetune import finetune_zero_shot
    from unseen.studies.shifts.training_requests import finetune_request

    request = finetune_request(
        backbone, data, keys, without=without or (), test_sets=test_set or (), workers=means.decoding
    )
    watch = CommandWatch(means)
    if dry_run:
        watch.planned(request.plan_training(out, means))
        return
    table = finetune_zero_shot(request, out, means=means, watch=watch, every=keys.every)
    note(
        f"Wrote {table}. To interpolate: "
        f"unseen shifts interpolate {out / 'zero-shot.safetensors'} {out}/rate-….safetensors"
    )
