"""The drawings shipped with this package, used by `unseen demo`: 340 concepts with 100 drawings of 28 × 28 pixels each.

As in the demo, the first 80 drawings of a concept are for training and the last 20 for testing. The demo's backbones
were trained on the training drawings of 100 of these concepts.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, pixels_listing
from unseen.errors import UserError
from unseen.files import read_table

PIXELS, CATEGORIES = "drawings.npz", "categories.csv"
TRAIN = 80


def package_folder() -> Iterator[Path]:
    """The folder of the drawings in this package."""
    yield Path(__file__).parents[2] / "demo/data"


def read(place: Path) -> Listing:
    """The categories that are WordNet concepts, in the order of the drawings file."""
    table = read_table(place / CATEGORIES, ("category", "wnid"))
    concepts = {record["category"] for _, record in table if record["wnid"]}
    names, drawings = _load(place / PIXELS)
    chosen = [number for number, name in enumerate(names) if name in concepts]
    rows = [
        Row(f"{names[number]}/{image:03d}", names[number], "train" if image < TRAIN else "test")
        for number in chosen
        for image in range(drawings.shape[1])
    ]
    return pixels_listing(rows, partial(_pixels, drawings, chosen))


def _load(path: Path) -> tuple[list[str], NDArray[np.uint8]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return file["categories"].tolist(), file["drawings"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None


def _pixels(drawings: NDArray[np.uint8], chosen: list[int]) -> NDArray[np.uint8]:
    return drawings[chosen].reshape(-1, *drawings.shape[2:])


DATASET = Dataset(
    name="drawings",
    title="drawings (Quick, Draw!)",
    also_called=("quickdraw",),
    classes=340,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="other",
    counts={"train": 21_760, "val": 5440, "test": 6800},
    layouts=(Layout("drawings", (PIXELS, CATEGORIES), read, package_folder),),
    get="this package; install unseen again",
    licence="CC BY 4.0",
    citation="Google 2017, The Quick, Draw! Dataset",
)
