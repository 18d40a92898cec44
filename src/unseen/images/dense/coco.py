"""Images with boxes in COCO's JSON format, one file per split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.images.dense.labels import Objects
from unseen.reading.json_records import read_json

MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class CocoBoxes:
    """The images of COCO files and their objects, read for all images at once.

    Attributes:
        classes: the names of the categories, identical in all files.
        images: `file_name` and split of each image.
        files: the annotation file of each image.
        objects: the objects of each image.
    """

    classes: tuple[str, ...]
    images: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    objects: tuple[Objects, ...]

    def place(self, number: int) -> str:
        return self.files[number]

    def read(self, number: int) -> Objects:
        return self.objects[number]


def read_coco(annotations: Mapping[str, Path]) -> CocoBoxes:
    """Read all images of the given files.

    Args:
        annotations: `train` and `test` → the annotation file.
    """
    tables = {split: _table(path) for split, path in annotations.items()}
    classes = _same_classes(tables, annotations)
    images, files, objects = list[tuple[str, str]](), list[str](), list[Objects]()
    for split, table in tables.items():
        numbers = {each["id"]: number for number, each in enumerate(table["categories"])}
        by_image: dict[Any, list[dict[str, Any]]] = {}
        for each in table["annotations"]:
            by_image.setdefault(each["image_id"], []).append(each)
        for image in table["images"]:
            images.append((str(image["file_name"]), split))
            files.append(f"{annotations[split]}, image {image['file_name']}")
            objects.append(_objects(by_image.get(image["id"], ()), numbers, files[-1]))
    return CocoBoxes(classes, tuple(images), tuple(files), tuple(objects))


def _table(path: Path) -> dict[str, Any]:
    """The three lists of the file, checked for the keys that are used."""
    record = read_json(path, most=MOST_BYTES)
    needed = {"images": ("id", "file_name"), "annotations": ("image_id", "category_id", "bbox"),
              "categories": ("id", "name")}  # fmt: skip
    for part, keys in needed.items():
        items = record.get(part)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise UserError(f"{path}: contains no list '{part}', so it is not in COCO's format")
        lacking = next((key for item in items for key in keys if key not in item), None)
        if lacking:
            raise UserError(f"{path}: one of its {part} has no '{lacking}'")
        ids = [item[key] for item in items for key in keys if key.endswith("id")]
        wrong = next((each for each in ids if not isinstance(each, int | str)), None)
        if wrong is not None:
            raise UserError(f"{path}: an id in its {part} is {str(wrong)[:40]}; expected a number")
    return record


def _same_classes(tables: Mapping[str, dict[str, Any]], files: Mapping[str, Path]) -> tuple[str, ...]:
    names = {split: tuple(str(each["name"]) for each in table["categories"]) for split, table in tables.items()}
    first = next(iter(names))
    other = next((split for split, classes in names.items() if classes != names[first]), None)
    if other:
        raise UserError(f"{files[other]}: its categories differ from those of {files[first]}")
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
