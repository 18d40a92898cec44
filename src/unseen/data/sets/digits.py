"""scikit-learn's digits: 1,797 handwritten digits of 8 × 8 pixels with 17 grey levels."""

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import ALL, Listing, numbered, pixels_listing
from unseen.errors import UserError

FILE = "digits.csv.gz"
SIDE = 8
WHITE = 16


def package_folder() -> Iterator[Path]:
    """The folder of scikit-learn's bundled data sets, located without importing scikit-learn."""
    package = find_spec("sklearn")
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "datasets/data"


def read(place: Path) -> Listing:
    """Lines of 64 grey values from 0 to 16 and the digit."""
    try:
        table = np.loadtxt(place / FILE, delimiter=",", dtype=np.int64, ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{place / FILE}: cannot be read ({error})") from None
    if table.shape[1] != SIDE * SIDE + 1 or table.min() < 0 or table[:, :-1].max() > WHITE or table[:, -1].max() > 9:
        raise UserError(f"{place / FILE}: expected {SIDE * SIDE} grey values from 0 to {WHITE} and a digit per line")
    return pixels_listing(numbered(map(str, table[:, -1]), ALL), partial(_pixels, table[:, :-1]))


def _pixels(greys: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.round(greys * (255 / WHITE)).astype(np.uint8).reshape(-1, SIDE, SIDE)


DATASET = Dataset(
    name="digits",
    title="digits of scikit-learn",
    classes=10,
    metric="top1",
    test="fifth",
    validation="fifth",
    few_shot="other",
    counts={"train": 1151, "val": 287, "test": 359},
    layouts=(Layout("digits", (FILE,), read, package_folder),),
    get="pip install scikit-learn",
    licence="CC BY 4.0",
    citation="Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits (UCI)",
)
