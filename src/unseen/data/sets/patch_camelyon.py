"""PatchCamelyon: patches of lymph nodes, with or without tumour tissue in their centre."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.entries import EntryTable
from unseen.data.core.open_files import FileState
from unseen.data.core.releases import provenance
from unseen.data.core.rows import Listing, Row, numbered
from unseen.data.formats.hdf5 import hdf5_array
from unseen.errors import UserError
from unseen.reading.guard import reading

FILES = {
    part: tuple(f"camelyonpatch_level_2_split_{name}_{kind}.h5" for kind in "xy")
    for part, name in (("train", "train"), ("val", "valid"), ("test", "test"))
}
CLASSES = ("no tumour", "tumour")
EXPECTED = "an HDF5 file of PatchCamelyon"
SHAPE = (96, 96, 3)
MOST_PATCHES = 1 << 24
"""More than any part has: a small file could declare any number of them."""


@dataclass(frozen=True)
class PatchImages:
    """The patches of all parts, read one by one from their HDF5 files.

    Attributes:
        files: the file of each part, and its state when it was opened.
        starts: position of the first patch of each file.
    """

    files: tuple[tuple[Path, FileState], ...]
    starts: tuple[int, ...]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> NDArray[np.uint8]:
        part = max(place for place, start in enumerate(self.starts) if start <= number)
        path, state = self.files[part]
        with reading(path, EXPECTED):
            patch: NDArray[np.uint8] = np.asarray(hdf5_array(path, state, "x")[number - self.starts[part]])
        return patch


def read(place: Path) -> Listing:
    """Each part has a file with patches x, (n, 96, 96, 3), and a file with labels y, (n, 1, 1, 1)."""
    rows, files, starts = list[Row](), list[tuple[Path, FileState]](), list[int]()
    for part, (images, labels) in FILES.items():
        starts.append(len(rows))
        files.append((place / images, FileState.at(place / images)))
        rows += numbered((CLASSES[label] for label in _labels(*files[-1], place / labels)), part)

    def opened() -> PatchImages:
        entries = EntryTable.of(((row.id, row.label) for row in rows), str(place))
        return PatchImages(tuple(files), tuple(starts), entries, provenance("HDF5", entries.classes, len(entries)))

    return Listing(rows, opened)


def _labels(images: Path, state: FileState, labels: Path) -> list[int]:
    with reading(images, EXPECTED):
        patches = hdf5_array(images, state, "x")
        if patches.shape[1:] != SHAPE or patches.dtype != np.uint8:
            raise UserError(f"{images}: expected bytes of shape (n, 96, 96, 3), found {patches.dtype} {patches.shape}")
        if len(patches) > MOST_PATCHES:
            raise UserError(f"{images}: {len(patches):,} patches, more than PatchCamelyon has")
    with reading(labels, EXPECTED):
        stored = hdf5_array(labels, FileState.at(labels), "y")
        if stored.size != len(patches) or not np.issubdtype(stored.dtype, np.integer):
            raise UserError(f"{labels}: expected {len(patches):,} whole numbers, found {stored.dtype} {stored.shape}")
        values = np.asarray(stored).ravel()
    if len(values) and (values.min() < 0 or values.max() >= len(CLASSES)):
        raise UserError(f"{labels}: labels from {values.min()} to {values.max()}; expected 0 and 1")
    return values.tolist()


DATASET = Dataset(
    name="patch-camelyon",
    title="PatchCamelyon",
    also_called=("pcam",),
    classes=2,
    metric="top1",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 262_144, "val": 32_768, "test": 32_768},
    layouts=(Layout("pcam", tuple(name for names in FILES.values() for name in names), read),),
    get="Zenodo, record 2546921: camelyonpatch_level_2_split_*.h5.gz of train, valid and test, unpacked; needs h5py",
    licence="CC0 1.0",
    citation="Veeling et al. 2018, Rotation Equivariant CNNs for Digital Pathology",
)
