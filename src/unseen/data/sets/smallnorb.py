"""SmallNORB: photographs of toys from 18 azimuths and 9 elevations, 96 × 96 grey pixels.

Labels and splits are those of the Visual Task Adaptation Benchmark (Zhai et al. 2019): the azimuth or the elevation is
the class, the image of the first of two cameras is used, and half of the test images, in the order of TensorFlow
Datasets, are for validation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.entries import EntryTable
from unseen.data.core.open_files import FileState, open_file
from unseen.data.core.releases import provenance
from unseen.data.core.rows import Listing, Row, numbered
from unseen.data.formats.benchmark_order import Cut, by_number, divided
from unseen.errors import UserError

PARTS = {"train": "5x46789x9x18x6x2x96x96-training", "test": "5x01235x9x18x6x2x96x96-testing"}
SIDE = 96
CAMERAS = 2
KINDS: Mapping[int, np.dtype[Any]] = {0x1E3D4C55: np.dtype("u1"), 0x1E3D4C54: np.dtype("<i4")}
"""Magic number → type of the values."""
ELEVATION, AZIMUTH = 1, 2
"""Columns of the info file."""
CUTS = {"train": Cut("train"), "val": Cut("test", 0, 50), "test": Cut("test", 50, 100)}


@dataclass(frozen=True)
class Matrix:
    """A file with an array: the state of the file, its shape and type, and the offset of its values."""

    state: FileState
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int


@dataclass(frozen=True)
class ToyImages:
    """The images of the first camera, read one by one from the files of both parts."""

    folder: Path
    files: tuple[Matrix, ...]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> NDArray[np.uint8]:
        for file in self.files:
            if number < file.shape[0]:
                size = SIDE * SIDE
                path = self.folder / file.state.name
                content = open_file(path, file.state).read(file.offset + number * CAMERAS * size, size)
                return np.frombuffer(content, dtype=np.uint8).reshape(SIDE, SIDE)
            number -= file.shape[0]
        raise IndexError(number)


def read(place: Path, column: int) -> Listing:
    """Each part has a file of images and one of numbers: instance, elevation, azimuth and lighting."""
    rows, files = list[Row](), list[Matrix]()
    for part in PARTS:
        images, info = (_matrix(_file(place, part, kind)) for kind in ("dat", "info"))
        if images.shape[1:] != (CAMERAS, SIDE, SIDE) or images.dtype != np.uint8:
            raise UserError(f"{place / images.state.name}: images of shape {images.shape}, not (n, 2, 96, 96) in bytes")
        if info.shape != (images.shape[0], 4) or info.dtype == np.uint8:
            raise UserError(f"{place / info.state.name}: numbers of shape {info.shape} for {images.shape[0]:,} images")
        values = np.fromfile(place / info.state.name, info.dtype, offset=info.offset).reshape(info.shape)[:, column]
        rows += numbered(_labels(values, column, place / info.state.name), part)
        files.append(images)

    def opened() -> ToyImages:
        entries = EntryTable.of(((row.id, row.label) for row in rows), str(place))
        return ToyImages(place, tuple(files), entries, provenance("array", entries.classes, len(entries)))

    return divided(Listing(rows, opened), CUTS, by_number)


def _file(place: Path, part: str, kind: str) -> Path:
    return place / f"smallnorb-{PARTS[part]}-{kind}.mat"


def _labels(values: NDArray[np.generic], column: int, path: Path) -> list[str]:
    """Azimuths are 0, 2 … 34, in units of ten degrees, and elevations 0 … 8."""
    step, most = (2, 34) if column == AZIMUTH else (1, 8)
    numbers: list[int] = values.tolist()
    odd = next((number for number in numbers if not 0 <= number <= most or number % step), None)
    if odd is not None:
        raise UserError(f"{path}: a value of {odd} where 0 to {most} in steps of {step} are expected")
    return [f"{number // step:02d}" for number in numbers]


def _matrix(path: Path) -> Matrix:
    """The header: a magic number, the number of dimensions, and the shape, at least three numbers of four bytes."""
    state = FileState.at(path)
    words = np.frombuffer(open_file(path, state).read(0, 4 * 6), dtype="<i4").tolist()
    if len(words) < 5 or words[0] not in KINDS or not 1 <= words[1] <= 4 or len(words) < 2 + words[1]:
        raise UserError(f"{path}: not a file of small NORB (binary matrix); unpack it if it is compressed")
    shape, dtype, offset = tuple(words[2 : 2 + words[1]]), KINDS[words[0]], 4 * (2 + max(3, words[1]))
    if min(shape) < 0 or state.size != offset + prod(shape) * dtype.itemsize:
        raise UserError(f"{path}: {state.size:,} bytes, but its header says {' × '.join(map(str, shape))} values")
    return Matrix(state, shape, dtype, offset)


def _dataset(attribute: str, classes: int, column: int) -> Dataset:
    return Dataset(
        name=f"smallnorb-{attribute}",
        title=f"SmallNORB, {attribute}",
        also_called=("smallnorb",),
        classes=classes,
        metric="top1",
        test="author",
        validation="author",
        few_shot="other",
        counts={"train": 24_300, "val": 12_150, "test": 12_150},
        layouts=(
            Layout(
                "smallnorb",
                tuple(_file(Path(), part, kind).name for part in PARTS for kind in ("dat", "info")),
                partial(read, column=column),
            ),
        ),
        get="New York University, small NORB: the dat, cat and info files of training and testing, unpacked (gunzip)",
        licence="research only",
        citation="LeCun et al. 2004, Learning Methods for Generic Object Recognition (small NORB)",
    )


DATASETS = (_dataset("azimuth", 18, AZIMUTH), _dataset("elevation", 9, ELEVATION))
