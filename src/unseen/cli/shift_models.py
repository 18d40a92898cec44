"""`unseen shifts`, from models and test sets: run, mapping, interpolate."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import split_names
from unseen.cli.extract import extraction_settings
from unseen.cli.options import (
    BatchOption,
    CheckpointOption,
    DeviceOption,
    OnErrorOption,
    PrecisionOption,
    WeightsOption,
)
from unseen.cli.output import Json, console, note, print_json, print_table
from unseen.cli.running import processes
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.ontology.class_mapping import ClassMapping
    from unseen.studies.shifts.accuracies import Scored
    from unseen.studies.shifts.plans import ModelPlan

CIFAR = "cifar-10"
MappingOption = Annotated[
    str | None, typer.Option(help="Classes to compare by: cifar-10 (from ImageNet's, by WordNet), or a CSV wnid,class.")
]


def evaluate(
    sets: Annotated[Path, typer.Option(help="Folder that all test sets are below.")],
    out: Annotated[
        Path,
        typer.Option(help="Folder whose accuracies.csv, columns.csv and predictions are added to."),
    ],
    backbone: Annotated[list[str] | None, typer.Option(help="Its id; several may be given.")] = None,
    models: Annotated[
        Path | None, typer.Option(help="CSV: model,backbone[,group,head,checkpoint,classes,templates,weights].")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Some test sets, with commas; * stands for anything.")] = None,
    classes: Annotated[
        str, typer.Option(help="To score on, with commas: own, shared, or a test set whose classes to take.")
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
) -> None:
    """Accuracies of models on test sets, for `unseen shifts fit`; stopped, the same command goes on."""
    from unseen.images.shift_sets.registry import get_sets, sets_below
    from unseen.images.shift_sets.shift_set import open_set
    from unseen.studies.shifts.models import evaluate_models
    from unseen.studies.shifts.plans import ModelPlan

    count = 0 if workers == 0 else processes(workers)
    settings = extraction_settings(device, precision, batch, count, on_error)
    common = ModelPlan("", "", head=head, checkpoint=checkpoint, classes=outputs, templates=templates, weights=weights)
    plans = _plans(backbone or [], models, common)
    chosen = get_sets(split_names("--only", only)) if only else sets_below(sets)
    if not chosen:
        raise UserError(f"{sets}: no test set below it; see unseen ls shift-sets for where they are expected")
    found = evaluate_models(
        plans,
        [open_set(one, sets, partial=partial) for one in chosen],
        out,
        settings,
        scopes=split_names("--classes", classes),
        mapping=choose_mapping(mapping).of if mapping else None,
        watch=CommandWatch().extracting,
        tell=note,
    )
    _print(found.rows)
    note(f"written to {out}")
    for model, why in found.passed_over.items():
        note(f"passed over, {model}: {why}")
    if found.passed_over:
        raise UserError(
            f"{len(found.passed_over)} of {len(plans)} models could not be loaded, and the others are in {out}; "
            "the same command, mended, adds them"
        )


def show_mapping(
    mapping: Annotated[str, typer.Argument(help="cifar-10, or a CSV wnid,class.")] = CIFAR,
    out: Annotated[Path | None, typer.Option(help="CSV file to write it to.")] = None,
    json: Json = False,
) -> None:
    """Which classes of ImageNet are of which class of another data set."""
    from unseen.ontology.class_mapping import mapping_rows
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


def choose_mapping(text: str) -> "ClassMapping":
    """A mapping by name or from a file."""
    from unseen.ontology.class_mapping import imagenet_to_cifar10, read_mapping

    return imagenet_to_cifar10() if text == CIFAR else read_mapping(Path(text))


def _plans(backbones: list[str], models: Path | None, common: "ModelPlan") -> "list[ModelPlan]":
    from dataclasses import replace

    from unseen.studies.shifts.plans import read_plans

    if bool(backbones) == bool(models):
        raise UserError("say which models: --backbone, once or more often, or --models FILE")
    if models:
        return list(read_plans(models))
    if common.checkpoint is not None and len(backbones) > 1:
        raise UserError("--checkpoint is for one backbone at a time; for several give --models FILE")
    if len(set(backbones)) < len(backbones):
        raise UserError("a backbone is given twice")
    return [replace(common, model=name, backbone=name) for name in backbones]


def _print(rows: "Sequence[Scored]") -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row.accuracy))
    lines = [
        [row.plan.model, *(f"{100 * row.accuracy[name]:.2f}" if name in row.accuracy else "" for name in columns)]
        for row in rows
    ]
    print_table("Accuracies, percent", ["model", *columns], lines, right=columns)
