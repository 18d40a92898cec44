"""PASCAL VOC 2007: 20 kinds of object; an image may show several."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.multi_label import join_classes
from unseen.data.core.rows import Listing, Row, fields, files_listing
from unseen.errors import UserError

PARTS = ("train", "val", "test")
CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
LISTS = "ImageSets/Main"
SHOWN, DIFFICULT, ABSENT = "1", "0", "-1"


def read(place: Path) -> Listing:
    """Each part has a list of its images, and one file per class that marks the images showing it."""
    rows = []
    for part in PARTS:
        marks = {name: _marks(place / LISTS / f"{name}_{part}.txt") for name in CLASSES}
        for (image,) in fields(place / LISTS / f"{part}.txt", 1, "the number of an image"):
            image_marks = {name: marks[name].get(image, "") for name in CLASSES}
            unsaid = next((name for name, mark in image_marks.items() if not mark), None)
            if unsaid:
                raise UserError(f"{place / LISTS}: {unsaid}_{part}.txt does not contain image {image}")
            shown, difficult = ([name for name in CLASSES if image_marks[name] == mark] for mark in (SHOWN, DIFFICULT))
            rows.append(Row(f"JPEGImages/{image}.jpg", join_classes(shown, difficult), part))
    return files_listing(place, rows)


def _marks(file: Path) -> dict[str, str]:
    marks = dict(fields(file, 2, "an image and -1, 0 or 1"))
    odd = next((image for image, mark in marks.items() if mark not in {SHOWN, DIFFICULT, ABSENT}), None)
    if odd is not None:
        raise UserError(f"{file}: image {odd} has the mark {marks[odd]!r}; expected -1, 0 or 1")
    return marks


DATASET = Dataset(
    name="voc2007",
    title="PASCAL VOC 2007",
    classes=20,
    target="classes",
    metric="map-11-point",
    test="author",
    validation="author",
    few_shot=None,
    counts={"train": 2501, "val": 2510, "test": 4952},
    layouts=(Layout("VOCdevkit/VOC2007", ("JPEGImages", *(f"{LISTS}/{part}.txt" for part in PARTS)), read),),
    get="PASCAL VOC, VOC2007: VOCtrainval_06-Nov-2007.tar, VOCtest_06-Nov-2007.tar",
    licence="Flickr's terms of use",
    citation="Everingham et al. 2010, The PASCAL Visual Object Classes (VOC) Challenge",
)
