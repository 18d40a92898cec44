"""GTSRB: German traffic signs, cut out of videos.

About 30 images each show the same sign ever closer, so validation images resemble training images more than test images
do: a drawn fifth of the images is easier than the test.
"""

from collections.abc import Iterator
from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.listing import list_folder
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.errors import UserError
from unseen.files import read_table

TRAIN, TEST, LABELS = "Final_Training/Images", "Final_Test/Images", "GT-final_test.csv"
CLASSES = 43
FILE, CLASS = "Filename", "ClassId"


def read(place: Path) -> Listing:
    """Tables with the class of each image: one in the folder of each class, and one of all test images."""
    rows = [*_rows(place, TEST, place / LABELS, "test")]
    for folder in list_folder(place / TRAIN):
        if folder.is_dir() and not folder.name.startswith("."):
            name = f"{TRAIN}/{folder.name}"
            rows += _rows(place, name, place / name / f"GT-{folder.name}.csv", "train")
    return files_listing(place, rows)


def _rows(place: Path, folder: str, table: Path, part: str) -> Iterator[Row]:
    for line, record in read_table(table, (FILE, CLASS)):
        text = record[CLASS]
        if not text.isascii() or not text.isdigit() or int(text) >= CLASSES:
            raise UserError(f"{table}, line {line}: the class is {text[:20]!r}; expected 0 to {CLASSES - 1}")
        yield Row(f"{folder}/{record[FILE]}", f"{int(text):02d}", part)


DATASET = Dataset(
    name="gtsrb",
    title="GTSRB",
    classes=CLASSES,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="other",
    counts={"train": 31_368, "val": 7841, "test": 12_630},
    layouts=tuple(Layout(folder, (TRAIN, TEST, LABELS), read) for folder in ("GTSRB", "gtsrb/GTSRB")),
    get="ERDA, GTSRB: GTSRB_Final_Training_Images.zip, GTSRB_Final_Test_Images.zip, and GTSRB_Final_Test_GT.zip "
    "unpacked into the folder GTSRB",
    licence="CC0 1.0",
    citation="Stallkamp et al. 2012, Man vs. Computer: Benchmarking Machine Learning Algorithms for Traffic Sign "
    "Recognition",
)
