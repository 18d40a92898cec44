"""KITTI's photographs of roads, labelled by the distance of the closest car, van or truck.

Labels and splits are those of the Visual Task Adaptation Benchmark (Zhai et al. 2019). Test and validation images are
those of a tenth of the videos each, drawn as TensorFlow Datasets draws them, from the development kit's list of videos.
"""

from pathlib import Path

import numpy as np

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, fields, files_listing
from unseen.data.formats.benchmark_order import AUTHORS, by_name, divided
from unseen.data.formats.thresholds import interval
from unseen.errors import UserError
from unseen.files import read_text

VEHICLES = {"Car", "Van", "Truck"}
TYPE, DEPTH, FIELDS = 0, 13, 15
"""Columns of a line of labels: the type of the object, and its distance along the optical axis in metres."""
ENDS = (-100.0, 8.0, 20.0, 999.0)
NONE = f"{len(ENDS) - 1}: no vehicle"
LINES, VIDEOS = "mapping/train_rand.txt", "mapping/train_mapping.txt"
SHARE, SEED = 10, 123


def read(place: Path) -> Listing:
    """One file of labels per image, one line per object."""
    parts = _parts(place)
    rows = [
        Row(f"training/image_2/{number:06d}.png", _label(place / f"training/label_2/{number:06d}.txt"), part)
        for number, part in enumerate(parts)
    ]
    return divided(files_listing(place, rows), AUTHORS, by_name)


def _label(path: Path) -> str:
    """The interval of the distance of the closest vehicle; objects marked DontCare have no distance.

    Every photograph has labels, so that an empty file is not one without vehicles but an incomplete copy.
    """
    lines, depths = [line.split() for line in read_text(path).splitlines() if line.strip()], list[np.float32]()
    if not lines:
        raise UserError(f"{path}: no objects in it; get the labels again")
    for words in lines:
        if len(words) != FIELDS or not _is_number(words[DEPTH]):
            raise UserError(f"{path}: expected {FIELDS} fields per line, found {' '.join(words)[:80]!r}")
        if words[TYPE] in VEHICLES:
            depths.append(np.float32(words[DEPTH]))
    return interval(float(min(depths)), ENDS, str(path)) if depths else NONE


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _parts(place: Path) -> list[str]:
    """The part of each image, by number, from the video that it is from."""
    videos = [words[1] for words in fields(place / VIDEOS, 3, "a date, a video and a frame")]
    try:
        lines = [int(text) - 1 for text in read_text(place / LINES).split(",")]
    except ValueError:
        raise UserError(f"{place / LINES}: expected whole numbers, separated by commas") from None
    if not all(0 <= line < len(videos) for line in lines) or len(lines) < 3:
        raise UserError(f"{place / LINES}: names lines that {VIDEOS} does not have")
    of_image = [videos[line] for line in lines]
    names = sorted(set(of_image))
    held = max(1, SHARE * len(names) // 100)
    if len(names) < 2 * held + 1:
        raise UserError(f"{place / VIDEOS}: {len(names)} videos, too few for training, validation and test images")
    random = np.random.RandomState(SEED)  # the generator that the benchmark's split was drawn with
    test = set(random.choice(names, held, replace=False).tolist())
    val = set(random.choice(sorted(set(names) - test), held, replace=False).tolist())
    return ["test" if video in test else "val" if video in val else "train" for video in of_image]


DATASET = Dataset(
    name="kitti-distance",
    title="KITTI, distance of the closest vehicle",
    also_called=("kitti",),
    classes=4,
    metric="top1",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 6347, "val": 423, "test": 711},
    layouts=tuple(
        Layout(folder, ("training/image_2", "training/label_2", LINES, VIDEOS), read)
        for folder in ("kitti", "Kitti/raw")
    ),
    get="KITTI, object detection: data_object_image_2.zip, data_object_label_2.zip, and devkit_object.zip, "
    "all unpacked into the folder kitti",
    licence="CC BY-NC-SA 3.0",
    citation="Geiger et al. 2012, Are We Ready for Autonomous Driving? The KITTI Vision Benchmark Suite",
)
