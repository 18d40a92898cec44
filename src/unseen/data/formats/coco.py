"""Images with boxes in COCO's JSON format, one file per split."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unseen.data.core.dense.labels import Objects
from unseen.errors import UserError
from unseen.reading.json_records import read_json

MOST_BYTES = 1 << 30
CROWD = {"0": False, "0.0": False, "False": False, "None": False, "1": True, "1.0": True, "True": True}
"""`iscrowd` as text → whether it marks a crowd."""


@dataclass(frozen=True)
class CocoBoxes:
    """The images of COCO files and their objects, read for all images at once.

    Attributes:
        classes: the names of the categories, identical in all files.
        images: `file_name` and split of each image.
        files: the annotation file of each image.
        objects: the objects of each image.
        unmatched: split → annotations whose image is not in the file, in words.
    """

    classes: tuple[str, ...]
    images: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    objects: tuple[Objects, ...]
    unmatched: Mapping[str, tuple[str, ...]]

    def place(self, number: int) -> str:
        return self.files[number]

    def read(self, number: int) -> Objects:
        return self.objects[number]

    def chosen(self, numbers: Sequence[int]) -> "CocoBoxes":
        """Only some of the images."""
        return replace(
            self,
            images=tuple(self.images[number] for number in numbers),
            files=tuple(self.files[number] for number in numbers),
            objects=tuple(self.objects[number] for number in numbers),
        )


def read_coco(annotations: Mapping[str, Path]) -> CocoBoxes:
    """Read all images of the given files.

    Ids are compared as text, so that the image 7 may be called "7" in its annotations. An annotation that cannot be
    used is named: among `CocoBoxes.unmatched` if its image is not in the file, else in the `left_out` of its image.

    Args:
        annotations: `train` and `test` → the annotation file.
    """
    tables = {split: _table(path) for split, path in annotations.items()}
    classes = _same_classes(tables, annotations)
    images, files, objects = list[tuple[str, str]](), list[str](), list[Objects]()
    unmatched = dict[str, tuple[str, ...]]()
    for split, table in tables.items():
        path = annotations[split]
        numbers = {_id(each["id"]): number for number, each in enumerate(table["categories"])}
        by_image: dict[str | None, list[dict[str, Any]]] = {_id(image["id"]): [] for image in table["images"]}
        lost = list[str]()
        for each in table["annotations"]:
            if _id(each["image_id"]) in by_image:
                by_image[_id(each["image_id"])].append(each)
            else:
                lost.append(f"the annotation {each.get('id', '')} of the image {each['image_id']!r}")
        if lost and len(lost) == len(table["annotations"]):
            raise UserError(
                f"{path}: none of its {len(lost):,} annotations is of one of its {len(by_image):,} images; "
                f"the first is {lost[0]}"
            )
        unmatched[split] = tuple(lost)
        for image in table["images"]:
            images.append((str(image["file_name"]), split))
            files.append(f"{path}, image {image['file_name']}")
            objects.append(_objects(image, by_image[_id(image["id"])], numbers))
    return CocoBoxes(classes, tuple(images), tuple(files), tuple(objects), unmatched)


def _table(path: Path) -> dict[str, Any]:
    """The three lists of the file, checked for the keys that are used."""
    record = read_json(path, most=MOST_BYTES)
    needed = {"images": ("id", "file_name"), "annotations": ("image_id", "category_id"), "categories": ("id", "name")}
    for part, keys in needed.items():
        items = record.get(part)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise UserError(f"{path}: contains no list '{part}', so it is not in COCO's format")
        lacking = next((key for item in items for key in keys if key not in item), None)
        if lacking:
            raise UserError(f"{path}: one of its {part} has no '{lacking}'")
        ids = [item[key] for item in items for key in keys if key.endswith("id")]
        wrong = next((each for each in ids if _id(each) is None), None)
        if wrong is not None:
            raise UserError(f"{path}: an id in its {part} is {str(wrong)[:40]}; expected a whole number or text")
        unique = {"images": ("id",), "categories": ("id", "name")}.get(part, ())
        for key in unique:
            counts = Counter(_id(item[key]) if key == "id" else str(item[key]) for item in items)
            twice = next((each for each, count in counts.items() if count > 1), None)
            if twice is not None:
                raise UserError(f"{path}: two of its {part} have the {key} {twice[:40]}")
    if record["annotations"] and not any("bbox" in item for item in record["annotations"]):
        raise UserError(f"{path}: none of its annotations has a 'bbox'")
    return record


def _id(value: object) -> str | None:
    """An id as text: "7" for 7, 7.0 and "7"; None if the value is no id."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int | str) and not isinstance(value, bool) else None


def _same_classes(tables: Mapping[str, dict[str, Any]], files: Mapping[str, Path]) -> tuple[str, ...]:
    names = {split: tuple(str(each["name"]) for each in table["categories"]) for split, table in tables.items()}
    first = next(iter(names))
    other = next((split for split, classes in names.items() if classes != names[first]), None)
    if other:
        raise UserError(f"{files[other]}: its categories differ from those of {files[first]}")
    return names[first]


def _objects(
    image: Mapping[str, Any], items: Sequence[Mapping[str, Any]], numbers: Mapping[str | None, int]
) -> Objects:
    boxes, classes, crowd, left_out = list[list[float]](), list[int](), list[bool](), list[str]()
    for item in items:
        box, number, many = item.get("bbox"), numbers.get(_id(item["category_id"])), str(item.get("iscrowd", 0))
        try:
            left, top, width, height = map(float, box if isinstance(box, list) else ())
        except (TypeError, ValueError):
            wrong = "an annotation without a box" if box is None else f"the box {str(box)[:80]} is not four numbers"
            left_out.append(wrong)
            continue
        if number is None:
            left_out.append(f"a box of the category {item['category_id']!r}, which the file does not have")
            continue
        if many not in CROWD:
            left_out.append(f"a box whose iscrowd is {many[:40]}, not 0 or 1")
            continue
        boxes.append([left, top, left + width, top + height])
        classes.append(number)
        crowd.append(CROWD[many])
    sides = [side for side in (image.get("width"), image.get("height")) if isinstance(side, int) and side > 0]
    drawn_on = (sides[0], sides[1]) if len(sides) == 2 else None
    return replace(Objects.of(boxes, classes, crowd=crowd), left_out=tuple(left_out), drawn_on=drawn_on)
