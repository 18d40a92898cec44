"""What is known of a test set of the shift study."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unseen.errors import UserError
from unseen.images.datasets.dataset import Layout
from unseen.images.datasets.listing import ALL, Listing
from unseen.images.manifest import Manifest
from unseen.images.source import Entry, ImageSource

LabelSpace = Literal["imagenet-1k", "cifar-10", "your own"]
"""What labels are: synset ids of ImageNet-1K (several joined by + where an object may be any of them), or names."""


@dataclass(frozen=True)
class ShiftSet:
    """A test set: what its labels are, how large it is, where it comes from and how it lies on disk.

    Attributes:
        name: its column in tables; the ImageNet testbed's own name where it has the set, except for ObjectNet, which is
            `objectnet-1.0-beta` there.
        classes, images: how many a complete copy has.
        layouts: the first that is found is read.
        get: the site and the files to take from it.
        part: of the listing, the images that test.
        shifted: False for what others of the same labels are shifts of.
        revision: raised when this code comes to give other pixels or labels for the same files.
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
        """Sent to a process that works on it, it is open: how it lies on disk stays behind."""
        return self.__dict__ | {"layouts": ()}

    @property
    def split(self) -> str:
        """What its images are called in manifests; part of the key of what is computed from them."""
        return f"{self.name}-r{self.revision}"

    def find(self, root: Path) -> tuple[Layout, Path] | None:
        """The first place below a folder where the test set is, and how it lies there; None where it is not."""
        places = ((layout, place) for layout in self.layouts for place in layout.places(root))
        return next(((layout, place) for layout, place in places if place.is_dir()), None)


@dataclass(frozen=True)
class OpenSet:
    """A test set that is there; all of its manifest is one split, and `notes` is what is to be said of it."""

    shift_set: ShiftSet
    source: ImageSource
    manifest: Manifest
    notes: tuple[str, ...] = ()


def open_set(shift_set: ShiftSet, root: Path, *, partial: bool = False) -> OpenSet:
    """Find a test set below the folder of all; one that is not there, or not whole, is an error that says what to do.

    Args:
        partial: take what is there of an incomplete copy.
    """
    listing = _list(shift_set, root)
    entries = [Entry(row.id, row.label) for row in listing.rows if row.part == shift_set.part]
    if not partial:
        _refuse_incomplete(shift_set, entries, listing)
    if not entries:
        raise UserError(f"{shift_set.name}: no images of it; to get them: {shift_set.get}")
    return OpenSet(shift_set, listing.open(), Manifest(entries, [shift_set.split] * len(entries)))


def _list(shift_set: ShiftSet, root: Path) -> Listing:
    found = shift_set.find(root)
    if found is None:
        folders = " or ".join(layout.folder for layout in shift_set.layouts)
        raise UserError(f"{shift_set.name}: expected {folders} below {root}; to get it: {shift_set.get}")
    layout, place = found
    absent = next((name for name in layout.files if not (place / name).exists()), None)
    if absent is not None:
        raise UserError(f"{shift_set.name}: {place} has no {absent}; expected {', '.join(layout.files)}")
    return layout.read(place)


def _refuse_incomplete(shift_set: ShiftSet, entries: Sequence[Entry], listing: Listing) -> None:
    """Accuracies on a part of a test set are not those that others report on it."""
    classes = len({entry.label for entry in entries})
    if listing.missing or (len(entries), classes) != (shift_set.images, shift_set.classes):
        raise UserError(
            f"{shift_set.name}: {len(entries):,} images of {classes:,} classes, where a complete copy has "
            f"{shift_set.images:,} of {shift_set.classes:,}; to get it: {shift_set.get}, or score what is there "
            "(--partial)"
        )
