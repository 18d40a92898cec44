"""The labels of test sets, stored beside the results, so that accuracies per concept need no features.

`tests/<content hash of the features>.npz` beside the folder of results, with `y` (n,), the class names `classes`, and
`ids`, the SHA-256 of the names of the images if the features have them.
"""

import hashlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.by_hash import load_unchanged
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.runs.results import Result

SLACK = 0.01
TESTS = "tests"


@dataclass(frozen=True, eq=False)
class KeptLabels:
    """The labels of a test set.

    Attributes:
        y: (n,) indices into `classes`.
        ids: hash of the names of the images, in order; empty if unknown.
    """

    classes: tuple[str, ...]
    y: NDArray[np.int64]
    ids: str = ""

    def difference(self, other: "KeptLabels") -> str:
        """The first difference between two test sets in anything that is known of both; empty if there is none."""
        if self.classes != other.classes:
            only = sorted({*self.classes} ^ {*other.classes})
            return f"the class {only[0]} is in one of them only" if only else "their classes have another order"
        if len(self.y) != len(other.y):
            return f"they have {len(self.y):,} and {len(other.y):,} images"
        if not np.array_equal(self.y, other.y):
            place = int(np.flatnonzero(self.y != other.y)[0])
            one, two = (self.classes[labels[place]] for labels in (self.y, other.y))
            return f"image {place} is of the class {one} in one of them and {two} in the other"
        return "the names of their images differ" if self.ids and other.ids and self.ids != other.ids else ""


def labels_place(results: Path, test: str) -> Path:
    """The path of the labels of test features with a hash, for a folder of results."""
    return results.parent / TESTS / f"{test}.npz"


def keep_labels(results: Path, places: Mapping[str, str]) -> None:
    """Write the labels of test sets that are not stored yet; test sets without features are skipped.

    Args:
        places: content hash of test features → file or folder.
    """
    for test, place in places.items():
        path = labels_place(results, test)
        if not path.exists() and Path(place).exists():
            _write(path, load_unchanged(test, place, read_features))


def _write(path: Path, features: Features) -> None:
    there, y = np.unique(features.y, return_inverse=True)
    classes = np.array([features.classes[index] for index in there], dtype=np.str_)
    with atomic_write(path) as file:
        np.savez_compressed(file, y=y.astype(np.int32), classes=classes, ids=np.array(_hash(features.ids)))


def _hash(ids: Sequence[str]) -> str:
    """SHA-256 of names in order, each followed by a zero byte; empty if there are none."""
    digest = hashlib.sha256()
    for name in ids:
        digest.update(name.encode(errors="surrogatepass") + b"\0")
    return digest.hexdigest() if len(ids) else ""


def labelled(results: Path, result: Result) -> tuple[KeptLabels, NDArray[np.bool_]]:
    """The labels of the test images of a result, and (n,) whether each was classified correctly.

    Args:
        results: folder of the result.
    """
    place, correct = labels_place(results, result.job["reads"]["test"]), correct_of(result)
    labels = read_labels(place)
    if len(labels.y) != len(correct):
        raise UserError(
            f"{place}: has labels of {len(labels.y)} images, but {result.key}.json has {len(correct)}; delete both "
            "files and run again with the features"
        )
    return labels, correct


def read_labels(path: Path) -> KeptLabels:
    """The labels of a test set."""
    if not path.exists():
        raise UserError(f"{path}: the labels of this test set were not stored; run again with its features")
    with reading(path, "labels of a test set", "delete it and run again with the features"):
        file = read_npz(path, ("classes", "y", "ids"))
        classes, y = tuple(map(str, file["classes"].tolist())), file["y"].astype(np.int64)
        ids = str(file["ids"]) if "ids" in file else ""  # files of earlier versions have none
        if y.ndim != 1 or len(y) == 0 or not np.isin(np.arange(len(classes)), y).all() or y.max() >= len(classes):
            raise ValueError("labels and classes do not match")
    return KeptLabels(classes, y, ids)


def correct_of(result: Result) -> NDArray[np.bool_]:
    """(n,) whether each test image was classified correctly, in the order of the test set.

    Results of earlier versions do not store it and are refused.
    """
    details = result.details
    if "correct" not in details:
        raise UserError(
            f"the result {result.key}.json does not store which images are classified correctly; delete it and run "
            "again"
        )
    try:
        bits = np.frombuffer(b64decode(details["correct"], validate=True), dtype=np.uint8)
        count = details["images"]
        if count < 1 or len(bits) != -(-count // 8):
            raise ValueError("the number of images differs")
        hits = np.unpackbits(bits, count=count).astype(bool)
        # Class scores that differ only by rounding may be ranked differently than by the probe.
        top1 = dict(result.fits[0].values).get("top1")
        if top1 is not None and not abs(top1 * count - hits.sum()) <= max(1, SLACK * count):
            raise ValueError("its accuracy differs from that of its own images")
        return hits
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"the result {result.key}.json is damaged ({error}); delete the file and run again") from None
