"""One list of images for all backbones: the id, class and split of each image."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Self

from unseen.data.core.source import Entry, ImageSource
from unseen.data.core.splits import Splits
from unseen.errors import UserError
from unseen.files import read_table, write_table

COLUMNS = ("id", "class", "split")


@dataclass(frozen=True)
class Manifest:
    """The chosen images, in the order of their source, and the split of each ("train", "test", or any word).

    Attributes:
        limit: maximum number of images per class and split, if others were left out for a quick look.
        contents: hash of the contents of all images, if known, as for a user's own data sets.
    """

    entries: Sequence[Entry]
    splits: Sequence[str]
    limit: int | None = None
    contents: str = ""

    def __len__(self) -> int:
        return len(self.splits)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over all (id, class, split), in order, preceded by the hash of their contents if known."""
        digest = hashlib.sha256(self.contents.encode())
        for row in self._rows():
            digest.update(("\t".join(row) + "\n").encode())
        return digest.hexdigest()

    def write(self, path: str | PathLike[str]) -> None:
        """Write a CSV file with the columns id, class, split."""
        write_table(Path(path), COLUMNS, self._rows())

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a CSV file; an image that occurs twice is an error."""
        path = Path(path)
        entries: list[Entry] = []
        splits: list[str] = []
        seen: set[str] = set()
        for line, row in read_table(path, COLUMNS):
            id_, label, split = (row[name] for name in COLUMNS)
            if not (id_ and label and split) or id_ in seen:
                raise UserError(f"{path}, line {line}: {id_ or 'an image'} occurs twice, or a field is empty")
            seen.add(id_)
            entries.append(Entry(id_, label))
            splits.append(split)
        if not entries:
            raise UserError(f"{path}: contains no images")
        return cls(entries, splits)

    def numbers(self, source: ImageSource, split: str | None = None) -> list[int]:
        """Indices in a source of the images of a split, or of all images, in the order of the manifest.

        An image that the source lacks, or has under another class, is an error.
        """
        rows = zip(self.entries, self.splits, strict=True)
        wanted = {entry.id: entry.label for entry, word in rows if split in {None, word}}
        positions: dict[str, int] = {}
        for number, entry in enumerate(source.entries):
            label = wanted.get(entry.id)
            if label is None:
                continue
            if label != entry.label:
                raise UserError(f"{entry.id} is of class {label} in the manifest, but {entry.label} in the images")
            positions[entry.id] = number
        if len(positions) < len(wanted):
            missing = [id_ for id_ in wanted if id_ not in positions]
            raise UserError(f"{missing[0]}: not among the images ({len(missing):,} of {len(wanted):,} are not)")
        return [positions[id_] for id_ in wanted]

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for entry, split in zip(self.entries, self.splits, strict=True):
            yield entry.id, entry.label, split


def whole(source: ImageSource, split: str) -> Manifest:
    """All images of a source, in one split."""
    return Manifest(source.entries, [split] * len(source.entries))


def drawn(source: ImageSource, splits: Splits) -> Manifest:
    """The images of a source that some splits name, by class and file name.

    Other images and classes are left out; an image that is named but missing from the source is an error.
    """
    side = {
        (label, name): word
        for label, split in splits.classes.items()
        for word, names in (("train", split.train), ("test", split.test))
        for name in names
    }
    entries: list[Entry] = []
    words: list[str] = []
    for entry in source.entries:
        word = side.pop((entry.label, entry.id.rpartition("/")[2]), None)
        if word is not None:
            entries.append(entry)
            words.append(word)
    if side:
        label, name = next(iter(side))
        raise UserError(
            f"{splits.source}: {name} of {label} is in the splits but not among the images ({len(side):,} are missing)"
        )
    return Manifest(entries, words)
