"""Stanford Cars: 196 makes, models and years."""

from pathlib import Path
from typing import Any

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.data.formats.matlab import read_mat, whole_numbers
from unseen.errors import UserError

NAMES = "devkit/cars_meta.mat"
TRAIN = "devkit/cars_train_annos.mat"
TEST = "cars_test_annos_withlabels.mat"
FIELDS = {"class", "fname"}


def read(place: Path) -> Listing:
    """The class names, and for each part a structure with the class (from 1) and file name of each image."""
    names = read_mat(place / NAMES).get("class_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(f"{place / NAMES}: no cells 'class_names' of text in it")
    rows = [
        Row(f"cars_{part}/{image['fname']}", _name(names, image, file), part)
        for part, file in (("train", place / TRAIN), ("test", place / TEST))
        for image in _annotations(file)
    ]
    return files_listing(place, rows)


def _annotations(file: Path) -> list[dict[str, Any]]:
    annotations = read_mat(file).get("annotations")
    if not isinstance(annotations, list) or not all(
        isinstance(image, dict) and set(image) >= FIELDS for image in annotations
    ):
        raise UserError(f"{file}: no structure 'annotations' with the fields 'class' and 'fname' in it")
    return annotations


def _name(names: list[str], image: dict[str, Any], file: Path) -> str:
    numbers = whole_numbers(image["class"])
    if numbers is None or len(numbers) != 1 or not 1 <= numbers[0] <= len(names):
        raise UserError(f"{file}: the class of {image['fname']} is not one of the {len(names)} that have names")
    return names[numbers[0] - 1]


DATASET = Dataset(
    name="cars",
    title="Stanford Cars",
    also_called=("cars196",),
    classes=196,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 6516, "val": 1628, "test": 8041},
    layouts=(Layout("stanford_cars", (NAMES, TRAIN, TEST, "cars_train", "cars_test"), read),),
    get="Stanford AI Lab, Cars (its pages are gone; take a copy): "
    "cars_train.tgz, cars_test.tgz, car_devkit.tgz, cars_test_annos_withlabels.mat",
    licence="non-commercial research only",
    citation="Krause et al. 2013, 3D Object Representations for Fine-Grained Categorization",
)
