"""`unseen shifts`, from models and test sets: run, mapping, interpolate."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.choices import split_names
from unseen.cli.extract import decoders
from unseen.cli.option_groups import MachineOptions, settings_of_options
from unseen.cli.options import (
    BatchOption,
    CheckpointOption,
    DeviceOption,
    DevicesOption,
    DryRunOption,
    ExecutorOption,
    IgnoreDiskOption,
    OnErrorOption,
    PartOption,
    PrecisionOption,
    RayAddressOption,
    WeightsOption,
)
from unseen.cli.output import Json, console, note, print_json, print_table
from unseen.cli.shift_results import print_accuracies
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError
from unseen.own_code import told_before

MappingOption = Annotated[
    str | None, typer.Option(help="Classes to compare by: cifar-10 (from ImageNet's, by WordNet), or a CSV wnid,class.")
]

TestSetOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A test set of your own: a folder per class, a CSV or Parquet of images and labels, what shifts captions "
        "wrote, or a TOML file; several may be given."
    ),
]


def evaluate(
    out: Annotated[
        Path,
        typer.Option(help="Folder whose accuracies.csv, columns.csv and predictions are added to."),
    ],
    sets: Annotated[Path | None, typer.Option(help="Folder that published test sets are below.")] = None,
    test_set: TestSetOption = None,
    backbone: Annotated[list[str] | None, typer.Option(help="Its id; several may be given.")] = None,
    models: Annotated[
        Path | None, typer.Option(help="CSV: model,backbone[,group,head,checkpoint,classes,templates,weights,size].")
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Run the Python files and hub folders that --models names.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Some test sets below --sets, with commas; * stands for anything.")
    ] = None,
    classes: Annotated[
        str,
        typer.Option(help="To score on, with commas: own, shared, a test set or a list (imagenet-r, a file) of them."),
    ] = "own",
    mapping: MappingOption = None,
    head: Annotated[str, typer.Option(help="own, zero-shot, linear, or a file of a linear probe.")] = "own",
    checkpoint: CheckpointOption = None,
    outputs: Annotated[
        str, typer.Option(help="What the model's outputs are: imagenet-1k, cifar-10, or a CSV class,name.")
    ] = "imagenet-1k",
    templates: Annotated[str, typer.Option(help="Of zero-shot sentences: openai, simple, name, or a file.")] = "openai",
    weights: WeightsOption = "pretrained",
    partial: Annotated[bool, typer.Option("--partial", help="Score incomplete copies of test sets too.")] = False,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    batch: BatchOption = 128,
    workers: Annotated[int | None, typer.Option(help="Processes that decode, or 0; by default one a core.")] = None,
    on_error: OnErrorOption = "fail",
    dry_run: DryRunOption = False,
    ignore_disk: IgnoreDiskOption = False,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
    part: PartOption = "1/1",
) -> None:
    """Accuracies of models on test sets, for `unseen shifts fit`. If it is stopped, the same command continues."""
    from unseen.ontology.class_mapping import choose_mapping
    from unseen.runs.parts import parse_part
    from unseen.studies.shifts.plans import ModelPlan, chosen_models
    from unseen.studies.shifts.request import ShiftRequest, open_sets
    from unseen.studies.study import plan_study, run_study

    share, settings = parse_part(part), settings_of_options(device, precision, batch, decoders(workers), on_error)
    common = ModelPlan("", "", head=head, checkpoint=checkpoint, classes=outputs, templates=templates, weights=weights)
    plans = chosen_models(backbone or [], models, common, allow_code=allow_code)
    for plan in plans:
        told_before(plan.backbone, note)
    request = ShiftRequest(
        plans,
        open_sets(sets, split_names("--only", only) if only else (), test_set or (), partial=partial),
        settings,
        split_names("--classes", classes),
        choose_mapping(mapping).of if mapping else None,
    )
    means = MachineOptions(devices, executor, ray_address).means(workers or None, every_gpu=device is None)
    watch = CommandWatch(means)
    if dry_run:
        watch.planned(plan_study(request, out, means=means))
        return
    data = run_study(request, out, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    print_accuracies(data, [plan.model for plan in request.plans], [column.name for column in request.columns])
    note(f"written to {out}")
    request.refuse_passed_over(out)


def show_mapping(
    mapping: Annotated[str, typer.Argument(help="cifar-10, or a CSV wnid,class.")] = "cifar-10",
    out: Annotated[Path | None, typer.Option(help="CSV file to write it to.")] = None,
    json: Json = False,
) -> None:
    """Which classes of ImageNet are of which class of another data set."""
    from unseen.ontology.class_mapping import choose_mapping, mapping_rows
    from unseen.ontology.wordnet import wordnet

    found = choose_mapping(mapping)
    if out:
        found.write(out)
    if json:
        print_json({"of": dict(found.of), "ambiguous": dict(found.ambiguous)})
        return
    print_table(mapping, ["class", "concepts", "which"], mapping_rows(found), right=["concepts"])
    for wnid, targets in found.ambiguous.items():
        console().print(f"ambiguous, left out: {wordnet().synset(wnid).name} ({' or '.join(targets)})")
    empty = [target for target in found.targets if not found.members(target)]
    if empty:
        console().print(f"nothing maps to: {', '.join(empty)}")


def interpolate(
    zero: Annotated[Path, typer.Argument(help="Checkpoint of the zero-shot classifier.")],
    fine: Annotated[Path, typer.Argument(help="Checkpoint of the same classifier, fine-tuned.")],
    out: Annotated[Path, typer.Option(help="Folder for the checkpoints between.")],
    alphas: Annotated[str, typer.Option(help="Shares of the second, with commas.")] = "0.5",
) -> None:
    """WiSE-FT: checkpoints between two, (1 − α) of the first and α of the second."""
    from unseen.backbones.wise_ft import write_interpolations

    try:
        shares = [float(word) for word in split_names("--alphas", alphas)]
    except ValueError:
        raise UserError(f"--alphas is numbers from 0 to 1 with commas between, not '{alphas}'") from None
    for file in write_interpolations(zero, fine, shares, out):
        console().print(str(file))
