"""Detecting the kind of image source at a path."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unseen.data.core.folder import folder_images
from unseen.data.core.links import refuse_links_out
from unseen.data.core.listing import list_folder
from unseen.data.core.source import ImageSource
from unseen.data.core.tars.archive import TAR_NAME, is_image
from unseen.data.core.tars.imagenet_tars import imagenet_tars
from unseen.data.core.tars.index import Watch
from unseen.data.core.tars.webdataset import RANGE, is_shard, webdataset_images
from unseen.data.sources.arrow import INFO, SPLITS, STATE, arrow_images
from unseen.data.sources.imagenet_1k import flat_validation, imagenet_1k, is_flat_validation
from unseen.data.sources.list_file import listed_images
from unseen.data.sources.parquet_images import PARQUET, has_images, is_pattern, parquet_files
from unseen.data.sources.repository import is_repository, repository_images
from unseen.data.sources.torchvision_sets import PREFIX, torchvision_images
from unseen.errors import UserError

LIST_SUFFIXES = (".csv", ".tsv", ".txt", ".lst", PARQUET)
OFFICIAL_TARS = ("ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar")
SPLIT_FOLDERS = {"train", "val", "validation", "test"}
EXPECTED = (
    "expected a folder per class, a list file, ImageNet's tar files, WebDataset shards, a Hugging Face data set on "
    "disk, Parquet files with images, or torchvision:NAME"
)


@dataclass(frozen=True)
class Kind:
    """A kind of source: its name, the function that opens it, and the options of that function."""

    words: str
    open: Callable[..., ImageSource]
    options: tuple[str, ...] = ()


EMBEDDED = ("split", "image", "label", "captions")
TORCHVISION = Kind("a data set of torchvision", torchvision_images, ("root", "split"))
LIST = Kind("a list file", listed_images, ("root", "split", "image", "label"))
ARROW = Kind("a Hugging Face data set", arrow_images, EMBEDDED)
PARQUET_FILES = Kind("a Parquet file with images", parquet_files, ("root", "image", "label", "captions"))
REPOSITORY = Kind("a repository of a data set", repository_images, ("root", "config", *EMBEDDED))
SHARDS = Kind("a WebDataset", webdataset_images, ("label", "cache", "watch"))
TARS = Kind("a set of tar files per class", imagenet_tars, ("cache", "watch"))
VALIDATION = Kind("ImageNet-1K's flat validation set", flat_validation, ("truth", "cache", "watch"))
IMAGENET_1K = Kind("a folder of several splits", imagenet_1k, ("split", "truth", "cache", "watch"))
FOLDERS = Kind("a folder per class", folder_images)


def open_images(
    place: str | Path,
    *,
    split: str | None = None,
    root: Path | None = None,
    label: str | None = None,
    image: str | None = None,
    config: str | None = None,
    captions: bool = False,
    truth: Path | None = None,
    cache: Path | None = None,
    watch: Watch = iter,
) -> ImageSource:
    """The images at a place of any kind; an option that its kind does not support is an error.

    Args:
        place: a folder, a file, a pattern of shards or of Parquet files, or `torchvision:NAME`.
        split: the split to read: `train` or `val` of ImageNet-1K, a split of a Hugging Face or torchvision data set, or
            a value in the column `split` of a list.
        root: the folder that the paths of a list or of a Parquet file are relative to, or the folder of torchvision's
            files.
        label: where the class is stored: a column of a list or a Hugging Face data set, `cls` or a JSON field of a
            WebDataset.
        image: the column of paths in a list, or of images in a Hugging Face data set.
        config: the configuration of a repository.
        captions: whether labels are captions, of a Hugging Face data set.
        truth: file with the classes of ImageNet-1K's flat validation images.
        cache: a folder for the index of tar files, which is otherwise stored beside them.
        watch: wraps the items found while such an index is built, to show progress.
    """
    given = {
        "split": split, "root": root, "label": label, "image": image, "config": config, "captions": captions or None,
        "truth": truth, "cache": cache,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    kind = TORCHVISION if str(place).startswith(PREFIX) else kind_of(Path(place), image)
    unused = next((name for name in options if name not in kind.options), None)
    if unused:
        raise UserError(f"{place}: {kind.words} has no option '{unused}'")
    progress = {"watch": watch} if "watch" in kind.options else {}
    return kind.open(str(place) if kind is TORCHVISION else Path(place), **options, **progress)


def kind_of(place: Path, image: str | None = None) -> Kind:
    """The kind of source at a path, detected from its contents; for tar files, from the first one.

    Args:
        image: the column of images or of their paths, if it is known.
    """
    if is_pattern(place) or (place.suffix.lower() == PARQUET and place.is_file() and has_images(place, image)):
        return PARQUET_FILES
    if RANGE.search(place.name):
        return SHARDS
    if place.is_dir():
        return _kind_of_folder(place)
    if not place.is_file():
        raise UserError(f"{place}: no such file or folder; {EXPECTED}")
    if place.suffix.lower() in LIST_SUFFIXES:
        return LIST
    if is_flat_validation(place):
        return VALIDATION
    return SHARDS if is_shard(place) else TARS


def _kind_of_folder(folder: Path) -> Kind:
    contents = [entry for entry in list_folder(folder) if not entry.name.startswith(".")]
    names = {entry.name for entry in contents}
    if SPLITS in names or {INFO, STATE} <= names:
        return ARROW
    if names & {"ILSVRC", *OFFICIAL_TARS}:
        return IMAGENET_1K
    tars = [Path(entry.path) for entry in contents if TAR_NAME.fullmatch(entry.name)]
    if tars:
        refuse_links_out(folder, tars)
        return SHARDS if is_shard(tars[0]) else TARS
    if is_repository(folder):
        return REPOSITORY
    folders = {entry.name for entry in contents if entry.is_dir()}
    if folders:
        return IMAGENET_1K if folders <= SPLIT_FOLDERS else FOLDERS
    if is_flat_validation(folder):
        return VALIDATION
    if any(is_image(name) for name in names):
        raise UserError(f"{folder}: has images but no classes; put them in a folder per class, or give a list file")
    raise UserError(f"{folder}: contains no images in a layout that unseen can read; {EXPECTED}")
