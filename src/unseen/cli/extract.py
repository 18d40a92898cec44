"""`unseen extract`: from backbones and images to features on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.choices import one_of
from unseen.cli.domains import DomainOptions
from unseen.cli.option_groups import BackboneOptions, ExtractionOptions, MachineOptions, with_groups
from unseen.cli.options import (
    BACKBONES,
    DecodersOption,
    PartOption,
)
from unseen.cli.output import console, note, track
from unseen.cli.running import processes
from unseen.cli.watching import CommandWatch, extraction_lines
from unseen.errors import UserError
from unseen.files import check_writable
from unseen.text.words import whole_number

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings
    from unseen.images.manifest import Manifest
    from unseen.images.source import ImageSource
    from unseen.runs.means import Means


@with_groups
def extract(
    *,
    backbone: Annotated[
        list[str],
        typer.Option(help="Backbone id, such as timm:resnet50. All backbones share one pass over the images."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the features.")],
    images: Annotated[
        str | None,
        typer.Option(
            help="Images: a folder, a CSV or Parquet list, tar files, WebDataset shards, a Hugging Face data set, "
            "torchvision:NAME."
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help="Extract the domains of a concept study: cog-v2, cog-v1, a levels CSV, a measure, or random."
        ),
    ] = None,
    where: DomainOptions,
    split: Annotated[str | None, typer.Option(help="Split to use, if there are several.")] = None,
    root: Annotated[
        Path | None, typer.Option(help="Folder that the paths of a list are relative to, or torchvision's data folder.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Label column (list, Hugging Face), or cls or a JSON field (WebDataset)."),
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image column (list, Hugging Face).")] = None,
    chosen: BackboneOptions,
    patches: Annotated[
        str | None,
        typer.Option(
            metavar="[N|all]",
            help="Extract patch features: N random patches per image, or all (the default without a value). Images "
            "are resized to squares.",
            rich_help_panel=BACKBONES,
        ),
    ] = None,
    preprocessing: Annotated[
        str | None,
        one_of(
            "own",
            "published",
            help="The backbone's own preprocessing, or that of ImageNet-CoG (the default with --levels).",
            rich_help_panel=BACKBONES,
        ),
    ] = None,
    extraction: ExtractionOptions,
    workers: DecodersOption = None,
    machine: MachineOptions,
    part: PartOption = "1/1",
) -> None:
    """Extract the features of images with one or several backbones.

    If it is interrupted, the same command resumes; existing features are not extracted again.

    With --levels, the domains of a concept study are extracted, each into its own folder. --images are then the images
    of ImageNet-21K (or of your own levels), and --imagenet-1k those of the seen concepts.
    """
    from unseen.features.disk import refuse_full_disk
    from unseen.features.patches import patch_settings
    from unseen.runs.parts import parse_part
    from unseen.studies.concepts.chosen import chosen_domains
    from unseen.studies.concepts.features import extract_domains
    from unseen.studies.concepts.images import open_domains
    from unseen.studies.concepts.plan import missing_bytes

    check_writable(out)
    settings = extraction.settings(decoders(workers), parse_part(part))
    means = machine.means(max(settings.workers, 1), every_gpu=extraction.device is None)
    if levels is None:
        _refuse_without_levels(
            domains=where.domains, imagenet_1k=where.imagenet_1k, vectors=where.vectors, seen=where.seen
        )
        if images is None:
            raise UserError("no images were given; name them (--images)")
        source = _open(images, split=split, root=root, truth=where.truth, label=label, image=image)
        manifest = _manifest(source, where.splits)
        loaded = chosen.load(backbone, preprocessing or "own", settings.device, patches=_patches(patches))
        settings = patch_settings(settings, loaded) if patches is not None else settings
        _extract_plain(source, manifest, loaded, out, settings, means, extraction.ignore_disk)
        return
    if patches is not None:
        raise UserError("--patches cannot be used with --levels: concepts are probed with features of whole images")
    _refuse_with_levels(split=split, root=root, label=label, image=image)
    known, watch = where.levels(levels, images), CommandWatch()
    opened, _ = open_domains(known, chosen_domains(where.domains, known.names), where.places(images), watch)
    loaded = chosen.load(backbone, preprocessing or "published", settings.device)
    refuse_full_disk(out, missing_bytes(opened, loaded, out, settings), ignore=extraction.ignore_disk)
    for domain, word, stores in extract_domains(opened, loaded, out, settings, watch.extracting, means):
        for store in stores:
            say_store(f"{domain}, {word}", store)


def _extract_plain(
    source: "ImageSource",
    manifest: "Manifest",
    loaded: "list[Backbone]",
    out: Path,
    settings: "Settings",
    means: "Means",
    ignore_disk: bool,
) -> None:
    from unseen.features.disk import feature_bytes, refuse_full_disk, remaining_rows
    from unseen.runs.extraction import Pass, extract_passes

    words, specs = list(dict.fromkeys(manifest.splits)), [backbone.spec for backbone in loaded]
    rows = [remaining_rows(source, manifest, word, specs, out, settings) for word in words]
    needed = sum(
        feature_bytes(left, spec.dimension, settings) for of in rows for left, spec in zip(of, specs, strict=True)
    )
    refuse_full_disk(out, needed, ignore=ignore_disk)
    passes = [Pass(source, manifest, word, out, extraction_lines) for word in words]
    for word, stores in zip(words, extract_passes(means, passes, loaded, settings), strict=True):
        for store in stores:
            say_store(word, store)


def say_store(what: str, store: Path) -> None:
    """Print the place of features, whether parts are missing, and how many damaged images were left out."""
    from unseen.features.store import MANIFEST

    if not (store / MANIFEST).is_file():
        console().print(f"{what}: {store} (unfinished: other parts are missing)")
        return
    console().print(f"{what}: {store}")
    say_damaged(what, store)


def say_damaged(what: str, store: Path) -> None:
    """Print how many images a finished store had to leave out, if any."""
    from unseen.studies.features import damaged_images

    if sentence := damaged_images(what, store):
        note(sentence)


def decoders(workers: int | None) -> int:
    """Number of processes that decode: one per core by default, 0 for the main process alone."""
    return 0 if workers == 0 else processes(workers)


def _patches(text: str | None) -> bool | int:
    """All patches of an image (True), so many of them, or none (False)."""
    if text is None or text == "all":
        return text == "all"
    number = whole_number(text)
    if not number:
        raise UserError(f"--patches takes a number of patches per image, at least 1, or all, not '{text}'")
    return number


def _open(images: str, **options: Any) -> "ImageSource":
    from unseen.images.open_source import open_images

    return open_images(images, **options, watch=lambda classes: track(classes, "classes indexed"))


def _manifest(source: "ImageSource", splits: Path | None) -> "Manifest":
    """The images that splits name, or all of them."""
    from unseen.images.manifest import drawn, whole
    from unseen.images.splits import Splits

    return drawn(source, Splits.read(splits)) if splits else whole(source, "all")


def _refuse_without_levels(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name.replace('_', '-')} needs --levels, such as --levels cog-v2")


def _refuse_with_levels(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name} cannot be used with --levels; leave out one of them")
