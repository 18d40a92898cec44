"""A user's own images with boxes (COCO JSON) or maps of classes (folders of masks), as data sets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from unseen.errors import UserError
from unseen.images.datasets.listing import Row, files_listing
from unseen.images.dense.dense_dataset import DenseDataset, DenseListing, OpenDenseDataset
from unseen.images.dense.labels import Objects
from unseen.images.dense.map_files import IMAGE, ClassMaps, check_class_count, paired_listing
from unseen.images.listing import list_folder
from unseen.images.manifest import Manifest

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class GivenBoxes:
    """Objects that were read from a file for all images together.

    Attributes:
        files: of each image, the file of its annotations.
        objects: of each image.
    """

    files: tuple[str, ...]
    objects: tuple[Objects, ...]

    def place(self, number: int) -> str:
        return self.files[number]

    def read(self, number: int) -> Objects:
        return self.objects[number]


def open_coco(name: str, images: Path, annotations: Mapping[str, Path]) -> OpenDenseDataset:
    """Images with boxes in COCO's JSON.

    Args:
        name: of the data set.
        images: the folder that `file_name` is below.
        annotations: `train` and `test` → the file of each.
    """
    tables = {split: _coco(path) for split, path in annotations.items()}
    classes = _same_classes(tables, annotations)
    numbers = {split: {each["id"]: n for n, each in enumerate(table["categories"])} for split, table in tables.items()}
    rows, files, found = list[Row](), list[str](), list[Objects]()
    for split, table in tables.items():
        by_image: dict[Any, list[dict[str, Any]]] = {}
        for each in table["annotations"]:
            by_image.setdefault(each["image_id"], []).append(each)
        for image in table["images"]:
            rows.append(Row(str(image["file_name"]), IMAGE, split))
            files.append(f"{annotations[split]}, image {image['file_name']}")
            found.append(_objects(by_image.get(image["id"], ()), numbers[split], files[-1]))
    return _opened(name, "boxes", classes, files_listing(images, rows), rows, GivenBoxes(tuple(files), tuple(found)))


def _opened(
    name: str, kind: Any, classes: tuple[str, ...], listing: Any, rows: Sequence[Row], reader: Any
) -> OpenDenseDataset:
    if listing.missing:
        raise UserError(f"{name}: {len(listing.missing):,} images are not there, the first {listing.missing[0]}")
    source = listing.open()
    dataset = DenseDataset(name, name, kind, classes, {}, (), "it is your own", "your own", "")
    return OpenDenseDataset(dataset, source, Manifest(source.entries, [row.part for row in rows]), reader)


def _coco(path: Path) -> dict[str, Any]:
    """The file's three lists, each a list of objects with the keys that are used."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path}: larger than {MOST_BYTES >> 30} GiB")
        record = json.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged JSON ({str(error)[:80]})") from None
    needed = {"images": ("id", "file_name"), "annotations": ("image_id", "category_id", "bbox"),
              "categories": ("id", "name")}  # fmt: skip
    for part, keys in needed.items():
        items = record.get(part) if isinstance(record, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise UserError(f"{path}: no list '{part}' in it, so it is not COCO's JSON")
        lacking = next((key for item in items for key in keys if key not in item), None)
        if lacking:
            raise UserError(f"{path}: one of its {part} has no '{lacking}'")
    found: dict[str, Any] = record
    return found


def _same_classes(tables: Mapping[str, dict[str, Any]], files: Mapping[str, Path]) -> tuple[str, ...]:
    names = {split: tuple(str(each["name"]) for each in table["categories"]) for split, table in tables.items()}
    first = next(iter(names))
    other = next((split for split, of in names.items() if of != names[first]), None)
    if other:
        raise UserError(f"{files[other]}: other categories than in {files[first]}")
    return names[first]


def _objects(items: Sequence[Mapping[str, Any]], numbers: Mapping[Any, int], where: str) -> Objects:
    boxes, classes, crowd = list[list[float]](), list[int](), list[bool]()
    for item in items:
        try:
            left, top, width, height = map(float, item["bbox"])
        except (TypeError, ValueError):
            raise UserError(f"{where}: the box {item['bbox']!r} is not four numbers") from None
        if item["category_id"] not in numbers:
            raise UserError(f"{where}: an object of the category {item['category_id']!r}, which the file does not have")
        boxes.append([left, top, left + width, top + height])
        classes.append(numbers[item["category_id"]])
        crowd.append(bool(item.get("iscrowd", 0)))
    return Objects.of(boxes, classes, crowd=crowd)


def open_mask_folders(name: str, root: Path, classes: Sequence[str]) -> OpenDenseDataset:
    """Images and masks in `images/train`, `masks/train`, `images/test` and `masks/test`; a mask is a PNG of its
    image's name with the number of a class for each pixel, 255 for none.

    Args:
        classes: their names, in the order of their numbers from 0 on.
    """
    check_class_count(classes, str(root))
    images = []
    for split in ("train", "test"):
        folder = root / "images" / split
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; expected images/train, masks/train, images/test, masks/test")
        names = sorted(entry.name for entry in list_folder(folder) if entry.name.lower().endswith(ENDINGS))
        images += [(f"images/{split}/{image}", split) for image in names]
    listing: DenseListing = paired_listing(root, images, _mask, lambda names: ClassMaps(root, names))
    rows = [Row(image, IMAGE, part) for image, part in images]
    return _opened(name, "classes", tuple(classes), listing, rows, listing.labels)


def _mask(image: str) -> str:
    path = PurePosixPath(image)
    return str(PurePosixPath("masks", *path.parts[1:]).with_suffix(".png"))
