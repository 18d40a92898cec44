"""What results keep of each unit of their test sets, checked against their scores: the one way to read it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.detection import BoxMatches, coco_scores_of, voc_scores_of
from unseen.metrics.from_units import Weights, angle_scores, area_scores, depth_means, known_means
from unseen.metrics.severity import linearised_mistakes
from unseen.probes.job import FITS
from unseen.probes.units import CORRECT, SMALL, UNITS, ScoredImages, UnitKind, arrays_hash
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.runs.data import RunData
from unseen.runs.kept_labels import correct_of, labels_place, read_labels, refuse_other_count
from unseen.runs.results import RESULTS, Result, beside_path, read_result, reading_result
from unseen.runs.score import Score

ROUNDING = 1e-9
TOLERANCE = {"angle-median": 1.0}
"""How far a metric may be from its value, if it is not known exactly: the widest bin of angles, in degrees."""
AGAIN = "delete it and the result, and run again"
ReadImages = Callable[[Path], ScoredImages]
NAMES: dict[UnitKind, tuple[str, ...]] = {
    "images": (CORRECT,),
    "classes": ("average_precision",),
    "episodes": ("right", "queries"),
    "areas": ("images", "image", "label", "correct", "predicted", "labelled"),
    "angles": ("total", "pixels", "within", "bins"),
    "depths": ("rmse", "delta1"),
    "boxes": ("shape", "image", "label", "score", "voc", "coco", "object_image", "object_label", "objects"),
    "queries": (),
    "mistakes": (),
}
"""The arrays of each kind; those of queries and mistakes have the names of their metrics."""


@dataclass(frozen=True, eq=False)
class KeptUnits:
    """What a fit keeps of each unit of its test set.

    Attributes:
        variant: name of the fit in scores.
        arrays: as in `unseen.probes.units.Units`.
        images: the images of the test set; None for episodes.
        identity: what is the same for two fits only if their units are: the hash of the names of the images, or of the
            labels that episodes are drawn from; empty if unknown.
        scores: metric → value, for the metrics that the units determine.
        ways: classes of each episode; None for other units.
    """

    variant: str
    shots: int | None
    seed: int
    kind: UnitKind
    arrays: Mapping[str, NDArray[Any]]
    images: ScoredImages | None
    identity: str
    scores: Mapping[str, float]
    ways: int | None = None

    def values(self, metric: str) -> NDArray[Any] | None:
        """(n,) one number per unit, of which the score is the mean: hits, shares of right queries, precisions.

        Queries that do not count are left out; mistakes are linearised, so that all images count
        (`unseen.metrics.severity`). None for maps and boxes, whose scores are no means over images.
        """
        if self.kind == "episodes":
            return np.asarray(self.arrays["right"] / self.arrays["queries"])
        if self.kind == "queries":
            return np.asarray(self.arrays[metric][~np.isnan(self.arrays[metric])])
        if self.kind == "mistakes":
            return linearised_mistakes(self.arrays[metric])
        return self.arrays[NAMES[self.kind][0]] if self.kind in SMALL else None

    def rescored(self, weights: Weights | None = None) -> dict[str, float]:
        """The scores if each image, class or episode counts so often: (n,) weights, by default 1."""
        return unit_scores(self.kind, self.arrays, self.images, weights)


def kept_units(results: Path, result: Result, images_at: ReadImages = read_labels) -> list[KeptUnits]:
    """What each fit of a result keeps; fits that keep nothing are left out (`why_no_units`).

    Files that are missing or damaged, and units that do not give the scores of their fit, are refused.

    Args:
        results: folder of the result.
        images_at: reads the file of a test set; a cached one saves time and memory if many results share it.
    """
    with reading_result(result):
        described = [fit.get(UNITS) for fit in result.values[FITS]]
    found = list[KeptUnits]()
    for number, (fit, of) in enumerate(zip(result.fits, described, strict=True)):
        if of is None and CORRECT not in fit.details:
            continue
        kind: UnitKind
        arrays: Mapping[str, NDArray[Any]]
        if of is None:
            kind, arrays = "images", {CORRECT: correct_of(result, number)}
        else:
            with reading_result(result):
                kind = _kind(of["kind"])
                arrays = {name: np.array(of[name]) for name in NAMES[kind]} if kind in SMALL else {}
            if kind not in SMALL:
                arrays = _beside(results, result, number, str(of.get("sha256", "")))
        images = (
            None
            if kind == "episodes"
            else _images(images_at, labels_place(results, result.job["reads"]), result, kind, arrays)
        )
        with reading_result(result):
            identity = str((of or {}).get("identity", "")) or (images.ids if images else "")
            scores = dict(fit.values)
            determined = unit_scores(kind, arrays, images)
            for metric in determined.keys() & scores.keys():
                near = TOLERANCE.get(metric, ROUNDING)
                if metric != "top1" and not isclose(determined[metric], scores[metric], rel_tol=ROUNDING, abs_tol=near):
                    raise ValueError(f"its {metric} differs from that of its own images")
            own = {metric: scores[metric] for metric in scores if metric in determined}
        ways = fit.details.get("ways") if kind == "episodes" else None
        found.append(KeptUnits(fit.variant, fit.shots, fit.seed, kind, arrays, images, identity, own, ways))
    return found


def result_behind(run: RunData, score: Score) -> tuple[Path, Result] | None:
    """The result that a score is from and the folder of results that it is in; None for scores of others.

    Args:
        run: a run, or several merged ones, in which backbones and domains may have other names than in results.
    """
    for folder in run.folders if score.key else ():
        result = read_result(folder / RESULTS, score.key)
        # Two folders may have the same job with other digits, as after trainings on GPUs.
        if result is not None and _has(result, score):
            return folder / RESULTS, result
    return None


def _has(result: Result, score: Score) -> bool:
    return any(fit.variant == score.probe and dict(fit.values).get(score.metric) == score.value for fit in result.fits)


def why_no_units(result: Result) -> str:
    """Why a result keeps nothing of each image, in one sentence that says what to do."""
    job = result.job
    return (
        f"{job['probe']} of {job['backbone']} on {job['dataset']} keeps no values of single images: its result is from "
        "an earlier version, or was exported without them, or this probe has none; run it again"
    )


def unit_scores(
    kind: UnitKind,
    arrays: Mapping[str, NDArray[Any]],
    images: ScoredImages | None,
    weights: Weights | None = None,
) -> dict[str, float]:
    """The metrics that the units of a fit determine, by name.

    Args:
        weights: (n,) how often each unit counts; by default once.
    """
    if kind == "images":
        return _accuracies(arrays[CORRECT], images, weights)
    if kind == "boxes":
        return _precisions(box_matches_of(arrays), weights)
    of_kind: dict[UnitKind, Callable[[Mapping[str, NDArray[Any]], Weights | None], dict[str, float]]] = {
        "classes": _class_mean, "episodes": _episode_mean, "areas": area_scores, "angles": angle_scores,
        "depths": depth_means, "queries": known_means, "mistakes": known_means,
    }  # fmt: skip
    return of_kind[kind](arrays, weights)


def _class_mean(arrays: Mapping[str, NDArray[Any]], weights: Weights | None) -> dict[str, float]:
    return {"map-11-point": float(np.average(arrays["average_precision"], weights=weights))}


def _episode_mean(arrays: Mapping[str, NDArray[Any]], weights: Weights | None) -> dict[str, float]:
    return {"top1": float(np.average(arrays["right"], weights=weights) / arrays["queries"][0])}


def box_matches_of(arrays: Mapping[str, NDArray[Any]]) -> BoxMatches:
    """The matches of boxes from what is kept of them."""
    objects = np.zeros(arrays["shape"], dtype=np.int64)
    objects[arrays["object_image"], arrays["object_label"]] = arrays["objects"]
    own = {name: arrays[name].astype(np.int64) for name in ("image", "label")}
    return BoxMatches(
        **own, score=arrays["score"].astype(np.float64), voc=arrays["voc"], coco=arrays["coco"], objects=objects
    )


def _accuracies(hits: NDArray[np.bool_], images: ScoredImages | None, weights: Weights | None) -> dict[str, float]:
    scores = {"top1": float(np.average(hits, weights=weights))}
    if images is None or images.y is None:
        return scores
    often = np.ones(len(hits)) if weights is None else weights
    right, every = (np.bincount(images.y, each, len(images.classes)) for each in (hits * often, often))
    return scores | {"mean-per-class": float((right[every > 0] / every[every > 0]).mean())}


def _precisions(matches: BoxMatches, weights: Weights | None) -> dict[str, float]:
    found = dict[str, float]()
    for prefix, scores in (("", voc_scores_of(matches, weights)), ("coco-", coco_scores_of(matches, weights))):
        found |= {f"{prefix}{name}": float(getattr(scores, name)) for name in ("ap", "ap50", "ap75")}
    return found


def _kind(name: object) -> UnitKind:
    if name not in get_args(UnitKind):
        raise ValueError(f"units of an unknown kind, {name!r}")
    return cast("UnitKind", name)


def _beside(results: Path, result: Result, fit: int, sha256: str) -> dict[str, NDArray[Any]]:
    """The arrays of a fit in the file beside its result."""
    path = beside_path(results, result.key)
    if not path.is_file():
        raise UserError(f"{path}: what {result.key}.json keeps of each image is missing; delete the result, run again")
    with reading(path, "what a result keeps of each image", AGAIN):
        whole, first = read_npz(path), f"{fit}/"
        arrays = {name.removeprefix(first): array for name, array in whole.items() if name.startswith(first)}
        if arrays_hash(arrays) != sha256:
            raise ValueError("its contents are not those of the result")
    return arrays


def _images(
    images_at: ReadImages, place: Path, result: Result, kind: UnitKind, arrays: Mapping[str, NDArray[Any]]
) -> ScoredImages:
    images = images_at(place)
    if kind == "classes" and len(images.classes) != len(arrays["average_precision"]):
        raise UserError(f"{place}: names other classes than {result.key}.json; delete both files and run again")
    for count in _counts(kind, arrays):
        refuse_other_count(place, images, count, result)
    return images


def _counts(kind: UnitKind, arrays: Mapping[str, NDArray[Any]]) -> Iterator[int]:
    """The number of images, where the arrays say it."""
    if kind in ("images", "angles", "depths"):
        yield len(arrays[NAMES[kind][0]])
    if kind in ("queries", "mistakes"):
        yield from map(len, arrays.values())
    if kind in ("areas", "boxes"):
        yield int(arrays["images"] if kind == "areas" else arrays["shape"][0])
