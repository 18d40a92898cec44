"""EuroSAT with training, validation and test images, as in T-ReX and UNIC: 540 and 810 images per class are held out.

The papers do not publish their draw. Here images are drawn by SHA-256, like all splits that authors do not define.
"""

from dataclasses import replace
from pathlib import Path

from unseen.data.core.dataset import Layout
from unseen.data.core.rows import Listing, Row
from unseen.data.core.split_rules import first_of_each
from unseen.data.formats.class_folders import class_folders
from unseen.data.sets import eurosat

TEST, VALIDATION = 810, 540
SEED = 0


def read(place: Path) -> Listing:
    """One folder per class, with more images than are held out."""
    listing = class_folders(place)
    classes = dict[str, list[str]]()
    for row in listing.rows:
        classes.setdefault(row.label, []).append(row.id)
    held = {count: first_of_each(classes, count, SEED, str(place)) for count in (TEST, TEST + VALIDATION)}

    def part(row: Row) -> str:
        return "test" if row.id in held[TEST] else "val" if row.id in held[TEST + VALIDATION] else "train"

    return replace(listing, rows=[row._replace(part=part(row)) for row in listing.rows])


DATASET = replace(
    eurosat.DATASET,
    name="eurosat-split",
    title="EuroSAT, with test images",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 13_500, "val": 5400, "test": 8100},
    layouts=tuple(Layout(each.folder, each.files, read) for each in eurosat.DATASET.layouts),
    column=0,
)
