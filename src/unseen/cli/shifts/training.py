"""`unseen shifts pool` and `unseen shifts finetune`: train the models of a fit."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.extract import decoders
from unseen.cli.option_groups import MachineOptions
from unseen.cli.options import DevicesOption, DryRunOption, ExecutorOption, RayAddressOption, WeightsOption
from unseen.cli.output import note
from unseen.cli.watching import CommandWatch

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
ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="Classes of the models: a named list, or a CSV with class,name. Default: the labels of the data."
    ),
]
TrainWorkersOption = Annotated[
    int | None,
    typer.Option(help="Processes that decode images; 0 decodes in the main process. Default: one per CPU core."),
]
EveryOption = Annotated[
    int, typer.Option(min=1, help="Steps between checkpoints, from which an interrupted training resumes.")
]


def pool(
    data: DataOption,
    network: Annotated[
        list[str],
        typer.Option(help="Architecture of timm, torchvision or open_clip, such as timm:resnet18 or openclip:RN50."),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for checkpoints and models.csv, the input of unseen shifts run --models.")
    ],
    ratios: Annotated[
        list[float] | None,
        typer.Option(help="Fractions of the images to train on. Default: 0.05, 0.1, 0.2, 0.3, 0.4, 0.5 and 1."),
    ] = None,
    shares: Annotated[
        list[float] | None,
        typer.Option(help="Mixing ratios λ, the fraction of the first set. Default: those of the paper."),
    ] = None,
    classes: ClassesOption = None,
    without: WithoutOption = None,
    test_set: ApartOption = None,
    epochs: Annotated[float | None, typer.Option(help="Number of epochs. Default: 90; 32 for CLIP models.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of each training, instead of --epochs.")] = None,
    batch: Annotated[int | None, typer.Option(help="Batch size. Default: 256; 2048 for CLIP models.")] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate. Default: 0.1; 0.001 for CLIP models.")] = None,
    decay: Annotated[float | None, typer.Option(help="Weight decay. Default: 1e-4; 0.1 for CLIP models.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Input size in pixels. Default: the network's own.")] = None,
    sentence: Annotated[
        str, typer.Option(help="Caption that CLIP models are given for images with a class only.")
    ] = "a photo of a {}.",
    templates: Annotated[
        str,
        typer.Option(help="Prompt templates to score CLIP models with: openai, simple, photo, plain, or a file."),
    ] = "openai",
    seed: Annotated[int, typer.Option(min=0, help="Seed of initial weights, sampling and image order.")] = 0,
    every: EveryOption = 500,
    workers: TrainWorkersOption = None,
    dry_run: DryRunOption = False,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
) -> None:
    """Train a pool of models on fractions and mixtures of training sets.

    If it is interrupted, the same command resumes.
    """
    from unseen.images.own.one_split import open_test_set
    from unseen.studies.shifts.model_pool import RATIOS
    from unseen.studies.shifts.pool import PoolRequest, train_pool
    from unseen.studies.shifts.pool_networks import kind_of_network
    from unseen.studies.shifts.recipes import SHARES, choose_recipe
    from unseen.studies.shifts.training_sets import class_names_of, open_training_set, read_held_out, refuse_tested

    kinds = dict.fromkeys(kind_of_network(name) for name in network)
    held_out = read_held_out(without or ())
    sets = [open_training_set(place, captions="clip" in kinds, without=held_out) for place in data]
    refuse_tested(sets, [open_test_set(place) for place in test_set or ()])
    request = PoolRequest(
        sets,
        network,
        {kind: choose_recipe(kind, epochs=epochs, steps=steps, batch=batch, rate=rate, decay=decay) for kind in kinds},
        {kind: shares or SHARES[kind] for kind in kinds},
        class_names_of(sets, classes),
        ratios=ratios or (*RATIOS, 1.0),
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
    note(f"Wrote {table}. Evaluate the models: unseen shifts run --models {table}")


def finetune(
    backbone: Annotated[str, typer.Option(help="Zero-shot model: openclip: and its name and weights, or a folder.")],
    data: Annotated[
        str,
        typer.Option(help="Labelled training images: a folder with one subfolder per class, a table, or a TOML file."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for models.csv and the checkpoints before and after fine-tuning.")],
    outputs: Annotated[
        str, typer.Option(help="Classes of the classifier: imagenet-1k, cifar-10, or a CSV with class,name.")
    ] = "imagenet-1k",
    templates: Annotated[
        str, typer.Option(help="Prompt templates of the zero-shot head: openai, simple, photo, plain, or a file.")
    ] = "openai",
    rates: Annotated[
        list[float] | None, typer.Option(help="Learning rates; one training for each. Default: 3e-5 and 1e-4.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each training.")] = 50_000,
    batch: Annotated[int, typer.Option(min=1, help="Batch size.")] = 512,
    without: WithoutOption = None,
    test_set: ApartOption = None,
    weights: WeightsOption = "pretrained",
    size: Annotated[int | None, typer.Option(min=1, help="Input size in pixels. Default: the model's own.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of image order and augmentation.")] = 0,
    every: EveryOption = 500,
    workers: TrainWorkersOption = None,
    dry_run: DryRunOption = False,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
) -> None:
    """Fine-tune a zero-shot model, starting from its zero-shot head.

    If it is interrupted, the same command resumes.
    """
    from unseen.images.own.one_split import open_test_set
    from unseen.studies.shifts.finetune import FinetuneRequest, finetune_zero_shot
    from unseen.studies.shifts.plans import ZERO_SHOT, ModelPlan
    from unseen.studies.shifts.training_sets import open_training_set, read_held_out, refuse_tested

    plan = ModelPlan(
        backbone, backbone, head=ZERO_SHOT, classes=outputs, templates=templates, weights=weights, size=size
    )
    training = open_training_set(data, without=read_held_out(without or ()))
    refuse_tested([training], [open_test_set(place) for place in test_set or ()])
    request = FinetuneRequest(plan, training, rates or [3e-5, 1e-4], steps, batch, seed, decoders(workers))
    means = MachineOptions(devices, executor, ray_address).means(workers or None, every_gpu=True)
    watch = CommandWatch(means)
    if dry_run:
        watch.planned(request.plan_training(out, means))
        return
    table = finetune_zero_shot(request, out, means=means, watch=watch, every=every)
    note(
        f"Wrote {table}. To interpolate: "
        f"unseen shifts interpolate {out / 'zero-shot.safetensors'} {out}/rate-….safetensors"
    )
