"""`unseen.load_backbone`, `unseen.open_dataset` and `unseen.extract`: from images to features."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unseen.extras import naming_extras
from unseen.studies.progress_bars import bars

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone, Pool
    from unseen.data.core.open_dataset import OpenDataset
    from unseen.features.features import Features
    from unseen.features.patches import PatchFeatures


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
    name: "str | PathLike[str] | Any",
    root: str | PathLike[str] | None = None,
    *,
    called: str | None = None,
    seed: int = 0,
    partial: bool = False,
) -> "OpenDataset":
    """Open a data set: its images and their training, validation and test splits.

    Args:
        name: a name listed by `unseen ls datasets`, or the path of your own data: a folder with `train` and `test`,
            a repository of the Hugging Face Hub, or a TOML file (docs/own-data.md). Or an object: a `DatasetDict` or
            `Dataset` of the package `datasets`, or a dictionary of splits such as {"train": …, "test": …}, whose values
            have a length and items (image, class) like the data sets of torchvision.
        root: folder that contains the data sets; not needed for your own data and for data sets that come with a
            package, such as "digits".
        called: name of an object in scores and folders.
        seed: seed of splits that are drawn at random; data sets with boxes or maps have none.
        partial: accept an incomplete copy of a listed data set and use the images it has.

    Returns:
        The open data set, for `unseen.extract` and `unseen.run`; its splits are in `.manifest`.

    Example:
        >>> data = unseen.open_dataset("dtd", root="/data")
        >>> mine = unseen.open_dataset("birds.toml")
        >>> pairs = unseen.open_dataset({"train": CIFAR10("data"), "test": CIFAR10("data", train=False)})
    """
    from unseen.data.core.open_dataset import open_dataset as find
    from unseen.data.own.description import describe, is_own
    from unseen.data.own.objects import open_object
    from unseen.data.own.open_own import open_own
    from unseen.data.registry import get_dataset
    from unseen.errors import UserError

    place = None if root is None else Path(root)
    if not isinstance(name, str | PathLike):
        if root is not None or partial:
            raise UserError("root and partial apply to data sets given by name; leave them out for an object")
        return open_object(name, called, seed=seed)
    if called is not None:
        raise UserError("called is the name of an object; name your own data in its .toml file")
    if is_own(name):
        if root is not None or partial:
            raise UserError(f"{name}: root and partial apply to data sets given by name; leave them out for your own")
        return open_own(describe(Path(name)), seed=seed)
    return find(get_dataset(str(name)), place, seed=seed, partial=partial)


@naming_extras()
def extract(
    backbone: "Backbone | str | PathLike[str]",
    data: "OpenDataset | str | PathLike[str]",
    out: str | PathLike[str],
    *,
    split: str | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int = 2,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    part: tuple[int, int] = (1, 1),
    progress: bool = True,
) -> "dict[str, Features | PatchFeatures]":
    """Extract the features of images into a folder; features that are already in it are read instead.

    Args:
        backbone: the id of a backbone, or a backbone loaded with `unseen.load_backbone`.
        data: a data set opened with `unseen.open_dataset`; the path of your own data (a folder with `train` and `test`,
            or a TOML file); or images, such as a folder with one folder per class, which then form one split, "all".
        out: folder that the features are written to. A study finds them if it is FOLDER/NAME of the data set, and the
            study is run with `features="FOLDER"`.
        split: extract only this split.
        settings: keys of a study about extraction, such as {"precision": "half", "batch": 256, "on_error": "skip"}, and
            of its backbones: {"backbone": {"patches": "all"}} for one vector per position of the last layer instead of
            one per image, stored in 16 bits. Images are then resized to a square without cropping; a number keeps that
            many positions, the same in every image.
        workers: number of processes that decode images; 0 decodes in this process.
        devices, executor: distribute the work over GPUs or a Ray cluster, as in `unseen.run`.
        part: (k, n) extracts the k-th of n parts; other calls with the same `out` extract the others.
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
    from unseen.data.core.open_dataset import OpenDataset
    from unseen.errors import UserError
    from unseen.features.patches import read_patches
    from unseen.features.store import MANIFEST, read_store
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.backbones import named_in_python
    from unseen.studies.extraction import EXTRACTION, FeatureExtraction
    from unseen.studies.given import Given

    means = chosen_means(workers, devices=devices, executor=executor)
    share = checked_part(part)
    study, loaded = named_in_python(EXTRACTION.replace(**(settings or {})), [backbone])
    opened = [data] if isinstance(data, OpenDataset) else []
    if not opened:
        study = study.replace(datasets=[data])
    stores = dict[str, Path]()
    with bars(show=progress) as watch:
        given = Given(backbones=loaded, datasets=opened)
        work = FeatureExtraction(study, given, means, watch, share, split=split, by_name=False)
        for each, [store] in work.run(Path(out)):
            if (store / MANIFEST).is_file():
                stores[each.split] = store
        if split is not None and not work.passes:
            raise UserError(f"split: the data set has no split '{split}'")
    return {name: read_patches(store) if work.of_patches else read_store(store) for name, store in stores.items()}
