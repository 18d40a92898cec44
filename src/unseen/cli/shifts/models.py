"""`unseen shifts mapping` and `interpolate`."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import Json, console, print_json, print_table


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
