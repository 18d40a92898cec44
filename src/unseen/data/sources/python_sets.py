"""Data sets that are objects in Python: those of the package `datasets`, and any with a length and items.

An item is a pair of an image and a class, as in torchvision. Images are a PIL image, or uint8 pixels as an array
(h, w, 3) or (h, w), or as a tensor (3, h, w).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.entries import EntryTable
from unseen.data.core.image_files import image_bytes
from unseen.data.core.releases import provenance
from unseen.data.core.source import Image, ImageSource
from unseen.data.sources.columns import SEVERAL, Labels, image_column, label_column, labels_of, row_values
from unseen.data.sources.torchvision_sets import is_image_folder, item_labels
from unseen.errors import UserError
from unseen.reading.guard import cause, reading

HUB = "datasets"
"""The package whose objects have columns."""


@dataclass(frozen=True, eq=False)
class ColumnImages:
    """Images in a column of a `datasets.Dataset`, encoded as they are in its files."""

    rows: Any = field(repr=False)
    column: str
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> bytes:
        value = self.rows[number][self.column] or {}  # none at all is an empty image
        data, path = value.get("bytes"), value.get("path")
        if data is not None or path is None:
            return data or b""
        with reading(Path(path), "an image"):
            return image_bytes(Path(path))


@dataclass(frozen=True, eq=False)
class ItemImages:
    """Images that are the first elements of items.

    Attributes:
        files: paths of the images, if the data set has them and does not change images itself; otherwise empty.
    """

    items: Any = field(repr=False)
    name: str
    files: tuple[str, ...]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> Image:
        where = f"{self.name}: image {number}"
        if self.files:
            with reading(Path(self.files[number]), "an image"):
                return image_bytes(Path(self.files[number]))
        try:
            image = self.items[number][0]
        except MemoryError:  # a fault of the machine, not of the image
            raise
        except Exception as error:  # somebody else's code, and decoders may raise anything
            raise UserError(f"{where} cannot be read ({cause(error)})") from None
        return _pixels(image, where)


def images_of(data: Any, name: str) -> ImageSource:
    """The images of one split that is an object in Python; the ids are positions.

    Args:
        name: of the data set and the split, for messages.
    """
    if type(data).__module__.partition(".")[0] == HUB:
        return _of_columns(data, name)
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")) or isinstance(data, Mapping | str | bytes):
        raise UserError(f"{name}: {type(data).__name__} is not a data set with a length and items")
    if not len(data):
        raise UserError(f"{name}: contains no images")
    entries = _entries(item_labels(name, data), name)
    about = provenance(f"{type(data).__name__} in Python", entries.classes, len(entries))
    return ItemImages(data, name, _files(data), entries, about)


def _of_columns(data: Any, name: str) -> ColumnImages:
    if not hasattr(data, "__len__") or not getattr(data, "features", None):
        raise UserError(f"{name}: {type(data).__name__} has no rows in a fixed order; load it without streaming")
    from datasets import Image as ImageFeature

    features, schema = data.features.to_dict(), data.features.arrow_schema
    image = image_column(name, features, schema, None)
    label = label_column(name, features, schema, None, captions=False)
    values = data.select_columns([label]).with_format("arrow")[:][label]
    labels: Labels = labels_of(name, label, row_values(values, f"{name}: the column '{label}'"), features[label], name)
    rows = data.with_format(None).select_columns([image]).cast_column(image, ImageFeature(decode=False))
    entries = _entries(labels.of_rows, name)
    facts = {SEVERAL: "yes"} if labels.several else {}
    return ColumnImages(rows, image, entries, provenance("datasets.Dataset", entries.classes, len(entries), **facts))


def _entries(labels: list[str], name: str) -> EntryTable:
    return EntryTable.of(((f"{number:08d}", label) for number, label in enumerate(labels)), name)


def _files(data: Any) -> tuple[str, ...]:
    """The paths of a folder of images, as `torchvision.datasets.ImageFolder` has them and reads them as they are."""
    if getattr(data, "transform", None) is not None or getattr(data, "transforms", None) is not None:
        return ()
    return tuple(str(path) for path, _ in data.samples) if is_image_folder(data) else ()


def _pixels(image: Any, where: str) -> NDArray[np.uint8]:
    if hasattr(image, "convert"):
        return np.array(image.convert("RGB"))
    pixels = np.asarray(image)
    if type(image).__module__.partition(".")[0] == "torch" and pixels.ndim == 3:
        pixels = np.ascontiguousarray(pixels.transpose(1, 2, 0))
    if pixels.dtype != np.uint8 or pixels.ndim not in {2, 3} or pixels.shape[2:] not in {(), (3,)} or not pixels.size:
        kind = f"{pixels.dtype} {pixels.shape}"
        raise UserError(f"{where} is {kind}, not a picture or uint8 pixels; give the data set without a transform")
    return pixels
