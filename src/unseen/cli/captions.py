"""`unseen shifts captions`: a labelled ID test set from the captions of a training set."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import console, note, track
from unseen.cli.running import WorkersOption, processes

if TYPE_CHECKING:
    from unseen.images.captions import CaptionSet


def captions(
    files: Annotated[list[Path], typer.Argument(help="Parquet, TSV or CSV files, or folders of them.")],
    id_: Annotated[str, typer.Option("--id", help="Column of the images' ids; its number in a file without a header.")],
    text: Annotated[str, typer.Option(help="Column of captions or tags; its number in a file without a header.")],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the test set, what to leave out of training, and coverage."),
    ],
    images: Annotated[
        Path | None, typer.Option(help="Where images are found by their ids: a folder, or WebDataset shards.")
    ] = None,
    names: Annotated[str, typer.Option(help="Of classes: imagenet-1k, imagenet-21k, or a CSV class,name.")] = (
        "imagenet-1k"
    ),
    tags: Annotated[bool, typer.Option("--tags", help="The text is tags as in YFCC, with commas between.")] = False,
    least: Annotated[int, typer.Option(min=1, help="Labelled images that a class must have.")] = 100,
    held_out: Annotated[int, typer.Option(min=1, help="Images of each such class in the test set.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 0,
    workers: WorkersOption = None,
) -> None:
    """Label images whose caption names exactly one class, hold some of each class out, list them for removal."""
    from unseen.images.caption_files import Columns, caption_files
    from unseen.images.caption_matcher import read_names
    from unseen.images.captions import CaptionRule, label_captions

    found = label_captions(
        caption_files(files),
        Columns(id_, text),
        read_names(names),
        CaptionRule(tags, least, held_out, seed),
        workers=processes(workers),
        watch=lambda tallies: track(tallies, "batches of captions"),
    )
    found.write(out, images)
    _print(found)
    note(f"written to {out}")


def _print(found: "CaptionSet") -> None:
    tally, test, rule = found.tally, found.test, found.rule
    out = console()
    out.print(f"{tally.captions:,} captions: {tally.matched[1]:,} name one class, {tally.matched[2]:,} name several")
    out.print(f"ambiguous: {found.ambiguous_share:.1%} of those that name any")
    out.print(
        f"{len(test):,} of {len(found.names):,} classes have at least {rule.least} labelled images; "
        f"{len(test) * rule.held_out:,} images are held out"
    )
    if tally.damaged:
        note(f"{tally.damaged:,} rows had too many or too few fields, no id, or are not UTF-8, and were passed over")
    if found.unlabelled:
        several = ", ".join(found.names[label][0] for label in found.unlabelled)
        note(f"classes that share every name with another, and so have no images: {several}")
