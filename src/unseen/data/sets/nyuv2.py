"""NYU Depth v2: surface normals and depths of 1,449 rooms, 795 for training and 654 for testing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.entries import EntryTable
from unseen.data.core.open_files import FileState
from unseen.data.core.releases import provenance
from unseen.data.core.rows import IMAGE, Listing, Row
from unseen.data.core.source import ImageSource
from unseen.data.formats.hdf5 import hdf5_array
from unseen.data.formats.map_files import read_colours, read_indices, unit_normals
from unseen.data.formats.matlab import read_mat, whole_numbers
from unseen.errors import UserError
from unseen.reading.guard import reading

IMAGES, SPLITS, NORMALS, MASKS = "nyu_depth_v2_labeled.mat", "splits.mat", "normals_gt/normals", "normals_gt/masks"
PARTS = (("trainNdxs", "train"), ("testNdxs", "test"))


@dataclass(frozen=True)
class RoomImages:
    """The images of some rooms in the data set's HDF5 file, which was in this state when it was opened."""

    path: Path
    state: FileState
    rooms: tuple[int, ...]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> NDArray[np.uint8]:
        pixels = _read(self.path, self.state, "images", self.rooms[number], np.uint8, 3)
        return np.ascontiguousarray(pixels.transpose(2, 1, 0))


@dataclass(frozen=True)
class RoomMaps:
    """Normals (Ladický et al. 2014, image files beside the HDF5 file) or depths (in the HDF5 file) of rooms."""

    base: Path
    state: FileState
    rooms: tuple[int, ...]
    kind: Literal["normals", "depth"]

    def place(self, number: int) -> str:
        room = self.rooms[number]
        return str(self.base / (f"{NORMALS}/{room:04d}.png" if self.kind == "normals" else f"{IMAGES}, room {room}"))

    def read(self, number: int) -> NDArray[np.float32]:
        room = self.rooms[number]
        if self.kind == "depth":
            return np.ascontiguousarray(_read(self.base / IMAGES, self.state, "depths", room, np.float32, 2).T)
        colours = read_colours(self.base / NORMALS / f"{room:04d}.png")
        mask = read_indices(self.base / MASKS / f"{room:04d}.png")
        if mask.shape != colours.shape[:2]:
            raise UserError(f"{self.base / MASKS / f'{room:04d}.png'}: its size differs from that of the normals")
        return unit_normals(colours, mask > 0)


def read_depth(place: Path) -> Listing:
    """Images and depths of all rooms."""
    return _listing(place, "depth")


def read_normals(place: Path) -> Listing:
    """Images and normals of all rooms; rooms without a file of normals are listed as missing."""
    return _listing(place, "normals")


def _listing(place: Path, kind: Literal["normals", "depth"]) -> Listing:
    state = FileState.at(place / IMAGES)
    found = [(room, part) for name, part in PARTS for room in _rooms(place / SPLITS, name)]
    missing = [
        name
        for room, _ in found
        for name in (f"{NORMALS}/{room:04d}.png", f"{MASKS}/{room:04d}.png")
        if kind == "normals" and not (place / name).is_file()
    ]
    whole = [(room, part) for room, part in found if not any(f"/{room:04d}." in name for name in missing)]
    rooms = tuple(room for room, _ in whole)

    def opened() -> ImageSource:
        entries = EntryTable.of(((row.id, row.label) for row in rows), str(place / IMAGES))
        about = provenance("HDF5", entries.classes, len(entries))
        return RoomImages(place / IMAGES, state, rooms, entries, about)

    rows = [Row(f"{room:04d}", IMAGE, part) for room, part in whole]
    return Listing(rows, opened, missing, RoomMaps(place, state, rooms, kind))


def _rooms(path: Path, name: str) -> list[int]:
    """The rooms of a split, counted from 0."""
    numbers = whole_numbers(read_mat(path).get(name))
    if not numbers or min(numbers) < 1:
        raise UserError(f"{path}: no list of rooms '{name}' in it")
    return [number - 1 for number in numbers]


def _read(path: Path, state: FileState, name: str, room: int, dtype: type, dimensions: int) -> NDArray[Any]:
    with reading(path, "NYU Depth v2"):
        values = hdf5_array(path, state, name)
        if values.ndim != dimensions + 1 or values.dtype != dtype or room >= len(values):
            raise UserError(f"{path}: '{name}' is {values.dtype} of shape {values.shape}, without room {room}")
        array: NDArray[Any] = values[room]
    return array


_GET = f"NYU Depth Dataset V2: {IMAGES} and {SPLITS}"
_CITATION = "Silberman et al. 2012, Indoor segmentation and support inference from RGBD images"
_COUNTS = {"train": 795, "test": 654}
DATASETS = (
    Dataset(
        name="nyuv2-normals",
        title="NYUv2 surface normals",
        also_called=("nyuv2", "nyu-depth-v2"),
        target="normals",
        classes=0,
        counts=_COUNTS,
        layouts=(Layout("nyuv2", (IMAGES, SPLITS, NORMALS, MASKS), read_normals),),
        get=f"{_GET}; and the normals of Ladický et al. as pictures (normals_gt)",
        licence="research",
        citation=f"{_CITATION}; Ladický et al. 2014, Discriminatively trained dense surface normal estimation",
    ),
    Dataset(
        name="nyuv2-depth",
        title="NYUv2 depth",
        also_called=("nyuv2", "nyu-depth-v2"),
        target="depth",
        classes=0,
        counts=_COUNTS,
        layouts=(Layout("nyuv2", (IMAGES, SPLITS), read_depth),),
        get=_GET,
        licence="research",
        citation=_CITATION,
    ),
)
