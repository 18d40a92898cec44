"""`unseen levels splits`: training and test images of concepts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.levels.keys import DrawKeys
from unseen.cli.output import Json, console, print_json, print_table, track
from unseen.cli.settings import setting_option
from unseen.reading.keys import with_texts

if TYPE_CHECKING:
    from unseen.data.core.splits import Splits

app = typer.Typer(
    help="Draw the training and test images of each concept, and keep them in a file.", no_args_is_help=True
)


@app.command()
def build(
    images: Annotated[Path, typer.Option(help="Images: one folder or tar file per class.")],
    levels: Annotated[
        str, typer.Option(help="Levels with the concepts to draw for: cog-v2, cog-v1, or a levels CSV.")
    ] = "cog-v2",
    settings: Annotated[list[str] | None, setting_option(DrawKeys)] = None,
    out: Annotated[Path, typer.Option(help="Write the splits to this file.")] = Path("splits.npz"),
    as_json: Json = False,
) -> None:
    """Draw training and test images for every concept of some levels.

    The draw depends only on the seed and the names of the images. With --set max-train=732, every concept has as many
    training images. It differs from that of the ImageNet-CoG authors; use `unseen levels splits import` for theirs.
    """
    keys = with_texts(DrawKeys(), settings or ())
    from unseen.data.core.listing import list_images
    from unseen.data.core.splits import SplitRule, draw_splits
    from unseen.ontology.levels import load_levels

    rule = SplitRule(keys.test, keys.min_train, keys.max_train)
    wanted = {concept.wnid for concept in load_levels(levels).concepts}
    listed = track(list_images(images), "classes read")
    splits = draw_splits(listed, wanted, source=images.name, rule=rule, seed=keys.seed)
    splits.write(out)
    _print(splits, out, as_json)


@app.command()
def show(path: Annotated[Path, typer.Argument(help="File of splits.")], as_json: Json = False) -> None:
    """Verify the hash of a file of splits and summarise it."""
    from unseen.data.core.splits import Splits

    _print(Splits.read(path), path, as_json)


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="The authors' file of splits (.pkl).")],
    out: Annotated[Path, typer.Option(help="Write the splits to this file.")] = Path("splits.npz"),
    as_json: Json = False,
) -> None:
    """Convert the authors' file of splits, without executing its pickle."""
    from unseen.data.concepts.cog_files import import_splits

    splits = import_splits(path)
    splits.write(out)
    _print(splits, out, as_json)


def _print(splits: "Splits", path: Path, as_json: bool) -> None:
    from unseen.data.core.splits import sizes

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
        ("images", "total", "minimum", "maximum"),
        rows,
        ("total", "minimum", "maximum"),
    )
    console().print(f"Content hash: {splits.content_hash}")
