"""Diabetic retinopathy: photographs of retinas, graded from 0 to 4, from Kaggle's competition of 2015.

Validation images are those of the competition's public leaderboard, and test images those of its private one.
"""

from collections.abc import Iterator
from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.errors import UserError
from unseen.files import read_table

TRAIN, TEST = "trainLabels.csv", "retinopathy_solution.csv"
IMAGE, LEVEL, USAGE = "image", "level", "Usage"
PARTS = {"Public": "val", "Private": "test"}
LEVELS = ("0", "1", "2", "3", "4")


def read(place: Path) -> Listing:
    """Tables with the grade of each image, such as `10_left`; that of the test images says which are public."""
    return files_listing(place, [*_train(place / TRAIN), *_test(place / TEST)])


def _train(path: Path) -> Iterator[Row]:
    for line, record in read_table(path, (IMAGE, LEVEL)):
        yield Row(f"train/{record[IMAGE]}.jpeg", _level(record, path, line), "train")


def _test(path: Path) -> Iterator[Row]:
    for line, record in read_table(path, (IMAGE, LEVEL, USAGE)):
        if record[USAGE] not in PARTS:
            raise UserError(f"{path}, line {line}: the usage is {record[USAGE]!r}; expected Public or Private")
        yield Row(f"test/{record[IMAGE]}.jpeg", _level(record, path, line), PARTS[record[USAGE]])


def _level(record: dict[str, str], path: Path, line: int) -> str:
    if record[LEVEL] not in LEVELS:
        raise UserError(f"{path}, line {line}: the level is {record[LEVEL]!r}; expected 0 to 4")
    return record[LEVEL]


DATASET = Dataset(
    name="diabetic-retinopathy",
    title="Diabetic retinopathy",
    classes=5,
    metric="top1",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 35_126, "val": 10_906, "test": 42_670},
    layouts=(Layout("diabetic-retinopathy-detection", (TRAIN, TEST, "train", "test"), read),),
    get="Kaggle, diabetic-retinopathy-detection: train.zip, test.zip and trainLabels.csv; and retinopathy_solution.csv "
    "from its forum",
    licence="the rules of the competition",
    citation="Kaggle and EyePACS 2015, Diabetic Retinopathy Detection",
)
