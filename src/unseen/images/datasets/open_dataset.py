"""Opening a data set, and saying what is there and what is not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unseen.errors import UserError
from unseen.images.datasets.dataset import Dataset
from unseen.images.datasets.listing import ALL, Listing, Row
from unseen.images.datasets.multi_label import class_names, shown_classes
from unseen.images.datasets.split_rules import split_rows
from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource

SPLIT_WORDS = {"train": "training", "val": "validation", "test": "test"}


@dataclass(frozen=True)
class OpenDataset:
    """A data set that is there: its images, and which of them train, validate and test.

    Attributes:
        manifest: in the order of the source, with splits "train", "val" and "test", or "all" where nobody split it.
    """

    dataset: Dataset
    source: ImageSource
    manifest: Manifest

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes, sorted; where an image has several, the single ones."""
        return _class_names(self.dataset, (entry.label for entry in self.manifest.entries))


@dataclass(frozen=True)
class State:
    """What is on disk of a data set, and in words what is not."""

    state: Literal["complete", "partial", "missing"]
    place: Path | None
    images: int
    reason: str


def open_dataset(dataset: Dataset, root: Path | None, *, seed: int = 0, partial: bool = False) -> OpenDataset:
    """Find a data set and split it; one that is not there, or not whole, is an error that says what to do.

    Args:
        root: the folder of all data sets; None for those that come with packages.
        seed: of the splits that are drawn. Seed 0 is the one that results are compared at.
        partial: take what is there of an incomplete copy. Every class must still be in every split.
    """
    listing, place = _list(dataset, root)
    if not partial and (gap := _gap(dataset, listing)):
        raise UserError(f"{dataset.name}: {place} is incomplete: {gap}; to get it: {dataset.get}")
    rows = split_rows(listing.rows, dataset.test, dataset.validation, seed, dataset.name)
    _check_classes(dataset, rows)
    source = listing.open()
    return OpenDataset(dataset, source, Manifest(source.entries, [row.part for row in rows]))


def examine(dataset: Dataset, root: Path | None) -> State:
    """What is there of a data set; its lists are read, its images only counted."""
    found = dataset.find(root)
    if found is None:
        return State("missing", None, 0, "")
    try:
        listing, place = _list(dataset, root)
    except UserError as error:
        return State("partial", found[1], 0, str(error).removeprefix(f"{dataset.name}: "))
    gap = _gap(dataset, listing)
    return State("partial" if gap else "complete", place, len(listing.rows), gap)


def _list(dataset: Dataset, root: Path | None) -> tuple[Listing, Path]:
    found = dataset.find(root)
    if found is None:
        folders = " or ".join(layout.folder for layout in dataset.layouts)
        below = f" below {root}" if root is not None else ""
        raise UserError(f"{dataset.name}: not there; expected {folders}{below}; to get it: {dataset.get}")
    layout, place = found
    absent = next((name for name in layout.files if not (place / name).exists()), None)
    if absent is not None:
        expected = ", ".join(layout.files)
        raise UserError(f"{dataset.name}: {place} has no {absent}; expected {expected}; to get it: {dataset.get}")
    listing = layout.read(place)
    if not listing.rows:
        first = f", not even {listing.missing[0]}" if listing.missing else ""
        raise UserError(f"{dataset.name}: {place} has no images{first}; to get it: {dataset.get}")
    return listing, place


def _gap(dataset: Dataset, listing: Listing) -> str:
    """What a copy lacks, empty where it is complete."""
    if listing.missing:
        of = len(listing.rows) + len(listing.missing)
        return f"{len(listing.missing):,} of {of:,} images are not there, the first {listing.missing[0]}"
    found = Counter(row.part for row in listing.rows)
    for part, expected in dataset.parts.items():
        if found[part] != expected:
            word = "" if part == ALL else f"{SPLIT_WORDS[part]} "
            return f"{found[part]:,} {word}images where {expected:,} are expected"
    classes = len(_class_names(dataset, (row.label for row in listing.rows)))
    return "" if classes == dataset.classes else f"{classes:,} classes where {dataset.classes:,} are expected"


def _check_classes(dataset: Dataset, rows: Sequence[Row]) -> None:
    """Every class in every split, and more than one of them: nothing can be learned or scored otherwise."""
    classes = _class_names(dataset, (row.label for row in rows))
    if len(classes) < 2:
        raise UserError(f"{dataset.name}: all images are of one class ({', '.join(classes)}); two at least are needed")
    if dataset.test is None:
        return
    seen = Counter(
        (row.part, name) for row in rows for name in (shown_classes(row.label) if dataset.multi_label else [row.label])
    )
    for part, word in SPLIT_WORDS.items():
        empty = [name for name in classes if not seen[part, name]]
        if empty:
            more = f" and {len(empty) - 1} more classes" if len(empty) > 1 else ""
            raise UserError(
                f"{dataset.name}: no {word} image of {empty[0]}{more}; complete the data set: {dataset.get}"
            )


def _class_names(dataset: Dataset, labels: Iterable[str]) -> tuple[str, ...]:
    return class_names(labels) if dataset.multi_label else tuple(sorted(set(labels)))
