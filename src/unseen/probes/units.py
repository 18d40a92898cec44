"""What a fit keeps of each unit of its test set: the images it gets right, or sums from which its scores follow.

With them, two backbones can be compared image by image, and the interval of a score can be computed from a resample of
images. A new kind of probe fills in `Fit.units`; how units are written and read is not its concern
(`unseen.runs.results`, `unseen.runs.kept_units`).
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.many_shot import Labels

UnitKind = Literal["images", "classes", "episodes", "areas", "angles", "depths", "boxes", "queries", "mistakes"]
SMALL: tuple[UnitKind, ...] = ("images", "classes", "episodes")
"""Kinds of a few KB, which are a part of the result; the arrays of the others are in a file beside it."""
CORRECT = "correct"
"""Name of the (n,) hits of the kind "images"."""
UNITS = "units"
"""Name of the entry of a fit with units other than images."""
BESIDE = "beside"
"""Name of the entry of the values of a job with what is written beside its result."""


@dataclass(frozen=True, eq=False)
class ScoredImages:
    """The images of a test set, in order.

    Attributes:
        classes: names; with `y`, those that an image has.
        y: (n,) indices into `classes`; None if images do not have one class each.
        ids: SHA-256 of the names of the images, in order; empty if unknown.
        count: number of images.
    """

    classes: tuple[str, ...]
    y: NDArray[np.int64] | None
    ids: str
    count: int

    @classmethod
    def labelled(cls, classes: Sequence[str], y: NDArray[np.integer], ids: Iterable[str] = ()) -> Self:
        """Images with one class each, by indices into `classes`; classes without an image are left out."""
        there, own = np.unique(y, return_inverse=True)
        return cls(tuple(classes[index] for index in there.tolist()), own.astype(np.int64), ids_hash(ids), len(y))

    @classmethod
    def unlabelled(cls, classes: Sequence[str], count: int, ids: Iterable[str] = ()) -> Self:
        """Images that do not have one class each."""
        return cls(tuple(classes), None, ids_hash(ids), count)

    @property
    def labels(self) -> NDArray[np.int64]:
        """(n,) indices into `classes`, of images with one class each."""
        if self.y is None:
            raise ValueError("these images do not have one class each")
        return self.y

    def difference(self, other: "ScoredImages") -> str:
        """The first difference between two test sets in anything that is known of both; empty if there is none."""
        if self.classes != other.classes:
            only = sorted({*self.classes} ^ {*other.classes})
            return f"the class {only[0]} is in one of them only" if only else "their classes have another order"
        if self.count != other.count:
            return f"they have {self.count:,} and {other.count:,} images"
        if self.y is not None and other.y is not None and not np.array_equal(self.y, other.y):
            place = int(np.flatnonzero(self.y != other.y)[0])
            one, two = (self.classes[labels[place]] for labels in (self.y, other.y))
            return f"image {place} is of the class {one} in one of them and {two} in the other"
        return "the names of their images differ" if self.ids and other.ids and self.ids != other.ids else ""


def ids_hash(ids: Iterable[str]) -> str:
    """SHA-256 of names in order, each followed by a zero byte; empty if there are none."""
    digest, some = hashlib.sha256(), False
    for name in ids:
        digest.update(name.encode(errors="surrogatepass") + b"\0")
        some = True
    return digest.hexdigest() if some else ""


@dataclass(frozen=True, eq=False)
class Units:
    """What a fit keeps of each unit.

    | kind | arrays |
    | --- | --- |
    | images | `correct` (n,): whether each test image is classified correctly, as the accuracy of the probe counts it |
    | classes | `average_precision` (c,) |
    | episodes | `right` (episodes,) correct queries of each, out of `queries` (1,) |
    | areas, angles, depths | sums over the pixels of each image (`unseen.metrics.from_units`) |
    | queries | under the name of each metric (n,) its value for each query, NaN for queries that do not count |
    | mistakes | under the name of a metric (n,) its value for each image, NaN for images that do not count |
    | boxes | the detections of each image and which of them hit (`unseen.metrics.detection.BoxMatches`) |

    Attributes:
        images: the images, if the features of the job do not say which they are.
        identity: a hash of what was drawn, of episodes.
    """

    kind: UnitKind
    arrays: Mapping[str, NDArray[Any]]
    images: ScoredImages | None = None
    identity: str = ""

    @property
    def in_result(self) -> dict[str, Any]:
        """Its part of a fit in a result, as JSON; of images, hits are in the details of the fit."""
        if self.kind == "images":
            return {}
        described: dict[str, Any] = {"kind": self.kind}
        if self.identity:
            described["identity"] = self.identity
        if self.kind in SMALL:
            return {UNITS: described | {name: each.tolist() for name, each in self.arrays.items()}}
        return {UNITS: described | {"sha256": arrays_hash(self.arrays)}}

    @property
    def in_details(self) -> dict[str, Any]:
        """Of images, the number of `images`, and `correct` in base64, eight per byte (50,000 take 8 KB)."""
        if self.kind != "images":
            return {}
        hits = self.arrays[CORRECT]
        return {"images": len(hits), CORRECT: b64encode(np.packbits(hits).tobytes()).decode()}


@dataclass(frozen=True, eq=False)
class Beside:
    """What is written beside a result.

    Attributes:
        arrays: by number of the fit and name, `0/correct`.
        images: the images of the test set, if a fit names them.
    """

    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    images: ScoredImages | None = None

    @classmethod
    def of(cls, units: Sequence[Units | None]) -> Self:
        """What is written beside the result of these fits."""
        large = {
            f"{number}/{name}": array
            for number, each in enumerate(units)
            if each is not None and each.kind not in SMALL
            for name, array in each.arrays.items()
        }
        return cls(large, next((each.images for each in units if each is not None and each.images is not None), None))


def arrays_hash(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of arrays: their names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + b"\0")
        digest.update(array.tobytes())
    return digest.hexdigest()


def hit_units(hits: "Tensor | NDArray[np.bool_]", images: ScoredImages | None = None) -> Units:
    """Units of a probe that classifies: (n,) whether each test image is classified correctly, on any device."""
    right = hits if isinstance(hits, np.ndarray) else hits.cpu().numpy()
    return Units("images", {CORRECT: right.astype(np.bool_)}, images)


def class_units(scores: "Tensor", labels: "Labels", images: ScoredImages | None = None) -> Units:
    """Units of (n, c) class scores: hits, or for images of several classes the average precision of each class."""
    from unseen.metrics.accuracy import top_k_hits
    from unseen.metrics.average_precision import average_precision_11_point

    if not labels.multi_label:
        return hit_units(top_k_hits(scores, labels.y.to(scores.device), 1), images)
    precision = average_precision_11_point(scores, labels.y.bool(), labels.ignored).per_class
    return Units("classes", {"average_precision": np.array(precision)}, images)


def smallest(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """The same non-negative whole numbers in the smallest type."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
