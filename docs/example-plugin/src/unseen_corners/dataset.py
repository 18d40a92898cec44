"""A data set: 28 generated images in four classes, each with one bright corner.

They come with the package as a small archive would: `elsewhere` gives the folder that they are in.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from PIL import Image

from unseen.data.core.dataset import Dataset, Layout, Listing
from unseen.data.core.rows import Row, files_listing

FOLDER, SIDE = "corners", 16
PLACES = {"top-left": (0, 0), "top-right": (0, 8), "bottom-left": (8, 0), "bottom-right": (8, 8)}
PER_CLASS = {"train": 5, "test": 2}


def read(place: Path) -> Listing:
    """The images of each split are in one folder per class: `train/top-left/0.png`."""
    paths = sorted(place.glob("*/*/*.png"))
    return files_listing(
        place, [Row(path.relative_to(place).as_posix(), path.parts[-2], path.parts[-3]) for path in paths]
    )


@cache
def made() -> Path:
    """A folder with the images, drawn with a fixed seed."""
    folder, rng = Path(mkdtemp(prefix="unseen-corners-")) / FOLDER, np.random.default_rng(0)
    for split, images in PER_CLASS.items():
        for name, (top, left) in PLACES.items():
            (folder / split / name).mkdir(parents=True)
            for number in range(images):
                pixels = rng.integers(0, 100, (SIDE, SIDE, 3), dtype=np.uint8)
                pixels[top : top + 8, left : left + 8] += 100
                Image.fromarray(pixels).save(folder / split / name / f"{number}.png")
    return folder


def elsewhere() -> Iterator[Path]:
    yield made()


CORNERS = Dataset(
    name="corners",
    title="Corners",
    classes=4,
    counts={"train": 16, "val": 4, "test": 8},  # a fifth of the training images is drawn for validation
    validation="fifth",
    few_shot="other",
    layouts=(Layout(FOLDER, ("train", "test"), read, elsewhere),),
    get="nothing: its images are made by the package unseen-corners",
    licence="CC0",
    citation="none",
)
