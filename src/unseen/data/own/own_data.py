"""The record that describes a user's own data, as written in a TOML file or in Python."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal

from unseen.data.core.dataset import Metric

Task = Literal["classification", "segmentation", "detection", "normals", "depth"]
PLACE_KEYS = ("images", "root", "config", "split", "image", "label")
ONE_SPLIT_KEYS = (*PLACE_KEYS, "caption", "mapping", "shifted")
"""Keys of test sets and training sets of the shift study, which have one split."""
SPLIT_KEYS = ("train", "val", "test", "all")
PATH_KEYS = ("images", "root", "annotations", *SPLIT_KEYS)
"""Keys whose texts are paths."""
FILE_KEYS = ("classes", "mapping")
"""Keys whose texts are files or names that ship with the package."""
DATASET_KEYS = ("task", "metric", "allow_duplicates", "draw_splits", *SPLIT_KEYS)
"""Keys of data sets with several splits."""


@dataclass(frozen=True)
class SplitTable:
    """The images of a split and their labels; paths are relative to the file.

    Attributes:
        images: a folder per class, a list (text, CSV or Parquet), WebDataset shards, or a Hugging Face data set on
            disk, saved or as Parquet files; for dense tasks, a folder of images.
        root: the folder that the paths of a list are relative to; by default the folder of the list.
        config: the configuration of a Hugging Face data set.
        split: the split to read, of a Hugging Face data set or in the column `split` of a list.
        image, label: columns of a list or a Hugging Face data set; `label` also a JSON field of a WebDataset.
        annotations: for dense tasks, a folder of maps named like the images, or a file in COCO's format.
    """

    images: str
    root: str | None = None
    config: str | None = None
    split: str | None = None
    image: str | None = None
    label: str | None = None
    annotations: str | None = None


@dataclass(frozen=True)
class OwnData:
    """A user's own data set, or a test set or training set of the shift study; paths in a file are relative to it.

    A data set has `train` and `test`, or `all`, or its images are a repository, which has splits. A test set or
    training set has the keys of one split instead, or is the split `test` or `train` of a data set.

    Attributes:
        images, root, config, split, image, label: the images of a test set or training set, as in `SplitTable`, or
            those of a repository. The root may also be WebDataset shards with samples that a table names by key.
        name: of a data set, or the column of a test set, by default the name of the folder or file.
        caption: column of captions, or a JSON field of a WebDataset; used to train CLIP models.
        classes: names, or a file with one per line; by default the classes of the images. For one split, the class list
            that labels must be in: also a name of `unseen.ontology.class_lists`.
        mapping: label → class, if labels are not the classes themselves: `cifar-10`, or a CSV file with the columns
            label (or wnid) and class. Images with other labels are left out, with a notice.
        shifted: False for an ID test set.
        allow_duplicates: whether test images may also be training or validation images.
        follow_links: whether links that lead out of the folders of the data set are followed.
        val: by default a fifth of the training images.
        all: unsplit images, instead of the three splits: for few-shot episodes, unless splits are drawn.
        draw_splits: whether a fifth of the images of each class in `all` is drawn for testing, and a fifth of the rest
            for validation.
    """

    images: str | PathLike[str] = ""
    name: str = ""
    root: str | PathLike[str] | None = None
    image: str | None = None
    label: str | None = None
    caption: str | None = None
    config: str | None = None
    split: str | None = None
    classes: tuple[str, ...] | str | PathLike[str] | None = None
    mapping: str | PathLike[str] | None = None
    shifted: bool = True
    title: str = ""
    licence: str = ""
    citation: str = ""
    task: Task = "classification"
    metric: Metric = "top1"
    allow_duplicates: bool = False
    follow_links: bool = False
    draw_splits: bool = False
    train: SplitTable | None = None
    val: SplitTable | None = None
    test: SplitTable | None = None
    all: SplitTable | None = None

    def given(self, keys: Sequence[str]) -> Iterator[str]:
        """Those of some keys that do not have their default value."""
        return (key for key in keys if getattr(self, key) != getattr(OwnData, key))
