"""Opening a data set, and reporting which of its files exist or are missing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.decoding.decode import image_size, orientation, whole_pixels
from unseen.data.core.dense.labels import LabelReader, Labels, Objects, checked_map, checked_objects
from unseen.data.core.dense.turned import STEPS, turned_labels
from unseen.data.core.joined import joined_images
from unseen.data.core.manifest import Manifest
from unseen.data.core.multi_label import class_names, shown_classes
from unseen.data.core.rows import ALL, SPLIT_WORDS, Listing, Row
from unseen.data.core.source import Entry, ImageSource
from unseen.data.core.split_rules import split_rows
from unseen.errors import MissingDataError, UserError

SPLIT_SEED = "split seed"
"""The key in a source's `about` for the seed of its splits; manifests of features keep it."""
Images = tuple[ImageSource, Manifest]
"""A source, and the manifest that chooses and divides its images."""


@dataclass(frozen=True, eq=False)
class OpenDataset:
    """A data set found on disk: its images, their division into splits, and their labels.

    Attributes:
        manifest: in the order of the source, with splits "train", "val" and "test", or "all" if there are no splits. A
            test set of the shift study has one split, `Dataset.split`.
        reader: reads boxes or maps; classes are in the manifest.
        exif: whether images are turned by their EXIF orientation, and their labels with them. Labels in files are for
            the pixels as they are stored.
        unmatched: split → annotations that belong to no image, in words.
        notes: sentences to show.
        apart: splits with a source and a manifest of their own, as ImageNet-1K's test images have.
    """

    dataset: Dataset
    source: ImageSource
    manifest: Manifest
    reader: LabelReader | None = None
    exif: bool = False
    unmatched: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    apart: Mapping[str, Images] = field(default_factory=dict)

    def __repr__(self) -> str:
        images = ", ".join(f"{count:,} {split}" for split, count in self.rows.items())
        others = self.dataset.kind if self.dataset.dense else self.dataset.target
        labels = f"{self.dataset.classes:,} classes" if self.dataset.has_classes else others
        return f"OpenDataset({self.name}: {labels}, images: {images})"

    @property
    def name(self) -> str:
        return self.dataset.name

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """All classes: as named by the data set, or sorted; for images with several classes, the individual classes."""
        if self.dataset.names or not self.dataset.has_classes:
            return self.dataset.names
        labels = (entry.label for _, manifest in self.images for entry in manifest.entries)
        return _class_names(labels, several=self.dataset.multi_label)

    @cached_property
    def rows(self) -> Counter[str]:
        """Number of images of each split."""
        return Counter(split for _, manifest in self.images for split in manifest.splits)

    @property
    def _reader(self) -> LabelReader:
        if self.reader is None:
            raise ValueError(f"{self.name} has neither boxes nor maps")
        return self.reader

    @property
    def images(self) -> list[Images]:
        """All sources, each with its manifest."""
        return [(self.source, self.manifest), *self.apart.values()]

    def part(self, split: str) -> Images:
        """The source of a split, and the manifest that names its images."""
        return self.apart.get(split, (self.source, self.manifest))

    @cached_property
    def joined(self) -> Images:
        """All images in one source with one manifest; ImageNet-1K's training and test images come from two."""
        if not self.apart:
            return self.source, self.manifest
        parts = {"train": self.part("train"), "test": self.part("test")}
        together = joined_images({split: source for split, (source, _) in parts.items()})
        splits = [split for split, (source, _) in parts.items() for _ in source.entries]
        if all(len(manifest) == len(source.entries) for source, manifest in parts.values()):
            return together, Manifest(together.entries, splits)
        used = {f"{split}/{entry.id}" for split, (_, manifest) in parts.items() for entry in manifest.entries}
        rows = [(entry, split) for entry, split in zip(together.entries, splits, strict=True) if entry.id in used]
        return together, Manifest([entry for entry, _ in rows], [split for _, split in rows], self.manifest.limit)

    def numbers(self, split: str) -> list[int]:
        """Indices of the images of a split, in order."""
        return [number for number, part in enumerate(self.manifest.splits) if part == split]

    def pixels(self, number: int) -> NDArray[np.uint8]:
        """(h, w, 3) the whole image, turned as its labels are."""
        return whole_pixels(self.source.read(number), self.source.entries[number].id, exif=self.exif)

    def place(self, number: int) -> str:
        """Where the boxes or the map of an image are stored, for error messages."""
        return self._reader.place(number)

    def labels(self, number: int) -> Labels:
        """The boxes or the map of an image, checked against its size and the classes; errors name the file."""
        where, kind, classes = self.place(number), self.dataset.kind, len(self.classes)
        labels = self._reader.read(number)
        try:
            image = self.source.read(number)
            size, turn = image_size(image), orientation(image)
        except UserError as error:
            raise UserError(f"{self.source.entries[number].id}: {error}") from None
        sideways = STEPS[turn][0]
        checked: Labels
        if isinstance(labels, Objects):
            checked = checked_objects(labels, size, classes, where, sideways=sideways)
        else:
            checked = checked_map(kind, labels, size, classes, where, sideways=sideways)
        return turned_labels(checked, kind, turn, size) if self.exif and turn > 1 else checked


@dataclass(frozen=True)
class State:
    """What exists of a data set on disk, and a sentence on what is missing."""

    state: Literal["complete", "partial", "missing"]
    place: Path | None
    images: int
    reason: str


def open_dataset(dataset: Dataset, root: Path | None, *, seed: int = 0, partial: bool = False) -> OpenDataset:
    """Find a data set and split it; if it is missing or incomplete, the error says what to do.

    If there are several copies, for example below `root` and in a package, the first complete one is used; if none is
    complete, the one with the most images.

    Args:
        root: the folder of all data sets; None for those that come with packages.
        seed: seed of drawn splits. Published comparisons use seed 0.
        partial: use an incomplete copy. Every class must still occur in every split.
    """
    copy = _find_copy(dataset, root)
    if copy is None:
        folders = " or ".join(layout.folder for layout in dataset.layouts)
        below = f" below {root}" if root is not None else ""
        raise MissingDataError(str(_not_whole(dataset, f"not found; expected {folders}{below}")))
    if copy.listing is None:
        raise _not_whole(dataset, copy.fault)
    if copy.fault and not partial:
        instead = "" if dataset.shifted is None else ", or score what is there (partial)"
        raise _not_whole(dataset, f"{copy.place} is incomplete: {copy.fault}", instead)
    listing, rows = copy.listing, copy.listing.rows
    if dataset.shifted is not None:
        entries = [Entry(row.id, row.label) for row in rows]
        return OpenDataset(dataset, listing.open(), Manifest(entries, [dataset.split] * len(entries)))
    if dataset.has_classes:
        rows = _with_classes(dataset, rows, seed)
    try:
        source = listing.open()
    except UserError as error:
        raise _not_whole(dataset, str(error)) from None
    if listing.labels is None:
        source.about[SPLIT_SEED] = str(seed) if dataset.drawn else "none, as the authors' splits are taken"
    manifest = Manifest(source.entries, [row.part for row in rows])
    return OpenDataset(dataset, source, manifest, listing.labels, unmatched=listing.unmatched)


def _with_classes(dataset: Dataset, rows: Sequence[Row], seed: int) -> list[Row]:
    """The rows in their splits, which must have all classes."""
    divided = split_rows(rows, dataset.test, dataset.validation, seed, dataset.name, gaps=dataset.gaps)
    labels: dict[str, set[str]] = {}
    for row in divided:
        labels.setdefault(row.part, set()).add(row.label)
    remedy = f"complete the data set: {dataset.get}"
    check_classes(labels, dataset.name, remedy, several=dataset.multi_label, gaps=dataset.gaps)
    return divided


def examine(dataset: Dataset, root: Path | None) -> State:
    """What exists of a data set; its lists are read, its images only counted."""
    copy = _find_copy(dataset, root)
    if copy is None:
        return State("missing", None, 0, "")
    return State("partial" if copy.fault else "complete", copy.place, copy.images, copy.fault)


def check_classes(
    labels: Mapping[str, Collection[str]], where: str, remedy: str, *, several: bool, gaps: bool = False
) -> None:
    """Refuse splits that cannot be used for training or scoring.

    There must be at least two classes, and each must occur in every split, unless the data set has gaps: then two must
    have training images. If images have several classes, a class that every training image shows cannot be learned
    either.

    Args:
        labels: the distinct labels of each split, or of `all`.
        remedy: advice for a missing class.
        several: whether an image has several classes.
        gaps: whether classes may lack training or validation images (`Dataset.gaps`).
    """
    classes = _class_names((label for names in labels.values() for label in names), several=several)
    if len(classes) < 2:
        raise UserError(f"{where}: all images are of one class ({', '.join(classes)}); at least two are needed")
    if ALL in labels:
        return
    shown = {
        split: [set(shown_classes(label)) if several else {label} for label in names] for split, names in labels.items()
    }
    if gaps and len(set(labels.get("train", ()))) < 2:
        raise UserError(f"{where}: fewer than two classes have training images; {remedy}")
    for split, word in SPLIT_WORDS.items():
        empty = sorted(set(classes).difference(*shown.get(split, [])))
        if empty and (not gaps or not shown.get(split)):
            more = f" and {len(empty) - 1} more classes" if len(empty) > 1 else ""
            raise UserError(f"{where}: no {word} image of {empty[0]}{more}; {remedy}")
    always = sorted(set.intersection(*shown["train"]))
    if always:
        raise UserError(f"{where}: every training image shows {always[0]}; images without it are needed to learn it")


@dataclass(frozen=True)
class _Copy:
    """A folder of a data set: its images (None if they cannot be listed) and what is wrong with it, if anything."""

    place: Path
    listing: Listing | None
    fault: str

    @property
    def images(self) -> int:
        return len(self.listing.rows) if self.listing else 0


def _find_copy(dataset: Dataset, root: Path | None) -> _Copy | None:
    """The first complete copy, or else the copy with the most images. Copies after a complete one are not listed."""
    best = None
    for layout, place in dataset.find(root):
        copy = _list(dataset, layout, place)
        if not copy.fault:
            return copy
        if best is None or copy.images > best.images:
            best = copy
    return best


def _list(dataset: Dataset, layout: Layout, place: Path) -> _Copy:
    absent = next((name for name in layout.files if not (place / name).exists()), None)
    if absent is not None:
        return _Copy(place, None, f"{place} has no {absent}; expected {', '.join(layout.files)}")
    try:
        listing = layout.read(place)
    except UserError as error:
        return _Copy(place, None, str(error))
    if dataset.shifted is not None:
        listing = replace(
            listing, rows=[row._replace(part="test") for row in listing.rows if row.part in {ALL, "test"}]
        )
    if not listing.rows:
        first = f", not even {listing.missing[0]}" if listing.missing else ""
        return _Copy(place, None, f"{place} has no images{first}")
    return _Copy(place, listing, _gap(dataset, listing))


def _not_whole(dataset: Dataset, fault: str, instead: str = "") -> UserError:
    """An error that starts with the name of the data set, by which a run assigns notices to data sets.

    Args:
        instead: clause on what could be done instead of getting the data set.
    """
    return UserError(f"{dataset.name}: {fault}; to get it: {dataset.get}{instead}")


def _gap(dataset: Dataset, listing: Listing) -> str:
    """What a copy lacks; empty if it is complete."""
    if missing := listing.missing:
        total = len(listing.rows) + len(missing)
        return f"{len(missing):,} of {total:,} images are missing or empty; the first is {missing[0]}"
    counts = Counter(row.part for row in listing.rows)
    for part, expected in dataset.parts.items():
        if counts[part] != expected:
            word = "" if part == ALL else f"{SPLIT_WORDS[part]} "
            return f"{counts[part]:,} {word}images where {expected:,} are expected"
    if not dataset.has_classes:
        empty = next((SPLIT_WORDS[split] for split in ("train", "test") if not counts[split]), None)
        return f"no {empty} images" if empty else ""
    classes = len(_class_names((row.label for row in listing.rows), several=dataset.multi_label))
    return "" if classes == dataset.classes else f"{classes:,} classes where {dataset.classes:,} are expected"


def _class_names(labels: Iterable[str], *, several: bool) -> tuple[str, ...]:
    return class_names(labels) if several else tuple(sorted(set(labels)))
