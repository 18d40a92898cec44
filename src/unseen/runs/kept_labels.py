"""The images of test sets, stored beside the results, so that what results keep of each image needs no features.

`tests/NAME.npz` beside the folder of results, where the name is that of what determines the test set in the job
(`images_name`). The file has the class names `classes`; `ids`, the SHA-256 of the names of the images in order, if
they are known; and `y` (n,), or where images do not have one class each, the number of `images`.
"""

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.multi_label import class_names
from unseen.errors import UserError
from unseen.features.by_hash import load_unchanged
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.files import is_plain_name
from unseen.probes.units import CORRECT, ScoredImages
from unseen.probes.vectors import LABELS, RANKING, SEVERAL
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.runs.results import TESTS, Result, images_name, write_images

SLACK = 0.01
AGAIN = "delete it and the result, and run again"


def labels_place(results: Path, reads: Mapping[str, Any]) -> Path:
    """The path of the test images of a job, for a folder of results.

    Args:
        reads: what the job reads.
    """
    name = images_name(reads)
    if not is_plain_name(name):
        raise UserError(f"{results}: a result names no test set; delete it and run again")
    return results.parent / TESTS / f"{name}.npz"


def keep_labels(results: Path, jobs: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the labels of test sets that are not stored yet; test sets without features are skipped.

    Args:
        jobs: file or folder of test features → what a job on them reads.
    """
    for place, reads in jobs.items():
        path = labels_place(results, reads)
        if not path.exists() and Path(place).exists():
            features = load_unchanged(reads["test"], place, read_features)
            write_images(path, _images(features, str(reads.get(LABELS, ""))))


def _images(features: Features, kind: str) -> ScoredImages:
    if kind == RANKING:
        return ScoredImages.unlabelled((), len(features), features.ids)
    if kind == SEVERAL:
        return ScoredImages.unlabelled(class_names(features.classes), len(features), features.ids)
    return ScoredImages.labelled(features.classes, features.y, features.ids)


def labelled(results: Path, result: Result) -> tuple[ScoredImages, NDArray[np.bool_]]:
    """The test images of a result with their labels, and (n,) whether each was classified correctly.

    Args:
        results: folder of the result.
    """
    place, correct = labels_place(results, result.job["reads"]), correct_of(result)
    images = read_labels(place)
    refuse_other_count(place, images, len(correct), result)
    return images, correct


def refuse_other_count(place: Path, images: ScoredImages, count: int, result: Result) -> None:
    """Refuse a file of test images that has more or fewer than a result."""
    if images.count != count:
        raise UserError(
            f"{place}: has labels of {images.count} images, but {result.key}.json has {count}; delete both files and "
            "run again"
        )


def read_labels(path: Path) -> ScoredImages:
    """The images of a test set."""
    if not path.exists():
        raise UserError(f"{path}: the labels of this test set were not stored; delete the result and run again")
    with reading(path, "labels of a test set", AGAIN):
        file = read_npz(path, ("classes", "y", "ids", "images"))
        classes, ids = tuple(map(str, file["classes"].tolist())), str(file["ids"]) if "ids" in file else ""
        if "y" not in file:
            return ScoredImages(classes, None, ids, int(file["images"]))
        y = file["y"].astype(np.int64)
        if y.ndim != 1 or len(y) == 0 or not np.isin(np.arange(len(classes)), y).all() or y.max() >= len(classes):
            raise ValueError("labels and classes do not match")
    return ScoredImages(classes, y, ids, len(y))


def correct_of(result: Result, fit: int = 0) -> NDArray[np.bool_]:
    """(n,) whether each test image was classified correctly, in the order of the test set.

    Results of earlier versions do not store it and are refused.

    Args:
        fit: number of the fit in the result.
    """
    details = result.fits[fit].details
    if CORRECT not in details:
        raise UserError(
            f"the result {result.key}.json does not store which images are classified correctly; delete it and run "
            "again"
        )
    try:
        bits = np.frombuffer(b64decode(details[CORRECT], validate=True), dtype=np.uint8)
        count = details["images"]
        if count < 1 or len(bits) != -(-count // 8):
            raise ValueError("the number of images differs")
        hits = np.unpackbits(bits, count=count).astype(bool)
        top1 = dict(result.fits[fit].values).get("top1")
        if top1 is not None and not abs(top1 * count - hits.sum()) <= _most_apart(result, count):
            raise ValueError("its accuracy differs from that of its own images")
        return hits
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"the result {result.key}.json is damaged ({error}); delete the file and run again") from None


def _most_apart(result: Result, count: int) -> float:
    """How many images an accuracy may differ from its hits by."""
    # Earlier versions scored the logistic regression twice, and scores that differ only by rounding are ranked
    # differently.
    return max(1.0, SLACK * count) if result.is_of("logistic") else 0.5
