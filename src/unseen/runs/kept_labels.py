"""The labels of test sets, kept beside the results: who asks which concepts a model gets right needs no features.

`tests/<content hash of the features>.npz` beside the folder of results, with `y` (n,), `classes`, their names, and
`ids`, the SHA-256 of the images' names where features have them.
"""

import hashlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.by_hash import Load, load_unchanged
from unseen.features.features import Features
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.runs.results import Result

SLACK = 0.01
TESTS = "tests"


@dataclass(frozen=True, eq=False)
class KeptLabels:
    """Whose the images of a test set are.

    Attributes:
        y: (n,) indices into `classes`.
        ids: hash of the images' names, in order; empty where it is not known.
    """

    classes: tuple[str, ...]
    y: NDArray[np.int64]
    ids: str = ""

    def same_images(self, other: "KeptLabels") -> bool:
        """Whether all that is known of two test sets is the same, image by image."""
        known = not self.ids or not other.ids or self.ids == other.ids
        return known and self.classes == other.classes and np.array_equal(self.y, other.y)


def labels_place(results: Path, test: str) -> Path:
    """Where the labels of the test features of that hash are kept, for results in a folder."""
    return results.parent / TESTS / f"{test}.npz"


def keep_labels(results: Path, places: Mapping[str, str], load: Load) -> None:
    """Write the labels of test sets that are not kept yet; features that are no longer there are passed over.

    Args:
        places: content hash of test features → file or folder.
    """
    for test, place in places.items():
        path = labels_place(results, test)
        if not path.exists() and Path(place).exists():
            _write(path, load_unchanged(test, place, load))


def _write(path: Path, features: Features) -> None:
    there, y = np.unique(features.y, return_inverse=True)
    classes = np.array([features.classes[index] for index in there], dtype=np.str_)
    with atomic_write(path) as file:
        np.savez_compressed(file, y=y.astype(np.int32), classes=classes, ids=np.array(_hash(features.ids)))


def _hash(ids: Sequence[str]) -> str:
    """Of names in order, each ended by a zero byte; empty where there are none."""
    digest = hashlib.sha256()
    for name in ids:
        digest.update(name.encode(errors="surrogatepass") + b"\0")
    return digest.hexdigest() if len(ids) else ""


def labelled(results: Path, result: Result) -> tuple[KeptLabels, NDArray[np.bool_]]:
    """The labels of the images that a result was tested on, and (n,) which of them it has right.

    Args:
        results: folder that the result is in.
    """
    place, correct = labels_place(results, result.job["test"]), correct_of(result)
    labels = read_labels(place)
    if len(labels.y) != len(correct):
        raise UserError(f"{place}: labels of {len(labels.y)} images, but {result.key}.json is about {len(correct)}")
    return labels, correct


def read_labels(path: Path) -> KeptLabels:
    """The labels of a test set."""
    if not path.exists():
        raise UserError(f"{path}: the labels of this test set were not kept; run again with its features")
    with reading(path, "labels of a test set", "delete it and run again with the features"):
        file = read_npz(path, ("classes", "y", "ids"))
        classes, y = tuple(map(str, file["classes"].tolist())), file["y"].astype(np.int64)
        ids = str(file["ids"]) if "ids" in file else ""  # files from before this was kept
        if y.ndim != 1 or len(y) == 0 or not np.isin(np.arange(len(classes)), y).all() or y.max() >= len(classes):
            raise ValueError("labels and classes do not go together")
    return KeptLabels(classes, y, ids)


def correct_of(result: Result) -> NDArray[np.bool_]:
    """(n,) which test images a result has right, in the order of the test set.

    Results of runs before this was kept do not say.
    """
    if "correct" not in result.values:
        raise UserError(f"the result {result.key}.json does not say which images were right; delete it and run again")
    try:
        bits = np.frombuffer(b64decode(result.values["correct"], validate=True), dtype=np.uint8)
        count = result.values["images"]
        if count < 1 or len(bits) != -(-count // 8):
            raise ValueError("another number of images")
        hits = np.unpackbits(bits, count=count).astype(bool)
        # Scores that are equal but for the order of a sum may be told apart otherwise than the probe did.
        if "top1" in result.values and not abs(result.values["top1"] * count - hits.sum()) <= max(1, SLACK * count):
            raise ValueError("its accuracy is not that of its own images")
        return hits
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"the result {result.key}.json is damaged ({error}); delete the file and run again") from None
