"""`unseen shifts pool` and `unseen shifts finetune`: models for a fit, trained here."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.choices import split_names
from unseen.cli.extract import decoders
from unseen.cli.option_groups import MachineOptions
from unseen.cli.options import DevicesOption, DryRunOption, ExecutorOption, RayAddressOption, WeightsOption
from unseen.cli.output import note
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError

DataOption = Annotated[
    list[str],
    typer.Option(
        help="Training images: a folder per class, a CSV or Parquet of images and labels or captions, or a TOML file; "
        "a second one is mixed with the first."
    ),
]
WithoutOption = Annotated[
    list[Path] | None, typer.Option(help="CSV with ids of images not to train on: the remove.csv of shifts captions.")
]
ApartOption = Annotated[
    list[str] | None,
    typer.Option("--test-set", help="A test set none of whose images may be trained on; several may be given."),
]
ClassesOption = Annotated[
    str | None, typer.Option(help="Classes of the models: a list by name, or a CSV class,name; by default the labels.")
]
TrainWorkersOption = Annotated[int | None, typer.Option(help="Processes that decode, or 0; by default one a core.")]
EveryOption = Annotated[int, typer.Option(min=1, help="Steps between checkpoints, from which a training continues.")]


def pool(
    data: DataOption,
    network: Annotated[
        list[str], typer.Option(help="timm:resnet18, torchvision:resnet50, openclip:RN50; several may be given.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for networks and models.csv, which shifts run --models reads.")],
    ratios: Annotated[str, typer.Option(help="Parts of the images to train on.")] = "0.05,0.1,0.2,0.3,0.4,0.5,1",
    shares: Annotated[
        str | None, typer.Option(help="λ of mixtures, the part of the first set; by default the paper's.")
    ] = None,
    classes: ClassesOption = None,
    without: WithoutOption = None,
    test_set: ApartOption = None,
    epochs: Annotated[float | None, typer.Option(help="By default 90, and 32 of CLIP models.")] = None,
    steps: Annotated[int | None, typer.Option(help="Of every training, instead of epochs.")] = None,
    batch: Annotated[int | None, typer.Option(help="Images a step: by default 256, and 2048 of CLIP models.")] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate: by default 0.1, and 0.001 of CLIP models.")] = None,
    decay: Annotated[float | None, typer.Option(help="Weight decay: by default 1e-4, and 0.1 of CLIP models.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Side of the images, instead of the network's own.")] = None,
    sentence: Annotated[
        str, typer.Option(help="What CLIP models read of images with a class and no caption.")
    ] = "a photo of a {}.",
    templates: Annotated[
        str, typer.Option(help="Sentences that CLIP models are evaluated with: openai, simple, name, or a file.")
    ] = "openai",
    seed: Annotated[int, typer.Option(min=0, help="Of weights, of the images drawn and of their order.")] = 0,
    every: EveryOption = 500,
    workers: TrainWorkersOption = None,
    dry_run: DryRunOption = False,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
) -> None:
    """Train networks on parts and mixtures of training sets. If it is stopped, the same command continues."""
    from unseen.images.shift_sets.own import open_own
    from unseen.studies.shifts.pool import PoolRequest, train_pool
    from unseen.studies.shifts.pool_networks import kind_of_network
    from unseen.studies.shifts.recipes import SHARES, choose_recipe
    from unseen.studies.shifts.training_sets import class_names_of, open_training_set, read_held_out, refuse_tested

    kinds = dict.fromkeys(kind_of_network(name) for name in network)
    held_out = read_held_out(without or ())
    sets = [open_training_set(place, captions="clip" in kinds, without=held_out) for place in data]
    refuse_tested(sets, [open_own(place) for place in test_set or ()])
    given = None if shares is None else _numbers("--shares", shares)
    request = PoolRequest(
        sets,
        network,
        {kind: choose_recipe(kind, epochs=epochs, steps=steps, batch=batch, rate=rate, decay=decay) for kind in kinds},
        {kind: SHARES[kind] if given is None else given for kind in kinds},
        class_names_of(sets, classes),
        ratios=_numbers("--ratios", ratios),
        size=size,
        seed=seed,
        sentence=sentence,
        templates=templates,
        workers=decoders(workers),
    )
    means = MachineOptions(devices, executor, ray_address).means(workers or None, every_gpu=True)
    watch = CommandWatch(means)
    if dry_run:
        watch.planned(request.plan(out, means))
        return
    table = train_pool(request, out, means=means, watch=watch, every=every)
    note(f"written to {table}; evaluate them with unseen shifts run --models {table}")


def finetune(
    backbone: Annotated[str, typer.Option(help="Zero-shot model: openclip:ViT-B-32.laion400m_e32, or a folder.")],
    data: Annotated[
        str, typer.Option(help="Training images with classes: a folder per class, a table, or a TOML file.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the classifier before and after, and models.csv.")],
    outputs: Annotated[
        str, typer.Option(help="Classes to tell apart: imagenet-1k, cifar-10, or a CSV class,name.")
    ] = "imagenet-1k",
    templates: Annotated[str, typer.Option(help="Of zero-shot sentences: openai, simple, name, or a file.")] = "openai",
    rates: Annotated[str, typer.Option(help="Learning rates, each a training of its own.")] = "3e-5,1e-4",
    steps: Annotated[int, typer.Option(min=1, help="Of every training.")] = 50_000,
    batch: Annotated[int, typer.Option(min=1, help="Images a step.")] = 512,
    without: WithoutOption = None,
    test_set: ApartOption = None,
    weights: WeightsOption = "pretrained",
    size: Annotated[int | None, typer.Option(min=1, help="Side of the images, instead of the model's own.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the order of images and of what is done to them.")] = 0,
    every: EveryOption = 500,
    workers: TrainWorkersOption = None,
    dry_run: DryRunOption = False,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
) -> None:
    """Fine-tune a zero-shot model from its zero-shot head. If it is stopped, the same command continues."""
    from unseen.images.shift_sets.own import open_own
    from unseen.studies.shifts.finetune import FinetuneRequest, finetune_zero_shot
    from unseen.studies.shifts.plans import ZERO_SHOT, ModelPlan
    from unseen.studies.shifts.training_sets import open_training_set, read_held_out, refuse_tested

    plan = ModelPlan(
        backbone, backbone, head=ZERO_SHOT, classes=outputs, templates=templates, weights=weights, size=size
    )
    training = open_training_set(data, without=read_held_out(without or ()))
    refuse_tested([training], [open_own(place) for place in test_set or ()])
    request = FinetuneRequest(plan, training, _numbers("--rates", rates), steps, batch, seed, decoders(workers))
    means = MachineOptions(devices, executor, ray_address).means(workers or None, every_gpu=True)
    watch = CommandWatch(means)
    if dry_run:
        watch.planned(request.plan_training(out, means))
        return
    table = finetune_zero_shot(request, out, means=means, watch=watch, every=every)
    note(f"written to {table}; unseen shifts interpolate {out / 'zero-shot.safetensors'} {out}/rate-….safetensors")


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(word) for word in split_names(option, text)] if text else []
    except ValueError:
        raise UserError(f"{option} is numbers with commas between, not '{text}'") from None
