"""Average precision of detected boxes: that of PASCAL VOC 2007 as Ericsson et al. 2021 average it, and that of COCO."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.dense.labels import Objects
from unseen.errors import UserError
from unseen.metrics.boxes import Bools, Detections, Floats, Ints, inside, overlaps

THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""Thresholds on intersection over union: 0.50, 0.55 … 0.95."""
COCO_RECALLS = np.linspace(0, 1, 101)
COCO_MOST = 100
"""Maximum number of detections per image and class, those with the highest scores."""
MISSED, HIT, SKIPPED = 0, 1, 2
"""What becomes of a detection at a threshold; one that is skipped does not count."""
Precision = Callable[[Ints, Floats | Ints, float], float]
"""The average precision of a class from `HIT`, `MISSED` or `SKIPPED` of detections in order of their scores, how often
each counts, and the number of objects."""


@dataclass(frozen=True)
class DetectionScores:
    """Average precisions, as means over the classes that have objects.

    Attributes:
        ap: mean over `THRESHOLDS`; `ap50` and `ap75` at two of them.
        by_class: mean over thresholds for each class; NaN for classes without objects.
    """

    ap: float
    ap50: float
    ap75: float
    by_class: tuple[float, ...]


def voc_scores(truth: Sequence[Objects], found: Sequence[Detections], classes: int) -> DetectionScores:
    """PASCAL VOC 2007's average precision at eleven recalls, averaged over ten thresholds (Ericsson et al. 2021, A.4).

    A detection is assigned to the object it overlaps most. It is a hit if the overlap is strictly above the threshold
    and no detection with a higher score has hit the object; detections of ignored (`difficult`) objects do not count.
    PASCAL VOC has no crowds; here, a detection that overlaps no object enough does not count either if the share of its
    area that lies in a crowd is above the threshold. The +1 in the widths and heights of VOC's own code is already in
    the edges of boxes. Scores are rounded to three decimals, with ties in the given order.
    """
    return voc_scores_of(box_matches(truth, found, classes, coco=False))


@dataclass(frozen=True, eq=False)
class _Matches:
    """The detections of a class in all images, by decreasing score.

    Attributes:
        objects: number of objects that count.
        overlap, place: the largest overlap with an object that is not a crowd, and a number for that object.
        ignored: whether that object is ignored.
        crowded: the largest share of the detection in a crowd.
    """

    objects: int
    scores: Floats
    overlap: Floats
    place: NDArray[np.int64]
    ignored: Bools
    crowded: Floats

    def at(self, limit: float) -> tuple[Bools, Bools]:
        """Which detections hit an object at a threshold on overlap, and which do not count."""
        close = self.overlap > limit
        skipped = np.where(close, self.ignored, self.crowded > limit)
        candidates = np.flatnonzero(close & ~skipped)
        hit = np.zeros(len(close), dtype=bool)
        hit[candidates[np.unique(self.place[candidates], return_index=True)[1]]] = True
        return hit, skipped


def _voc_matches(truth: Sequence[Objects], detections: Sequence[Detections], number: int) -> _Matches:
    objects, before = 0, 0
    scores, best, crowded = ([np.zeros(0)] for _ in range(3))
    place, ignored = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=bool)]
    for true, detected in zip(truth, detections, strict=True):
        mine, own = (true.classes == number) & ~true.crowd, detected.classes == number
        boxes, crowds = detected.boxes[own], true.boxes[(true.classes == number) & true.crowd]
        shared = overlaps(boxes, true.boxes[mine])
        scores.append(np.round(detected.scores[own], 3))
        # Without an object in the image, the overlap is 0 and the index is never used.
        nearest = shared.argmax(axis=1) if mine.any() else np.zeros(int(own.sum()), dtype=np.int64)
        best.append(shared.max(axis=1, initial=0.0))
        place.append(before + nearest)
        ignored.append(true.ignored[mine][nearest] if mine.any() else np.zeros(int(own.sum()), dtype=bool))
        crowded.append(inside(boxes, crowds).max(axis=1, initial=0.0))
        objects += int((mine & ~true.ignored).sum())
        before += int(mine.sum())
    order = np.argsort(-np.concatenate(scores), kind="stable")
    return _Matches(
        objects,
        np.concatenate(scores)[order],
        np.concatenate(best)[order],
        np.concatenate(place)[order],
        np.concatenate(ignored)[order],
        np.concatenate(crowded)[order],
    )


def _voc_precision(codes: Ints, weights: Floats | Ints, objects: float) -> float:
    """Average precision at eleven recalls, of detections sorted by score."""
    counted = (codes != SKIPPED) & (weights > 0)
    hits, detections = np.cumsum((weights * (codes == HIT))[counted]), np.cumsum(weights[counted])
    recall, precision = hits / objects, hits / detections
    return float(np.mean([precision[recall >= step / 10].max(initial=0.0) for step in range(11)]))


def best_f1_score(truth: Sequence[Objects], found: Sequence[Detections], classes: int, limit: float = 0.5) -> float:
    """The least score of the detections that agree best with the objects of all classes, by F1.

    Without any hit, it is the score from which on there are as many detections as objects.

    Args:
        limit: threshold on intersection over union.
    """
    _check(truth, found)
    matches = [_voc_matches(truth, found, number) for number in range(classes)]
    hits, skips = (np.concatenate(of) for of in zip(*(each.at(limit) for each in matches), strict=True))
    scores = np.concatenate([each.scores for each in matches])[~skips]
    order, objects = np.argsort(-scores, kind="stable"), sum(each.objects for each in matches)
    if not len(order):
        return 0.0
    scores, right = scores[order], np.cumsum(hits[~skips][order])
    if not right[-1]:
        return float(scores[min(max(objects, 1), len(scores)) - 1])
    f1 = 2 * right / (objects + np.arange(1, len(scores) + 1))
    last = np.append(scores[1:] < scores[:-1], True)  # detections of equal scores are drawn together or not at all
    return float(scores[last][f1[last].argmax()])


def coco_scores(truth: Sequence[Objects], found: Sequence[Detections], classes: int) -> DetectionScores:
    """COCO's average precision over boxes of all sizes: 101 recalls, at most 100 detections per image and class.

    In order of their scores, detections are matched to the unmatched object they overlap most, if the overlap reaches
    the threshold. Ignored objects and crowds are matched only if there is no other object, and such detections do not
    count.
    """
    return coco_scores_of(box_matches(truth, found, classes, voc=False))


def _coco_match(true: Objects, mine: NDArray[np.intp], boxes: Floats) -> tuple[Bools, Bools]:
    """(thresholds, n) whether each detection of an image is a hit, and whether it is ignored."""
    out = (true.ignored | true.crowd)[mine]
    # Objects that count come first; among equal overlaps, the reference implementation takes the last.
    mine = mine[np.argsort(out, kind="stable")]
    out, crowd = np.sort(out), true.crowd[mine]
    shared = overlaps(boxes, true.boxes[mine])
    shared = np.where(crowd[None, :], inside(boxes, true.boxes[mine]), shared)
    limits = np.minimum(np.array(THRESHOLDS), 1 - 1e-10)
    taken = np.zeros((len(limits), len(mine)), dtype=bool)
    hit, skip = (np.zeros((len(limits), len(boxes)), dtype=bool) for _ in range(2))
    for row, overlap in enumerate(shared):
        free = (~taken | crowd) & (overlap >= limits[:, None])
        for t in np.flatnonzero(free.any(axis=1)):
            candidates = np.flatnonzero(free[t] & ~out)
            if not len(candidates):
                candidates = np.flatnonzero(free[t])
            values = overlap[candidates]
            chosen = candidates[len(values) - 1 - int(values[::-1].argmax())]
            taken[t, chosen] = True
            (skip if out[chosen] else hit)[t, row] = True
    return hit, skip


def _coco_precision(codes: Ints, weights: Floats | Ints, objects: float) -> float:
    """Average precision at 101 recalls, of detections sorted by score."""
    counted = (codes != SKIPPED) & (weights > 0)
    hits, detections = np.cumsum((weights * (codes == HIT))[counted]), np.cumsum(weights[counted])
    recall, precision = hits / objects, hits / detections
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(recall, COCO_RECALLS, side="left")
    return float(np.mean(np.append(envelope, 0.0)[np.minimum(places, len(envelope))]))


@dataclass(frozen=True, eq=False)
class BoxMatches:
    """The detections in each image and which of them hit an object: what both average precisions are computed from.

    Detections are matched within their image, so the scores of any choice of images follow from these.

    Attributes:
        image, label, score: (n,) image, class and score of each detection, image by image in the given order.
        voc, coco: (n, thresholds) `HIT`, `MISSED`, or `SKIPPED` if a detection does not count; None if it was not
            matched in this way.
        objects: (images, classes) numbers of objects that count.
    """

    image: Ints
    label: Ints
    score: Floats
    voc: Ints | None
    coco: Ints | None
    objects: Ints


def box_matches(
    truth: Sequence[Objects], found: Sequence[Detections], classes: int, *, voc: bool = True, coco: bool = True
) -> BoxMatches:
    """Match the detections of all images, as `voc_scores` and as `coco_scores` describe."""
    _check(truth, found)
    counts = [len(each) for each in found]
    image, starts = np.repeat(np.arange(len(found)), counts), np.cumsum(counts) - counts
    label = np.concatenate([np.zeros(0, dtype=np.int64), *(each.classes for each in found)])
    score = np.concatenate([np.zeros(0), *(each.scores for each in found)])
    by_voc, by_coco = (np.full((len(label), len(THRESHOLDS)), SKIPPED, dtype=np.int8) for _ in range(2))
    objects = np.zeros((len(found), classes), dtype=np.int64)
    for place, true in enumerate(truth):
        counted = true.classes[~(true.ignored | true.crowd)]
        objects[place] = np.bincount(counted[counted < classes], minlength=classes)
    for number in range(classes):
        rows = np.flatnonzero(label == number)
        if voc and len(rows):
            matches = _voc_matches(truth, found, number)
            ranked = rows[np.argsort(-np.round(score[rows], 3), kind="stable")]
            for column, limit in enumerate(THRESHOLDS):
                hit, skipped = matches.at(limit)
                by_voc[ranked, column] = np.where(skipped, SKIPPED, hit)
        for own in np.split(rows, np.flatnonzero(np.diff(image[rows])) + 1) if coco and len(rows) else ():
            place = int(image[own[0]])
            best = own[np.argsort(-score[own], kind="stable")][:COCO_MOST]
            true, boxes = truth[place], found[place].boxes[best - starts[place]]
            hit, skipped = _coco_match(true, np.flatnonzero(true.classes == number), boxes)
            by_coco[best] = np.where(skipped, SKIPPED, hit).T
    return BoxMatches(image, label, score, by_voc if voc else None, by_coco if coco else None, objects)


def voc_scores_of(matches: BoxMatches, weights: Floats | Ints | None = None) -> DetectionScores:
    """The scores of `voc_scores` from matches.

    Args:
        weights: (images,) how often each image counts; by default once.
    """
    assert matches.voc is not None
    return _scores_of(matches, matches.voc, np.round(matches.score, 3), _voc_precision, weights)


def coco_scores_of(matches: BoxMatches, weights: Floats | Ints | None = None) -> DetectionScores:
    """The scores of `coco_scores` from matches; arguments as in `voc_scores_of`."""
    assert matches.coco is not None
    return _scores_of(matches, matches.coco, matches.score, _coco_precision, weights)


def _scores_of(
    matches: BoxMatches, codes: Ints, score: Floats, precision: Precision, weights: Floats | Ints | None
) -> DetectionScores:
    images, classes = matches.objects.shape
    often = np.ones(images, dtype=np.int64) if weights is None else weights
    tables = list[Floats | None]()
    for number in range(classes):
        objects = float(often @ matches.objects[:, number])
        rows = np.flatnonzero(matches.label == number)
        rows = rows[np.argsort(-score[rows], kind="stable")]
        own = codes[rows], often[matches.image[rows]]
        tables.append(np.array([precision(each, own[1], objects) for each in own[0].T]) if objects else None)
    return _scores(tables)


def _check(truth: Sequence[Objects], detections: Sequence[Detections]) -> None:
    if len(truth) != len(detections):
        raise UserError(f"detections of {len(detections):,} images for the objects of {len(truth):,}")


def _scores(tables: Sequence[Floats | None]) -> DetectionScores:
    known = [table for table in tables if table is not None]
    if not known:
        raise UserError("no object to score: no image has a box of any class that counts")
    mean = np.mean(known, axis=0)
    at = {limit: float(mean[THRESHOLDS.index(limit)]) for limit in (0.5, 0.75)}
    by_class = tuple(nan if table is None else float(table.mean()) for table in tables)
    return DetectionScores(float(mean.mean()), at[0.5], at[0.75], by_class)
