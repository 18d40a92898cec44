"""`unseen.load_backbone`, `unseen.open_dataset` and `unseen.extract`: from images to features."""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from unseen.api.progress import bars
from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone, Pool
    from unseen.features.features import Features
    from unseen.features.patches import PatchFeatures
    from unseen.features.settings import Decode, Precision
    from unseen.images.datasets.open_dataset import OpenDataset
    from unseen.images.dense.dense_dataset import OpenDenseDataset


@naming_extras()
def load_backbone(
    id: str,  # noqa: A002  (what the commands call it)
    *,
    pool: "Pool | None" = None,
    layer: str | None = None,
    size: int | None = None,
    checkpoint: str | Path | None = None,
    weights: Literal["pretrained", "random"] = "pretrained",
    normalize: str | None = None,
    patches: bool | int = False,
    device: str | None = None,
) -> "Backbone":
    """A backbone by its id, ready to extract features.

    Args:
        id: `source:name`, for instance "timm:resnet50.a1_in1k", or "path/to/file.py:function" for your own.
        pool: "avg", "cls", "cls+avg" or "none", instead of the network's own pooling.
        layer: dotted name of the module to take features from, instead of the layer before the classifier.
        size: side of the images in pixels, instead of the authors'.
        checkpoint: file of weights for an architecture of timm or torchvision.
        weights: "random" for an untrained network.
        normalize: "imagenet", "none", "half" or "clip", instead of the network's own normalisation of pixels.
        patches: features of all positions of the last layer (patch tokens or spatial map) instead of one vector per
            image, of the whole image squashed to a square; a number keeps so many positions, the same of every image.
        device: "cpu" or "cuda"; by default a GPU where there is one.

    Returns:
        The backbone: a function of normalised images (b, 3, s, s), with everything about it in `.spec`.

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


@overload
def open_dataset(
    name: "str | PathLike[str]",
    root: str | Path | None = None,
    *,
    dense: Literal[False] = False,
    seed: int = 0,
    partial: bool = False,
) -> "OpenDataset": ...


@overload
def open_dataset(
    name: "str | PathLike[str]",
    root: str | Path | None = None,
    *,
    dense: Literal[True],
    seed: int = 0,
    partial: bool = False,
) -> "OpenDenseDataset": ...


@naming_extras()
def open_dataset(
    name: "str | PathLike[str]",
    root: str | Path | None = None,
    *,
    dense: bool = False,
    seed: int = 0,
    partial: bool = False,
) -> "OpenDataset | OpenDenseDataset":
    """A data set of the task study: its images, and which of them train, validate and test.

    Args:
        name: one of those that `unseen ls datasets` lists, or the place of your own: a folder with `train` and `test`,
            or a TOML file (docs/own-data.md).
        root: the folder that has the data sets; not needed for those that come with packages, such as "digits", and
            for your own.
        dense: one with boxes or maps, for `unseen.tasks(dense=True)`.
        seed: of splits that are drawn; those with boxes or maps have none.
        partial: take what is there of an incomplete copy; your own are refused if they are not complete.

    Example:
        >>> data = unseen.open_dataset("dtd", root="/data")
        >>> mine = unseen.open_dataset("birds.toml")
    """
    from unseen.errors import UserError
    from unseen.images.datasets.open_dataset import open_dataset as find
    from unseen.images.datasets.registry import get_dataset
    from unseen.images.dense.dense_dataset import open_dense_dataset
    from unseen.images.dense.sets import get_dense_dataset
    from unseen.images.own.dense import open_own_dense
    from unseen.images.own.description import describe, is_own
    from unseen.images.own.survey import open_own_dataset

    place = None if root is None else Path(root)
    if is_own(name):
        if root is not None or partial:
            raise UserError(f"{name}: root and partial are for data sets by name; leave them out for your own")
        own = describe(Path(name))
        return open_own_dense(own) if dense else open_own_dataset(own, seed=seed)
    if dense:
        return open_dense_dataset(get_dense_dataset(str(name)), place, partial=partial)
    return find(get_dataset(str(name)), place, seed=seed, partial=partial)


@overload
def extract(  # type: ignore[overload-overlap]  # False is a bool, and a bool an int
    net: "Backbone",
    data: "OpenDataset | OpenDenseDataset | str | Path",
    out: str | Path,
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
    net: "Backbone",
    data: "OpenDataset | OpenDenseDataset | str | Path",
    out: str | Path,
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
    net: "Backbone",
    data: "OpenDataset | OpenDenseDataset | str | Path",
    out: str | Path,
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
    """Extract the features of images; what is in `out` already is read and not extracted again.

    Args:
        net: by `unseen.load_backbone`.
        data: by `unseen.open_dataset`, or a place of images as `unseen extract --images` takes it, such as a folder
            with one folder per class; all its images are then one split, "all".
        out: folder that features are written to.
        patches: features of all positions of the last layer instead of one vector per image, in 16 bits, of the whole
            image squashed to a square; a number keeps so many positions, the same of every image. A backbone that was
            loaded with patches gives them without being told.
        device: "cpu" or "cuda"; by default a GPU where there is one.
        precision: "half", "bfloat" or "single"; by default half on a GPU and otherwise single.
        batch: images per batch.
        workers: processes that decode images; 0 for none but this one.
        on_error: "report" leaves out damaged images and lists them in the features' provenance.
        fast: decode on a GPU that has a decoder of JPEGs; otherwise resize by PyTorch, which is about twice as fast as
            PIL, and pixels differ by a grey level or two.
        exif: turn images as their EXIF orientation says.
        decode: what decodes JPEGs, "cpu" or "gpu"; by default the CPU, and with `fast` a GPU that has a decoder.
        devices, executor, ray_address: spread shards over GPUs of this machine or a Ray cluster, as `unseen.concepts`
            does with jobs.
        part: (k, n) extracts the k-th of n parts of the shards, and leaves the rest to other calls with the same `out`.
        progress: whether to show a bar in a terminal or a notebook.

    Returns:
        Split → its features, of splits of which all parts are there: `X`, `y` (indices into `classes`), `classes`,
        `ids` and `provenance`. Of patches: `X` with one row per image, `ids`, `grid`, `drawn`, and `image(number)`, the
        (positions, channels) of an image.

    Example:
        >>> features = unseen.extract(net, data, out="features/")
        >>> features["train"].X.shape
    """
    from unseen.backbones.load import with_patches
    from unseen.backbones.patches import PatchSpec
    from unseen.features.patches import patch_settings, read_patches
    from unseen.features.settings import extraction_settings
    from unseen.features.store import MANIFEST, read_store
    from unseen.images.datasets.open_dataset import OpenDataset
    from unseen.images.dense.dense_dataset import OpenDenseDataset
    from unseen.images.manifest import whole
    from unseen.images.open_source import open_images
    from unseen.runs.extraction import Pass, extract_passes
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part

    means = chosen_means(max(workers, 1), devices=devices, executor=executor, ray_address=ray_address)
    share = checked_part(part)
    settings = extraction_settings(
        device, precision, batch, workers, on_error, fast=fast, exif=exif, decode=decode, part=share
    )
    net = with_patches(net, patches) if patches else net
    spatial = isinstance(net.spec, PatchSpec)
    settings = patch_settings(settings, [net]) if spatial else settings
    if isinstance(data, OpenDataset | OpenDenseDataset):
        source, manifest, name = data.source, data.manifest, data.dataset.name
    else:
        source = open_images(data)
        manifest, name = whole(source, "all"), Path(data).name
    stores = dict[str, Path]()
    with bars(show=progress) as watch:
        splits = [*dict.fromkeys(manifest.splits)]
        passes = [Pass(source, manifest, split, Path(out), partial(watch.extracting, name, split)) for split in splits]
        for split, [store] in zip(splits, extract_passes(means, passes, [net], settings), strict=True):
            if (store / MANIFEST).is_file():
                stores[split] = store
    if spatial:
        return {split: read_patches(store) for split, store in stores.items()}
    return {split: read_store(store) for split, store in stores.items()}
