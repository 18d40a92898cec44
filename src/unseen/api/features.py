"""`unseen.load_backbone`, `unseen.open_dataset` and `unseen.extract`: from images to features."""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from unseen.extras import naming_extras
from unseen.studies.backbones import loaded_backbones
from unseen.studies.progress_bars import bars

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone, Pool
    from unseen.features.features import Features
    from unseen.features.patches import PatchFeatures
    from unseen.features.settings import Decode, Precision
    from unseen.images.open_dataset import OpenDataset


@naming_extras()
def load_backbone(
    id: str,  # noqa: A002  (the name that the command line uses)
    *,
    pool: "Pool | None" = None,
    layer: str | None = None,
    size: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    weights: Literal["pretrained", "random"] = "pretrained",
    normalize: str | None = None,
    patches: bool | int = False,
    device: str | None = None,
) -> "Backbone":
    """Load a backbone by its id, ready to extract features.

    Args:
        id: `source:name`, for instance "timm:resnet50.a1_in1k", or "path/to/file.py:function" for your own.
        pool: "avg", "cls", "cls+avg" or "none", instead of the network's own pooling.
        layer: dotted name of the module to take features from, instead of the layer before the classifier.
        size: side of the input images in pixels, instead of the authors' default.
        checkpoint: file of weights for an architecture of timm or torchvision.
        weights: "random" for an untrained network.
        normalize: "imagenet", "none", "half" or "clip", instead of the network's own pixel normalization.
        patches: return one vector per position of the last layer (patch tokens or spatial map) instead of one per
            image. Images are resized to a square without cropping. A number keeps that many positions, the same in
            every image.
        device: "cpu" or "cuda"; by default a GPU if there is one.

    Returns:
        The backbone: a callable that maps normalized images (b, 3, s, s) to features, with its description in `.spec`.

    Example:
        >>> net = unseen.load_backbone("timm:resnet50.a1_in1k", pool="avg")
        >>> net.spec.dimension
        2048
    """
    from unseen.backbones.load import load_backbone as load
    from unseen.device import default_device

    return load(
        id,
        pool=pool,
        layer=layer,
        size=size,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        weights=weights,
        normalise=normalize,
        patches=patches,
        device=device or default_device().type,
    )


@naming_extras()
def open_dataset(
    name: "str | PathLike[str]",
    root: str | PathLike[str] | None = None,
    *,
    dense: bool = False,
    seed: int = 0,
    partial: bool = False,
) -> "OpenDataset":
    """Open a data set of the task study: its images and their training, validation and test splits.

    Args:
        name: a name listed by `unseen ls datasets`, or the path of your own data: a folder with `train` and `test`,
            or a TOML file (docs/own-data.md).
        root: folder that contains the data sets; not needed for your own data and for data sets that come with a
            package, such as "digits".
        dense: open a data set with boxes or maps, for `unseen.tasks(dense=True)`.
        seed: seed of splits that are drawn at random; data sets with boxes or maps have none.
        partial: accept an incomplete copy of a listed data set and use the images it has.

    Returns:
        The open data set, for `unseen.extract` and `unseen.tasks`; its splits are in `.manifest`.

    Example:
        >>> data = unseen.open_dataset("dtd", root="/data")
        >>> mine = unseen.open_dataset("birds.toml")
    """
    from unseen.errors import UserError
    from unseen.images.open_dataset import open_dataset as find
    from unseen.images.own.description import describe, is_own
    from unseen.images.own.open_own import open_own
    from unseen.images.registry import get_dataset

    place = None if root is None else Path(root)
    if is_own(name):
        if root is not None or partial:
            raise UserError(f"{name}: root and partial apply to data sets given by name; leave them out for your own")
        own = describe(Path(name))
        return open_own(own, dense=dense, seed=seed)
    return find(get_dataset(str(name), dense=dense), place, seed=seed, partial=partial)


@overload
def extract(  # type: ignore[overload-overlap]  # False is a bool, and a bool an int
    net: "Backbone | str",
    data: "OpenDataset | str | PathLike[str]",
    out: str | PathLike[str],
    *,
    patches: Literal[False] = False,
    device: str | None = None,
    precision: "Precision | None" = None,
    batch: int = 128,
    workers: int = 2,
    on_error: Literal["fail", "report"] = "fail",
    fast: bool = False,
    exif: bool = False,
    decode: "Decode | None" = None,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    ray_address: str | None = None,
    part: tuple[int, int] = (1, 1),
    progress: bool = True,
) -> "dict[str, Features]": ...


@overload
def extract(
    net: "Backbone | str",
    data: "OpenDataset | str | PathLike[str]",
    out: str | PathLike[str],
    *,
    patches: bool | int,
    device: str | None = None,
    precision: "Precision | None" = None,
    batch: int = 128,
    workers: int = 2,
    on_error: Literal["fail", "report"] = "fail",
    fast: bool = False,
    exif: bool = False,
    decode: "Decode | None" = None,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    ray_address: str | None = None,
    part: tuple[int, int] = (1, 1),
    progress: bool = True,
) -> "dict[str, PatchFeatures]": ...


@naming_extras()
def extract(
    net: "Backbone | str",
    data: "OpenDataset | str | PathLike[str]",
    out: str | PathLike[str],
    *,
    patches: bool | int = False,
    device: str | None = None,
    precision: "Precision | None" = None,
    batch: int = 128,
    workers: int = 2,
    on_error: Literal["fail", "report"] = "fail",
    fast: bool = False,
    exif: bool = False,
    decode: "Decode | None" = None,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    ray_address: str | None = None,
    part: tuple[int, int] = (1, 1),
    progress: bool = True,
) -> "dict[str, Features] | dict[str, PatchFeatures]":
    """Extract the features of images into a folder; features that are already in it are read instead.

    Args:
        net: the id of a backbone, or a backbone loaded with `unseen.load_backbone`.
        data: a data set opened with `unseen.open_dataset`; the path of your own data (a folder with `train` and `test`,
            or a TOML file); or images, such as a folder with one folder per class, which then form one split, "all".
        out: folder that the features are written to.
        patches: extract one vector per position of the last layer instead of one per image, stored in 16 bits. Images
            are resized to a square without cropping. A number keeps that many positions, the same in every image. A
            backbone that was loaded with `patches` returns patch features without this argument.
        device: "cpu" or "cuda"; by default a GPU if there is one.
        precision: "half", "bfloat" or "single"; by default half on a GPU and single on a CPU.
        batch: images per batch.
        workers: number of processes that decode images; 0 decodes in this process.
        on_error: "report" skips damaged images and lists them in the provenance of the features.
        fast: decode JPEGs on a GPU that has a hardware decoder; otherwise resize with PyTorch, which is about twice as
            fast as PIL and changes pixels by one or two grey levels.
        exif: rotate images by their EXIF orientation.
        decode: where JPEGs are decoded, "cpu" or "gpu"; by default on the CPU, or with `fast` on a GPU that has a
            decoder.
        devices, executor, ray_address: distribute shards over the GPUs of this machine or over a Ray cluster, as
            `unseen.concepts` distributes jobs.
        part: (k, n) extracts the k-th of n parts of the shards; other calls with the same `out` extract the others.
        progress: show a progress bar in a terminal or a notebook.

    Returns:
        A dictionary from split to features, for the splits whose parts are all complete. Features have `X`, `y`
        (indices into `classes`), `classes`, `ids` and `provenance`. Patch features have `X` with one row per image,
        `ids`, `grid`, `drawn` (the positions that were kept) and `image(number)`, the (positions, channels) array of
        one image.

    Example:
        >>> features = unseen.extract("timm:resnet50.a1_in1k", "photos", out="features/")
        >>> features["train"].X.shape
    """
    from unseen.backbones.load import with_patches
    from unseen.backbones.patches import PatchSpec
    from unseen.features.patches import patch_settings, read_patches
    from unseen.features.settings import extraction_settings
    from unseen.features.store import MANIFEST, read_store
    from unseen.images.manifest import whole
    from unseen.images.open_dataset import OpenDataset
    from unseen.images.open_source import open_images
    from unseen.runs.extraction import Pass, extract_passes
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part

    means = chosen_means(max(workers, 1), devices=devices, executor=executor, ray_address=ray_address)
    share = checked_part(part)
    settings = extraction_settings(
        device, precision, batch, workers, on_error, fast=fast, exif=exif, decode=decode, part=share
    )
    [backbone] = loaded_backbones(net, settings.device, published=False) if isinstance(net, str) else [net]
    backbone = with_patches(backbone, patches) if patches else backbone
    spatial = isinstance(backbone.spec, PatchSpec)
    settings = patch_settings(settings, [backbone]) if spatial else settings
    opened = data if isinstance(data, OpenDataset) else _own_data(Path(data))
    if isinstance(opened, Path):
        source = open_images(opened)
        manifest, name = whole(source, "all"), opened.name
    else:
        source, manifest, name = opened.source, opened.manifest, opened.dataset.name
    stores = dict[str, Path]()
    with bars(show=progress) as watch:
        splits = [*dict.fromkeys(manifest.splits)]
        passes = [Pass(source, manifest, split, Path(out), partial(watch.extracting, name, split)) for split in splits]
        for split, [store] in zip(splits, extract_passes(means, passes, [backbone], settings), strict=True):
            if (store / MANIFEST).is_file():
                stores[split] = store
    if spatial:
        return {split: read_patches(store) for split, store in stores.items()}
    return {split: read_store(store) for split, store in stores.items()}


def _own_data(place: Path) -> "OpenDataset | Path":
    """The data set of a TOML file or of a folder with training and test images; otherwise the place of images."""
    from unseen.images.own.description import SUFFIX, describe
    from unseen.images.own.open_own import open_own

    if place.suffix.lower() == SUFFIX or ((place / "train").is_dir() and (place / "test").is_dir()):
        return open_own(describe(place))
    return place
