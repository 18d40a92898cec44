"""Single images that a backbone is examined on: some of each data set, or those of a folder."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.decode import Damaged, orientation, read_pixels
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages
from unseen.data.core.links import links_within
from unseen.data.core.listing import list_folder
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import ImageSource
from unseen.data.core.tars.archive import is_image
from unseen.data.sources.open_source import open_images
from unseen.studies.opened import OpenedData
from unseen.text.words import counted

DRAWINGS = "drawings"
DEFAULT_DRAWINGS = 8
DEFAULT_EXAMPLES = 1
"""Images per data set: the paper's Figs. 8 and 9 show one of each, and its text does not say how many were measured."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Some images of a source, in order.

    Attributes:
        name: name of the domain in scores; it includes the number of images, so no data set has it.
        numbers: positions of the images in their source.
    """

    name: str
    title: str
    source: ImageSource
    numbers: Sequence[int]
    licence: str = ""

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def ids(self) -> list[str]:
        return [self.source.entries[number].id for number in self.numbers]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ids and contents of the images."""
        digest = hashlib.sha256()
        for number, name in zip(self.numbers, self.ids, strict=True):
            image = self.source.read(number)
            content = image if isinstance(image, bytes) else image.tobytes()
            kind = "file" if isinstance(image, bytes) else f"{image.dtype} {image.shape}"
            digest.update(f"{name}\n{kind} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def measured(self, *, exif: bool) -> str:
        """SHA-256 of what is measured: of the images or, if some are turned by their EXIF orientation, of these."""
        if not exif or all(orientation(self.source.read(number)) == 1 for number in self.numbers):
            return self.digest
        return hashlib.sha256(f"{self.digest} turned".encode()).hexdigest()

    def pixels(self, place: int, transform: Transform, *, exif: bool = False) -> NDArray[np.uint8]:
        """(size, size, 3) pixels of an image of the set after preprocessing."""
        found = read_pixels(self.source, self.numbers[place], transform, exif=exif)
        assert not isinstance(found, Damaged)  # damaged images raise an error here
        return found


def image_sets(opened: OpenedData, examples: int | None) -> list[ImageSet]:
    """Some images of each data set, always the same ones, and those of folders of images.

    Args:
        examples: number of images of each; by default one per data set, eight drawings, and all images of a folder.
    """
    with links_within(follow=opened.links.follow):
        found = [_of_place(place, examples) for place in opened.folders]
    for each in opened.data:
        usual = DEFAULT_DRAWINGS if each.name == DRAWINGS else DEFAULT_EXAMPLES
        found.append(_of_dataset(each.images, examples or usual))
    return found


def _of_dataset(opened: OpenDataset, examples: int) -> ImageSet:
    splits = opened.manifest.splits
    part = "test" if "test" in splits else "all"
    numbers = [number for number, split in enumerate(splits) if split == part]
    chosen = _drawn(opened.source, numbers, examples)
    title = f"{opened.dataset.title}, {counted(len(chosen), 'image')}"
    return ImageSet(_name(opened.dataset.name, len(chosen)), title, opened.source, chosen, opened.dataset.licence)


def _of_place(place: Path, examples: int | None) -> ImageSet:
    source = _flat_folder(place) or open_images(place)
    numbers = list(range(len(source.entries)))
    chosen = numbers if examples is None else _drawn(source, numbers, examples)
    called = place.resolve().name
    return ImageSet(_name(called, len(chosen)), f"{called}, {counted(len(chosen), 'image')}", source, chosen)


def _flat_folder(place: Path) -> FileImages | None:
    """The images of a folder without classes; None for any other source."""
    if not place.is_dir():
        return None
    names = [entry.name for entry in list_folder(place) if is_image(entry.name) and entry.is_file()]
    if not names:
        return None
    return FileImages(place, EntryTable.of([(name, "") for name in names], str(place)), {"kind": "folder of images"})


def _drawn(source: ImageSource, numbers: Sequence[int], examples: int) -> list[int]:
    """Some of the images, in order: those with the lowest SHA-256 of their ids, the same on every machine."""
    order = sorted(numbers, key=lambda number: hashlib.sha256(source.entries[number].id.encode()).digest())
    return sorted(order[:examples])


def _name(of: str, images: int) -> str:
    return f"{of} ({counted(images, 'image')})"
