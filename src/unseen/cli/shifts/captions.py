"""`unseen shifts captions`: a labelled ID test set from the captions of a training set."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.output import console, note, track
from unseen.cli.running import WorkersOption, processes
from unseen.cli.settings import setting_option
from unseen.data.captions.rule import CaptionRule
from unseen.reading.keys import with_texts

if TYPE_CHECKING:
    from unseen.data.captions.labelling import CaptionSet


def captions(
    files: Annotated[list[Path], typer.Argument(help="Files of captions: Parquet, TSV or CSV, or folders of them.")],
    id_: Annotated[
        str,
        typer.Option("--id", help="Column with the ids of images: its name, or its number in a file without a header."),
    ],
    text: Annotated[
        str, typer.Option(help="Column with captions or tags: its name, or its number in a file without a header.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for the test set, the list of images to remove from training, and coverage.")
    ],
    images: Annotated[
        Path | None, typer.Option(help="Images, found by their ids: a folder, or WebDataset shards.")
    ] = None,
    names: Annotated[str, typer.Option(help="Class names: imagenet-1k, imagenet-21k, or a CSV with class,name.")] = (
        "imagenet-1k"
    ),
    settings: Annotated[list[str] | None, setting_option(CaptionRule)] = None,
    workers: WorkersOption = None,
) -> None:
    """Make a labelled ID test set from the captions of a training set.

    An image is labelled if its caption names exactly one class. Some images of each class are held out as the test set,
    and listed so that they can be removed from the training set (unseen shifts pool --without).
    """
    rule = with_texts(CaptionRule(), settings or ())
    from unseen.data.captions.files import Columns, caption_files
    from unseen.data.captions.labelling import label_captions
    from unseen.data.captions.matcher import read_names

    found = label_captions(
        caption_files(files),
        Columns(id_, text),
        read_names(names),
        rule,
        workers=processes(workers),
        watch=lambda tallies: track(tallies, "batches of captions"),
    )
    found.write(out, images)
    _print(found)
    note(f"Wrote {out}")


def _print(found: "CaptionSet") -> None:
    tally, test, rule = found.tally, found.test, found.rule
    out = console()
    out.print(f"{tally.captions:,} captions: {tally.matched[1]:,} name one class, {tally.matched[2]:,} name several")
    out.print(f"Ambiguous: {found.ambiguous_share:.1%} of the captions that name a class")
    out.print(
        f"{len(test):,} of {len(found.names):,} classes have at least {rule.least} labelled images; "
        f"{len(test) * rule.held_out:,} images are held out"
    )
    if tally.damaged:
        note(f"Skipped {tally.damaged:,} rows with too many or too few fields, without an id, or not in UTF-8")
    if found.unlabelled:
        several = ", ".join(found.names[label][0] for label in found.unlabelled)
        note(f"Classes without images, because they share every name with another class: {several}")
