"""Oxford 102 Flowers; its classes have numbers, not names."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.data.formats.matlab import read_mat, whole_numbers
from unseen.errors import UserError

LABELS, PARTS_FILE = "imagelabels.mat", "setid.mat"
PARTS = {"train": "trnid", "val": "valid", "test": "tstid"}


def read(place: Path) -> Listing:
    """One file holds the class of each image in order, the other the numbers (from 1) of the images of each part."""
    labels = _numbers(place / LABELS, "labels")
    rows = []
    for part, name in PARTS.items():
        for image in _numbers(place / PARTS_FILE, name):
            if not 1 <= image <= len(labels):
                raise UserError(f"{place / PARTS_FILE}: image {image} in '{name}', but {LABELS} has {len(labels)}")
            rows.append(Row(f"jpg/image_{image:05d}.jpg", f"{labels[image - 1]:03d}", part))
    return files_listing(place, rows)


def _numbers(file: Path, name: str) -> list[int]:
    numbers = whole_numbers(read_mat(file).get(name))
    if numbers is None:
        raise UserError(f"{file}: no whole numbers '{name}' in it")
    return numbers


DATASET = Dataset(
    name="flowers",
    title="Oxford 102 Flowers",
    also_called=("flowers102", "oxford-flowers", "oxford-flowers102"),
    classes=102,
    metric="mean-per-class",
    test="author",
    validation="author",
    few_shot="kornblith",
    counts={"train": 1020, "val": 1020, "test": 6149},
    layouts=(Layout("flowers-102", ("jpg", LABELS, PARTS_FILE), read),),
    get="Oxford VGG, 102 Category Flower Dataset: 102flowers.tgz, imagelabels.mat, setid.mat",
    licence="not stated",
    citation="Nilsback and Zisserman 2008, Automated Flower Classification over a Large Number of Classes",
)
