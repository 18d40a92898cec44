"""The labels of test sets, kept beside the results: who asks which concepts a model gets right needs no features.

`tests/<content hash of the features>.npz` beside the folder of results, with `y` (n,) and `classes`, their names.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.features import Features
from unseen.files import atomic_write
from unseen.jobs.feature_pair import Load, load_unchanged

TESTS = "tests"


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
        np.savez_compressed(file, y=y.astype(np.int32), classes=classes)


def read_labels(path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the classes, and the index of each test image's."""
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            classes, y = tuple(map(str, file["classes"].tolist())), file["y"].astype(np.int64)
        if y.ndim != 1 or len(y) == 0 or not np.isin(np.arange(len(classes)), y).all() or y.max() >= len(classes):
            raise ValueError("labels and classes do not go together")
    except FileNotFoundError:
        raise UserError(f"{path}: the labels of this test set were not kept; run again with its features") from None
    except Exception as error:  # a damaged archive fails in many ways
        raise UserError(f"{path}: damaged ({error}); delete it and run again with the features") from None
    return classes, y
