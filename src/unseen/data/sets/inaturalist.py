"""iNaturalist 2018 and 2019: photographs of species. Test images are the validation images of the competitions.

Some species have only two training images, so that not every class has a validation image.
"""

from functools import partial
from pathlib import Path
from typing import Any

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.errors import UserError
from unseen.reading.json_records import read_json

MOST_BYTES = 1 << 30
FILES = {"train": "train", "test": "val"}


def read(place: Path, year: int) -> Listing:
    """Each part has a JSON file in COCO's format: images, and annotations with a category for each of them."""
    rows = [row for part, name in FILES.items() for row in _rows(place / f"{name}{year}.json", part)]
    return files_listing(place, rows)


def _rows(path: Path, part: str) -> list[Row]:
    record = read_json(path, most=MOST_BYTES)
    images, found = _pairs(record, path, "images", "id", "file_name"), list[Row]()
    categories = _pairs(record, path, "annotations", "image_id", "category_id")
    for image, name in images.items():
        category = categories.get(image)
        if not isinstance(category, int) or not isinstance(name, str):
            raise UserError(f"{path}: the image {str(name)[:80]!r} has no category, a whole number, or no file name")
        found.append(Row(name, f"{category:04d}", part))
    if len(categories) > len(found):
        odd = next(image for image in categories if image not in images)
        raise UserError(f"{path}: an annotation of the image {str(odd)[:40]}, which the file does not have")
    return found


def _pairs(record: dict[str, Any], path: Path, part: str, first: str, second: str) -> dict[Any, Any]:
    """Two keys of the items of a list, of which the first is unique."""
    items = record.get(part)
    if not isinstance(items, list) or not all(isinstance(item, dict) and {first, second} <= {*item} for item in items):
        raise UserError(
            f"{path}: contains no list '{part}' with '{first}' and '{second}', so it is not in COCO's format"
        )
    if not all(isinstance(item[first], int | str) for item in items):
        raise UserError(f"{path}: an '{first}' in its {part} is neither a whole number nor text")
    pairs = {item[first]: item[second] for item in items}
    if len(pairs) < len(items):
        raise UserError(f"{path}: two of its {part} have the same '{first}'")
    return pairs


def _dataset(year: int, classes: int, train: int, test: int) -> Dataset:
    return Dataset(
        name=f"inaturalist-{year}",
        title=f"iNaturalist {year}",
        classes=classes,
        metric="top1",
        test="author",
        validation="fifth",
        few_shot="other",
        gaps=True,
        counts={"train": train - train // 5, "val": train // 5, "test": test},
        layouts=tuple(
            Layout(folder, (f"train{year}.json", f"val{year}.json", f"train_val{year}"), partial(read, year=year))
            for folder in (f"inaturalist-{year}", f"inat{year}")
        ),
        get=f"github.com/visipedia/inat_comp, {year}: train_val{year}.tar.gz, train{year}.json.tar.gz, "
        f"val{year}.json.tar.gz",
        licence="non-commercial research only; photographs belong to their owners",
        citation="Van Horn et al. 2018, The iNaturalist Species Classification and Detection Dataset",
    )


DATASETS = (_dataset(2018, 8142, 437_513, 24_426), _dataset(2019, 1010, 265_213, 3030))
