"""`unseen levels splits`: which images train and which test."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import Json, console, print_json, print_table, track

if TYPE_CHECKING:
    from unseen.images.splits import Splits

app = typer.Typer(
    help="Training and test images of every concept, drawn once, kept in a small file.", no_args_is_help=True
)


@app.command()
def build(
    images: Annotated[Path, typer.Option(help="A folder or tar file(s) per class.")],
    levels: Annotated[str, typer.Option(help="Whose concepts: cog-v2, cog-v1, or a levels CSV.")] = "cog-v2",
    test: Annotated[int, typer.Option(help="Test images per concept.")] = 50,
    min_train: Annotated[int, typer.Option(help="Fewest training images per concept.")] = 732,
    max_train: Annotated[int, typer.Option(help="Most training images per concept.")] = 1300,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="The same number for every concept: --min-train.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    out: Annotated[Path, typer.Option(help="Where to write the manifest.")] = Path("splits.npz"),
    as_json: Json = False,
) -> None:
    """Set test images aside for every concept of some levels, and choose those that train.

    The draw depends on the seed and the names of the images only. The images drawn are not those of the ImageNet-CoG
    authors, whose file `unseen levels splits import` reads.
    """
    from unseen.images.listing import list_images
    from unseen.images.splits import SplitRule, draw_splits
    from unseen.ontology.levels import load_levels

    rule = SplitRule(test, min_train, min_train if balanced else max_train)
    wanted = {concept.wnid for concept in load_levels(levels).concepts}
    listed = track(list_images(images), "classes read")
    splits = draw_splits(listed, wanted, source=images.name, rule=rule, seed=seed)
    splits.write(out)
    _print(splits, out, as_json)


@app.command()
def show(path: Annotated[Path, typer.Argument(help="A splits manifest.")], as_json: Json = False) -> None:
    """Check a manifest against its hash and summarise it."""
    from unseen.images.splits import Splits

    _print(Splits.read(path), path, as_json)


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="The authors' cog_concepts_split_file.pkl.")],
    out: Annotated[Path, typer.Option(help="Where to write the manifest.")] = Path("splits.npz"),
    as_json: Json = False,
) -> None:
    """Read the authors' own file of splits, safely, and write a manifest."""
    from unseen.images.cog_files import import_splits

    splits = import_splits(path)
    splits.write(out)
    _print(splits, out, as_json)


def _print(splits: "Splits", path: Path, as_json: bool) -> None:
    from unseen.images.splits import sizes

    counted = list(sizes(splits))
    train, test = [row[1] for row in counted], [row[2] for row in counted]
    record = {
        "path": str(path),
        "source": splits.source,
        "seed": splits.seed,
        "concepts": len(counted),
        "train": sum(train),
        "test": sum(test),
        "content_hash": splits.content_hash,
    }
    if as_json:
        print_json(record)
        return
    rows = [("training", f"{sum(train):,}", min(train), max(train)), ("test", f"{sum(test):,}", min(test), max(test))]
    print_table(
        f"{path}: {len(counted):,} concepts from {splits.source}",
        ("images", "all", "fewest", "most"),
        rows,
        ("all", "fewest", "most"),
    )
    console().print(f"content hash {splits.content_hash}")
