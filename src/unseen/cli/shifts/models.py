"""`unseen shifts run`, `mapping` and `interpolate`."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.extract import decoders
from unseen.cli.option_groups import MachineOptions, settings_of_options
from unseen.cli.options import (
    BatchOption,
    CheckpointOption,
    DecodersOption,
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
from unseen.cli.running import others_shown
from unseen.cli.shifts.results import print_accuracies, write_run_page
from unseen.cli.watching import CommandWatch
from unseen.extension.own_code import told_before

MappingOption = Annotated[
    str | None,
    typer.Option(
        help="Coarser classes to score on: cifar-10 (mapped from ImageNet by WordNet), or a CSV with wnid,class."
    ),
]

TestSetOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Your own test set: a folder with one subfolder per class, a CSV or Parquet file of images and labels, "
        "the output of unseen shifts captions, or a TOML file."
    ),
]


def evaluate(
    out: Annotated[
        Path,
        typer.Option(help="Folder of the run; new models and test sets are added to its accuracies.csv."),
    ],
    sets: Annotated[
        Path | None, typer.Option(help="Folder that contains published test sets (unseen ls shift-sets).")
    ] = None,
    test_set: TestSetOption = None,
    backbone: Annotated[list[str] | None, typer.Option(help="Backbone id, such as timm:resnet50.")] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            help="CSV of models: columns model and backbone; optionally group, head, checkpoint, classes, templates, "
            "weights, size."
        ),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Allow --models to execute Python files and torch.hub folders.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Test sets of --sets to use; * matches anything. Default: all."),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            help="Classes to score on: own (those of each test set, the default), shared (those in all test sets), the "
            "name of a test set, or a class list (imagenet-r, a file)."
        ),
    ] = None,
    mapping: MappingOption = None,
    head: Annotated[
        str,
        typer.Option(
            help="Classifier: the model's own, zero-shot, linear, or a file with a linear probe (unseen probe --keep)."
        ),
    ] = "own",
    checkpoint: CheckpointOption = None,
    outputs: Annotated[
        str, typer.Option(help="Classes of the model's outputs: imagenet-1k, cifar-10, or a CSV with class,name.")
    ] = "imagenet-1k",
    templates: Annotated[
        str,
        typer.Option(help="Prompt templates of a zero-shot head: openai, simple, photo, plain, or a file."),
    ] = "openai",
    weights: WeightsOption = "pretrained",
    partial: Annotated[bool, typer.Option("--partial", help="Also score incomplete copies of test sets.")] = False,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    batch: BatchOption = 128,
    workers: DecodersOption = None,
    on_error: OnErrorOption = "fail",
    dry_run: DryRunOption = False,
    ignore_disk: IgnoreDiskOption = False,
    devices: DevicesOption = None,
    executor: ExecutorOption = None,
    ray_address: RayAddressOption = None,
    part: PartOption = "1/1",
) -> None:
    """Evaluate models on test sets and write a report, with effective robustness if a fit is possible.

    If it is interrupted, the same command resumes.
    """
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
        open_sets(sets, only or (), test_set or (), partial=partial),
        settings,
        classes or ["own"],
        choose_mapping(mapping).of if mapping else None,
    )
    means = MachineOptions(devices, executor, ray_address).means(workers or None, every_gpu=device is None)
    watch = CommandWatch(means, share)
    if dry_run:
        watch.planned(plan_study(request, out, means=means))
        return
    with others_shown(out, lambda: write_run_page(out)):
        data = run_study(request, out, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    print_accuracies(data, [plan.model for plan in request.plans], [column.name for column in request.columns])
    if data.scores:
        write_run_page(out)
    request.refuse_passed_over(out)


def show_mapping(
    mapping: Annotated[str, typer.Argument(help="cifar-10, or a CSV with wnid,class.")] = "cifar-10",
    out: Annotated[Path | None, typer.Option(help="Write the mapping to this CSV file.")] = None,
    json: Json = False,
) -> None:
    """Show which ImageNet classes map to each class of another data set."""
    from unseen.ontology.class_mapping import choose_mapping, mapping_rows
    from unseen.ontology.wordnet import wordnet

    found = choose_mapping(mapping)
    if out:
        found.write(out)
    if json:
        print_json({"of": dict(found.of), "ambiguous": dict(found.ambiguous)})
        return
    print_table(mapping, ["class", "concepts", "ImageNet classes"], mapping_rows(found), right=["concepts"])
    for wnid, targets in found.ambiguous.items():
        console().print(f"Ambiguous, left out: {wordnet().synset(wnid).name} ({' or '.join(targets)})")
    empty = [target for target in found.targets if not found.members(target)]
    if empty:
        console().print(f"Classes without ImageNet classes: {', '.join(empty)}")


def interpolate(
    zero: Annotated[Path, typer.Argument(help="Checkpoint of the zero-shot classifier.")],
    fine: Annotated[Path, typer.Argument(help="Checkpoint of the fine-tuned classifier.")],
    out: Annotated[Path, typer.Option(help="Folder for the interpolated checkpoints.")],
    alphas: Annotated[
        list[float] | None, typer.Option(help="Weights α of the fine-tuned checkpoint. Default: 0.5.")
    ] = None,
) -> None:
    """Interpolate two checkpoints (WiSE-FT): (1 − α) × zero-shot + α × fine-tuned."""
    from unseen.backbones.wise_ft import write_interpolations

    for file in write_interpolations(zero, fine, alphas or [0.5], out):
        console().print(str(file))
