"""dSprites: white shapes on black, 64 × 64 pixels, one image for every combination of shape, scale, angle and place.

Labels and splits are those of the Visual Task Adaptation Benchmark (Zhai et al. 2019): the 40 angles or the 32
horizontal places are 16 classes; a tenth of the images each is for validation and for testing, in the order of
TensorFlow Datasets.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.entries import EntryTable
from unseen.data.core.open_files import FileState
from unseen.data.core.releases import provenance
from unseen.data.core.rows import Listing, numbered
from unseen.data.formats.benchmark_order import by_number, divided, drawn
from unseen.errors import UserError
from unseen.reading.arrays import read_npy_header, read_npz
from unseen.reading.guard import reading

FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
IMAGES, LATENTS = "imgs", "latents_classes"
EXPECTED = "the arrays of dSprites"
SIDE = 64
CLASSES = 16
COLUMNS = {"orientation": (3, 40), "location": (4, 32)}
"""Column of the latent classes, and the number of its values."""
BLOCK = 4096


@dataclass(frozen=True)
class SpriteImages:
    """The images of the file, which every process unpacks once, into a bit per pixel."""

    path: Path
    state: FileState
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> NDArray[np.uint8]:
        bits = _bits(self.path, self.state)[number]
        return (np.unpackbits(bits) * np.uint8(255)).reshape(SIDE, SIDE)


def read(place: Path, attribute: str) -> Listing:
    """An array of images and one of the values of each factor.

    Args:
        attribute: the factor that is the label.
    """
    path, (column, values) = place / FILE, COLUMNS[attribute]
    with reading(path, EXPECTED):
        latents = read_npz(path, (LATENTS,))[LATENTS]
        shape = _shape(path)
    if latents.ndim != 2 or latents.shape[1] <= column or not np.issubdtype(latents.dtype, np.integer):
        raise UserError(f"{path}: '{LATENTS}' is {latents.dtype} of shape {latents.shape}, not (n, 6) whole numbers")
    if shape != (len(latents), SIDE, SIDE):
        raise UserError(f"{path}: images of shape {shape} for {len(latents):,} labels of '{LATENTS}'")
    labels = latents[:, column]
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= values:
        raise UserError(f"{path}: labels of the {attribute} outside of 0 to {values - 1}")
    rows = numbered((f"{label:02d}" for label in (labels * CLASSES // values).tolist()), "train")

    def opened() -> SpriteImages:
        entries = EntryTable.of(((row.id, row.label) for row in rows), str(path))
        return SpriteImages(path, FileState.at(path), entries, provenance("array", entries.classes, len(entries)))

    return divided(Listing(rows, opened), drawn(train=80, val=10), by_number)


def _shape(path: Path) -> tuple[int, ...]:
    with ZipFile(path) as archive, archive.open(f"{IMAGES}.npy") as file:
        return read_npy_header(file)[0]


@lru_cache(maxsize=1)
def _bits(path: Path, state: FileState) -> NDArray[np.uint8]:
    """(n, 512) the pixels of all images, which are 0 or 1, as bits."""
    with reading(path, EXPECTED):
        if FileState.at(path) != state:
            raise UserError(f"{path}: changed since its images were listed; open them again")
        with ZipFile(path) as archive, archive.open(f"{IMAGES}.npy") as file:
            shape, fortran, dtype = read_npy_header(file)
            if fortran or dtype != np.uint8:
                raise UserError(f"{path}: '{IMAGES}' is {dtype}; expected bytes, image by image")
            bits = np.empty((shape[0], SIDE * SIDE // 8), dtype=np.uint8)
            for start in range(0, shape[0], BLOCK):
                content = file.read(min(BLOCK, shape[0] - start) * SIDE * SIDE)
                pixels = np.frombuffer(content, dtype=np.uint8).reshape(-1, SIDE * SIDE)
                if pixels.max() > 1:
                    raise UserError(f"{path}: a pixel of {pixels.max()}; expected 0 and 1")
                bits[start : start + len(pixels)] = np.packbits(pixels, axis=1)
    return bits


def _dataset(attribute: str) -> Dataset:
    return Dataset(
        name=f"dsprites-{attribute}",
        title=f"dSprites, {attribute}",
        also_called=("dsprites",),
        classes=CLASSES,
        metric="top1",
        test="author",
        validation="author",
        few_shot="other",
        counts={"train": 589_824, "val": 73_728, "test": 73_728},
        layouts=(Layout("dsprites", (FILE,), partial(read, attribute=attribute)),),
        get=f"github.com/deepmind/dsprites-dataset: {FILE}",
        licence="Apache-2.0",
        citation="Matthey et al. 2017, dSprites: Disentanglement testing Sprites dataset",
    )


DATASETS = (_dataset("location"), _dataset("orientation"))
