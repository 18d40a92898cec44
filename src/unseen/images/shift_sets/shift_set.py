"""Metadata of a test set of the shift study."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unseen.errors import UserError
from unseen.images.datasets.dataset import Layout
from unseen.images.datasets.listing import ALL, Listing
from unseen.images.datasets.open_dataset import State
from unseen.images.manifest import Manifest
from unseen.images.source import Entry, ImageSource
from unseen.words import counted

LabelSpace = Literal["imagenet-1k", "cifar-10", "your own"]
"""What labels are: synset ids of ImageNet-1K (joined by + if an object may be any of several), or names."""


@dataclass(frozen=True)
class ShiftSet:
    """A test set: its labels, size, origin and layouts on disk.

    Attributes:
        name: its column in tables; the ImageNet testbed's name if it has the set, except for ObjectNet, which is
            `objectnet-1.0-beta` there.
        classes, images: numbers in a complete copy.
        layouts: the first one found is read.
        get: the site and the files to download.
        part: the part of the listing with the test images.
        shifted: False for the ID test set of its label space.
        revision: increased when this code starts to give other pixels or labels for the same files.
    """

    name: str
    title: str
    space: LabelSpace
    classes: int
    images: int
    layouts: tuple[Layout, ...]
    get: str
    licence: str
    citation: str
    part: str = ALL
    shifted: bool = True
    revision: int = 1

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the layouts: a test set sent to another process is already open."""
        return self.__dict__ | {"layouts": ()}

    @property
    def split(self) -> str:
        """Name of its images in manifests; part of the key of results computed from them."""
        return f"{self.name}-r{self.revision}"

    def find(self, root: Path) -> tuple[Layout, Path] | None:
        """The first place below a folder with the test set, and its layout; None if it is not found."""
        places = ((layout, place) for layout in self.layouts for place in layout.places(root))
        return next(((layout, place) for layout, place in places if place.is_dir()), None)


@dataclass(frozen=True)
class OpenSet:
    """A test set found on disk; its manifest has a single split, and `notes` are sentences to show."""

    shift_set: ShiftSet
    source: ImageSource
    manifest: Manifest
    notes: tuple[str, ...] = ()


def open_set(shift_set: ShiftSet, root: Path, *, partial: bool = False) -> OpenSet:
    """Find a test set below the folder of all test sets; if it is missing or incomplete, the error says what to do.

    Args:
        partial: use an incomplete copy.
    """
    listing = _list(shift_set, root)
    entries = _entries(shift_set, listing)
    if not partial and (gap := _gap(shift_set, entries, listing)):  # accuracies of others are of complete copies
        raise UserError(f"{gap}; to get it: {shift_set.get}, or score what is there (partial)")
    if not entries:
        raise UserError(f"{shift_set.name}: no images of it; to get them: {shift_set.get}")
    return OpenSet(shift_set, listing.open(), Manifest(entries, [shift_set.split] * len(entries)))


def examine_set(shift_set: ShiftSet, root: Path) -> State:
    """What a folder has of a test set; its images are only counted."""
    located = shift_set.find(root)
    if located is None:
        return State("missing", None, 0, "")
    entries: list[Entry] = []
    try:
        listing = _list(shift_set, root)
        entries = _entries(shift_set, listing)
        fault = _gap(shift_set, entries, listing)
    except UserError as error:
        fault = str(error)
    return State("partial" if fault else "complete", located[1], len(entries), fault)


def _entries(shift_set: ShiftSet, listing: Listing) -> list[Entry]:
    return [Entry(row.id, row.label) for row in listing.rows if row.part == shift_set.part]


def _list(shift_set: ShiftSet, root: Path) -> Listing:
    located = shift_set.find(root)
    if located is None:
        folders = " or ".join(layout.folder for layout in shift_set.layouts)
        raise UserError(f"{shift_set.name}: expected {folders} below {root}; to get it: {shift_set.get}")
    layout, place = located
    absent = next((name for name in layout.files if not (place / name).exists()), None)
    if absent is not None:
        raise UserError(f"{shift_set.name}: {place} has no {absent}; expected {', '.join(layout.files)}")
    return layout.read(place)


def _gap(shift_set: ShiftSet, entries: Sequence[Entry], listing: Listing) -> str:
    """What a copy lacks; empty if it is complete."""
    classes = len({entry.label for entry in entries})
    if not listing.missing and (len(entries), classes) == (shift_set.images, shift_set.classes):
        return ""
    return (
        f"{shift_set.name}: {counted(len(entries), 'image')} of {counted(classes, 'class')}, where a complete copy has "
        f"{shift_set.images:,} of {shift_set.classes:,}"
    )
