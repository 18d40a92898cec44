"""A full check of feature files on request, regardless of earlier checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError
from unseen.features.readers import SUFFIXES, read_features
from unseen.features.store import MANIFEST

OWN = ("train", "test")
"""File names of a user's own features in the folder of a domain."""


@dataclass(frozen=True)
class Verdict:
    """Result of the full check of a store or file.

    Attributes:
        rows: number of rows; 0 if it cannot be read.
        problem: a sentence; empty if nothing is wrong.
    """

    place: Path
    rows: int
    problem: str = ""


def features_below(path: Path) -> list[Path]:
    """The store or file at a path, or all stores and files named `train` and `test` below a folder."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.is_file() or (path / MANIFEST).is_file():
        return [path]
    stores = [manifest.parent for manifest in path.rglob(MANIFEST)]
    files = [file for name in OWN for suffix in SUFFIXES for file in path.rglob(name + suffix) if file.is_file()]
    if not stores and not files:
        raise UserError(f"{path}: contains no features")
    return sorted(stores + files)


def check_again(path: Path) -> Iterator[Verdict]:
    """Compare every byte of features at or below a path with its hash; one verdict per store or file."""
    for place in features_below(path):
        try:
            noted = read_features(place)
            features = read_features(place, again=True)
        except UserError as error:
            yield Verdict(place, 0, str(error))
            continue
        changed = noted.provenance["content_hash"] != features.provenance["content_hash"]
        problem = "its content changed, but neither its size nor its time of change did" if changed else ""
        yield Verdict(place, len(features), problem)
