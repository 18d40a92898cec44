"""CLEVR: rendered scenes of 3 to 10 objects, labelled by their number or by the distance of the closest one.

Labels and splits are those of the Visual Task Adaptation Benchmark (Zhai et al. 2019): the last tenth of the training
images, in the order of TensorFlow Datasets, is for validation, and the validation images are for testing, since the
scenes of the test images are not published.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.data.formats.benchmark_order import by_name, divided, held_out
from unseen.data.formats.thresholds import interval
from unseen.errors import UserError
from unseen.reading.json_records import read_json

MOST_BYTES = 1 << 30
FEWEST, MOST = 3, 10
CLOSEST = (0.0, 8.0, 8.5, 9.0, 9.5, 10.0, 100.0)
"""Ends of the intervals of the distance between camera and object, as in pixel coordinates."""
SCENES = {part: f"scenes/CLEVR_{part}_scenes.json" for part in ("train", "val")}
Objects = list[Mapping[str, Any]]


def read(place: Path, label: Callable[[Objects, str], str]) -> Listing:
    """Each part has a JSON file with the objects of each image.

    Args:
        label: the class of the objects of an image; its second argument names the image in errors.
    """
    rows = [
        Row(f"images/{part}/{name}", label(objects, f"{place / file}, {name}"), part)
        for part, file in SCENES.items()
        for name, objects in _scenes(place / file)
    ]
    return divided(files_listing(place, rows), held_out(10, test="validation"), by_name)


def count(objects: Objects, where: str) -> str:
    """The number of objects."""
    if not FEWEST <= len(objects) <= MOST:
        raise UserError(f"{where}: {len(objects)} objects; expected {FEWEST} to {MOST}")
    return f"{len(objects):02d} objects"


def distance(objects: Objects, where: str) -> str:
    """The interval of the distance of the closest object, the third of its pixel coordinates."""
    try:
        closest = min(np.float32(each["pixel_coords"][2]) for each in objects)
    except (KeyError, IndexError, TypeError, ValueError):
        raise UserError(f"{where}: an object without three 'pixel_coords', or no object") from None
    return interval(float(closest), CLOSEST, where)


def _scenes(path: Path) -> list[tuple[str, Objects]]:
    scenes = read_json(path, most=MOST_BYTES).get("scenes")
    if not isinstance(scenes, list) or not all(_is_scene(each) for each in scenes):
        raise UserError(f"{path}: contains no list 'scenes' with the 'image_filename' and the 'objects' of each")
    return [(scene["image_filename"], scene["objects"]) for scene in scenes]


def _is_scene(scene: Any) -> bool:
    return (
        isinstance(scene, dict)
        and isinstance(scene.get("image_filename"), str)
        and isinstance(scene.get("objects"), list)
    )


def _dataset(name: str, title: str, classes: int, label: Callable[[Objects, str], str]) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        also_called=("clevr",),
        classes=classes,
        metric="top1",
        test="author",
        validation="author",
        few_shot="other",
        counts={"train": 63_000, "val": 7000, "test": 15_000},
        layouts=(Layout("CLEVR_v1.0", ("images/train", "images/val", *SCENES.values()), partial(read, label=label)),),
        get="Stanford, CLEVR: CLEVR_v1.0.zip",
        licence="CC BY 4.0",
        citation="Johnson et al. 2017, CLEVR: A Diagnostic Dataset for Compositional Language and Visual Reasoning",
    )


DATASETS = (
    _dataset("clevr-count", "CLEVR, number of objects", 8, count),
    _dataset("clevr-distance", "CLEVR, distance of the closest object", 6, distance),
)
