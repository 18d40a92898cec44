"""Going through all bytes of features on request, whatever was noted of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError
from unseen.features.readers import SUFFIXES, read_features
from unseen.features.store import MANIFEST

OWN = ("train", "test")
"""What features of a user's own are called in the folder of a domain."""


@dataclass(frozen=True)
class Verdict:
    """What a full pass says of a store or file.

    Attributes:
        rows: how many it has; 0 where it cannot be read.
        problem: a sentence; empty where all is well.
    """

    place: Path
    rows: int
    problem: str = ""


def features_below(path: Path) -> list[Path]:
    """A store or file itself, or the stores and the files called `train` and `test` anywhere below a folder."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.is_file() or (path / MANIFEST).is_file():
        return [path]
    stores = [manifest.parent for manifest in path.rglob(MANIFEST)]
    files = [file for name in OWN for suffix in SUFFIXES for file in path.rglob(name + suffix) if file.is_file()]
    if not stores and not files:
        raise UserError(f"{path}: no features in it or below it")
    return sorted(stores + files)


def check_again(path: Path) -> Iterator[Verdict]:
    """Compare every byte of features at or below a path with its hash, one verdict for each store or file."""
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
