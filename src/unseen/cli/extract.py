"""`unseen extract`: from backbones and images to features on disk."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose
from unseen.cli.output import SECONDS_BETWEEN_LINES, console, duration, note, track
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.features.one_pass import Progress
    from unseen.images.manifest import Manifest
    from unseen.images.source import ImageSource


def extract(
    backbone: Annotated[list[str], typer.Option(help="Its id; several share one pass over the images.")],
    images: Annotated[str, typer.Option(help="A folder, list, tars, shards, data set on disk, torchvision:NAME.")],
    out: Annotated[Path, typer.Option(help="Folder that feature stores are written to.")],
    splits: Annotated[Path | None, typer.Option(help="By `unseen splits`: which images train and test.")] = None,
    split: Annotated[str | None, typer.Option(help="Which to open, where the place has several.")] = None,
    root: Annotated[Path | None, typer.Option(help="Of a list's paths, or of torchvision's data.")] = None,
    truth: Annotated[Path | None, typer.Option(help="Classes of a flat validation set.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1; a GPU where there is one.")] = None,
    precision: Annotated[str | None, typer.Option(help="half or single; half on a GPU.")] = None,
    batch: Annotated[int, typer.Option(help="Images a batch.")] = 128,
    workers: Annotated[int, typer.Option(help="Processes that decode.")] = 2,
    on_error: Annotated[str, typer.Option(help="fail, or report damaged images and go on.")] = "fail",
    fast: Annotated[bool, typer.Option("--fast", help="Decode large JPEGs faster, with other pixels.")] = False,
    exif: Annotated[bool, typer.Option("--exif", help="Turn images as their EXIF orientation says.")] = False,
    part: Annotated[str, typer.Option(help="2/4: do the second of four parts, and leave the rest to others.")] = "1/1",
) -> None:
    """Extract features; stopped, the same command goes on, and run again it does nothing."""
    import torch

    from unseen.backbones.load import load_backbone
    from unseen.features.extract import extract as run
    from unseen.features.settings import Settings
    from unseen.images.open_source import open_images

    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind = choose("--precision", precision or ("half" if place.startswith("cuda") else "single"), ("half", "single"))
    settings = Settings(
        device=place,
        precision="half" if kind == "half" else "single",
        batch=batch,
        workers=workers,
        on_error="report" if choose("--on-error", on_error, ("fail", "report")) == "report" else "fail",
        fast=fast,
        exif=exif,
        part=_part(part),
    )
    source = open_images(
        images, split=split, root=root, truth=truth, watch=lambda classes: track(classes, "classes indexed")
    )
    loaded = [load_backbone(name, device=place) for name in backbone]
    for sentence in (sentence for each in loaded for sentence in each.notes):
        note(sentence)
    manifest = _manifest(source, splits)
    for word in dict.fromkeys(manifest.splits):
        for store in run(source, manifest, word, loaded, out, settings, watch=_watch()):
            console().print(f"{word}: {store}")


def _manifest(source: "ImageSource", splits: Path | None) -> "Manifest":
    """The images that splits name, or all of them."""
    from unseen.images.manifest import drawn, whole
    from unseen.images.splits import Splits

    return drawn(source, Splits.read(splits)) if splits else whole(source, "all")


def _part(text: str) -> tuple[int, int]:
    number, slash, parts = text.partition("/")
    if not (slash and number.isdigit() and parts.isdigit()):
        raise UserError(f"--part is two numbers, for instance 2/4 for the second of four, not '{text}'")
    return int(number), int(parts)


def _watch() -> "Callable[[Progress], None]":
    """Prints how far it is, every few seconds and at the end."""
    last = time.monotonic()

    def show(progress: "Progress") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_LINES or progress.done == progress.total:
            last = now
            waited = progress.idle / progress.seconds if progress.seconds else 0.0
            note(
                f"{progress.done:,} of {progress.total:,} images, {progress.rate:,.0f} a second, "
                f"{duration(progress.left)} left; the device waited {waited:.0%} of the time"
            )

    return show
