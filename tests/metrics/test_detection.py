"""Average precision, against pycocotools, a plain loop written for the test, and cases computed by hand."""

import contextlib
import io

import numpy as np
import pytest

from unseen.data.core.dense.labels import Objects
from unseen.errors import UserError
from unseen.metrics.boxes import Detections, Floats, inside, overlaps
from unseen.metrics.detection import THRESHOLDS, best_f1_score, coco_scores, voc_scores


def random_scene(
    rng: np.random.Generator, classes: int = 3, images: int = 12, *, crowds: bool = True
) -> tuple[list[Objects], list[Detections]]:
    truth, found = [], []
    for _ in range(images):
        n, m = rng.integers(0, 6), rng.integers(0, 12)
        low = rng.integers(0, 60, (n, 2))
        boxes = np.concatenate([low, low + rng.integers(5, 40, (n, 2))], axis=1).astype(float)
        crowd = rng.random(n) < (0.15 if crowds else 0)
        truth.append(Objects.of(boxes, rng.integers(0, classes, n), crowd=crowd))
        near = boxes[rng.integers(0, n, m)] + rng.normal(0, 3, (m, 4)) if n else rng.random((m, 4)) * 50
        near = np.concatenate([near[:, :2], np.maximum(near[:, 2:], near[:, :2] + 2)], axis=1)
        found.append(Detections.of(near, rng.integers(0, classes, m), rng.random(m)))
    return truth, found


def xywh(box: Floats) -> list[float]:
    return [*box[:2], *(box[2:] - box[:2])]


@pytest.mark.parametrize("seed", range(6))
def test_coco_ap_is_that_of_pycocotools(seed: int) -> None:
    pycocotools = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    from pycocotools.cocoeval import COCOeval

    truth, found = random_scene(np.random.default_rng(seed))
    annotations = [
        {"image_id": i, "category_id": int(c), "bbox": xywh(box), "area": float(np.prod(box[2:] - box[:2])),
         "iscrowd": int(crowd), "id": 0}
        for i, one in enumerate(truth) for box, c, crowd in zip(one.boxes, one.classes, one.crowd, strict=True)
    ]  # fmt: skip
    annotations = [each | {"id": number + 1} for number, each in enumerate(annotations)]
    results = [
        {"image_id": i, "category_id": int(c), "bbox": xywh(box), "score": float(score)}
        for i, one in enumerate(found) for box, c, score in zip(one.boxes, one.classes, one.scores, strict=True)
    ]  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):
        reference = pycocotools.COCO()
        reference.dataset = {
            "images": [{"id": i} for i in range(len(truth))],
            "categories": [{"id": c} for c in range(3)],
            "annotations": annotations,
        }
        reference.createIndex()
        evaluation = COCOeval(reference, reference.loadRes(results), "bbox")
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, -1]
    per_threshold = np.array([row[row > -1].mean() for row in precision])
    scores = coco_scores(truth, found, 3)
    assert scores.ap == pytest.approx(per_threshold.mean(), abs=1e-12)
    assert scores.ap50 == pytest.approx(per_threshold[0], abs=1e-12)
    assert scores.ap75 == pytest.approx(per_threshold[5], abs=1e-12)


def plain_voc_ap(truth: list[Objects], found: list[Detections], number: int, limit: float) -> float:
    """The rules of PASCAL VOC's development kit, one detection at a time, with its pixels that are counted from 1.

    A detection that hits no object and lies in a crowd by more than the limit does not count.
    """
    taken = [[False] * len(one) for one in truth]
    rows = [
        (round(float(one.scores[k]), 3), i, one.boxes[k])
        for i, one in enumerate(found) for k in range(len(one)) if one.classes[k] == number
    ]  # fmt: skip
    rows.sort(key=lambda row: -row[0])
    positives = sum(
        int(one.classes[k] == number and not one.ignored[k] and not one.crowd[k])
        for one in truth for k in range(len(one))
    )  # fmt: skip
    tp = fp = 0
    curve = []
    for _, image, box in rows:
        best, which, crowded = 0.0, None, False
        one = truth[image]
        for j in range(len(one)):
            if one.classes[j] != number:
                continue
            other = one.boxes[j]
            a, b = ((each[0] + 1, each[1] + 1, each[2], each[3]) for each in (box, other))
            w = min(a[2], b[2]) - max(a[0], b[0]) + 1
            h = min(a[3], b[3]) - max(a[1], b[1]) + 1
            if w <= 0 or h <= 0:
                continue
            own, its = ((of[2] - of[0] + 1) * (of[3] - of[1] + 1) for of in (a, b))
            if one.crowd[j]:
                crowded = crowded or w * h / own > limit
                continue
            iou = w * h / (own + its - w * h)
            if iou > best:
                best, which = iou, j
        if (best > limit and one.ignored[which]) or (best <= limit and crowded):
            continue
        if best > limit and not taken[image][which]:
            taken[image][which] = True
            tp += 1
        else:
            fp += 1
        curve.append((tp / positives, tp / (tp + fp)))
    return sum(max((p for r, p in curve if r >= t / 10), default=0.0) for t in range(11)) / 11


@pytest.mark.parametrize("seed", range(4))
def test_voc_ap_follows_the_rules_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, found = random_scene(rng)
    truth = [Objects.of(one.boxes, one.classes, ignored=rng.random(len(one)) < 0.2, crowd=one.crowd) for one in truth]
    expected = [[plain_voc_ap(truth, found, c, limit) for limit in THRESHOLDS] for c in range(3)]
    scores = voc_scores(truth, found, 3)
    assert scores.by_class == pytest.approx([np.mean(row) for row in expected], abs=1e-12)
    assert scores.ap50 == pytest.approx(np.mean([row[0] for row in expected]), abs=1e-12)
    assert scores.ap75 == pytest.approx(np.mean([row[5] for row in expected]), abs=1e-12)


def test_a_crowd_is_neither_found_nor_missed() -> None:
    truth = [Objects.of([[0, 0, 10, 10], [20, 20, 60, 60]], [0, 0], crowd=[False, True])]
    hit, inside, across = [0, 0, 10, 10], [30, 30, 40, 40], [50, 50, 90, 60]
    for boxes, expected in ([hit], 1.0), ([inside, hit], 1.0), ([truth[0].boxes[1], hit], 1.0), ([across, hit], 0.5):
        found = [Detections.of(boxes, [0] * len(boxes), np.linspace(0.9, 0.1, len(boxes)))]
        assert voc_scores(truth, found, 1).ap50 == pytest.approx(expected), boxes
    # An object inside a crowd is still an object, and its detection a hit.
    truth = [Objects.of([[0, 0, 10, 10], [0, 0, 60, 60]], [0, 0], crowd=[False, True])]
    assert voc_scores(truth, [Detections.of([hit], [0], [1.0])], 1).ap == pytest.approx(1.0)


def test_voc_ap_by_hand() -> None:
    # Two objects of a class; detections by score: a hit, a second one on the same object, a hit on the other.
    truth = [Objects.of([[0, 0, 9, 9], [50, 50, 59, 59]], [0, 0])]
    found = [Detections.of([[0, 0, 9, 9], [0, 0, 9, 9], [50, 50, 59, 59]], [0, 0, 0], [0.9, 0.8, 0.7])]
    # Recall 0.5 at precision 1, recall 1 at precision 2/3: six recalls of 1, five of 2/3.
    assert voc_scores(truth, found, 1).ap == pytest.approx((6 + 5 * 2 / 3) / 11)


def test_an_overlap_of_exactly_the_threshold_is_no_hit_of_voc_but_one_of_coco() -> None:
    for scores, hits in ((voc_scores, 0.0), (coco_scores, 1.0)):
        half = [Detections.of([[0, 0, 10, 5]], [0], [1.0])]
        assert scores([Objects.of([[0, 0, 10, 10]], [0])], half, 1).ap50 == pytest.approx(hits)


def test_classes_without_objects_have_no_precision_and_do_not_lower_the_mean() -> None:
    truth = [Objects.of([[0, 0, 9, 9]], [1]), Objects.of([], [])]
    found = [Detections.of([[0, 0, 9, 9]], [1], [0.5]), Detections.of([[0, 0, 5, 5]], [0], [0.9])]
    for scores in (voc_scores(truth, found, 3), coco_scores(truth, found, 3)):
        assert scores.ap == pytest.approx(1.0)
        assert np.isnan(scores.by_class[0])


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(UserError, match="no object"):
        voc_scores([Objects.of([], [])], [Detections.of([], [], [])], 2)
    with pytest.raises(UserError, match="2 images"):
        coco_scores([Objects.of([], [])], [Detections.of([], [], [])] * 2, 2)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_f1_is_found_by_trying_every_score(seed: int) -> None:
    truth, found = random_scene(np.random.default_rng(seed))

    def f1(least: float) -> float:
        """Hits and misses counted one detection at a time, by the rules of `plain_voc_ap`."""
        hits, wrong, objects = 0, 0, 0
        for number in range(3):
            for one, detected in zip(truth, found, strict=True):
                mine = (one.classes == number) & ~one.crowd
                objects, taken = objects + int(mine.sum()), set[int]()
                own = np.flatnonzero((detected.classes == number) & (np.round(detected.scores, 3) >= least))
                for k in own[np.argsort(-np.round(detected.scores[own], 3), kind="stable")]:
                    ious = overlaps(detected.boxes[k : k + 1], one.boxes)[0] * mine
                    best = int(ious.argmax()) if mine.any() else -1
                    hit = best >= 0 and ious[best] > 0.5
                    crowds = one.boxes[(one.classes == number) & one.crowd]
                    if not hit and inside(detected.boxes[k : k + 1], crowds).max(initial=0) > 0.5:
                        continue
                    hits, wrong = hits + (hit and best not in taken), wrong + (not hit or best in taken)
                    taken |= {best} if hit else set()
        return 2 * hits / (hits + wrong + objects)

    every = sorted({round(float(score), 3) for one in found for score in one.scores})
    assert f1(best_f1_score(truth, found, 3)) == pytest.approx(max(map(f1, every)))


def test_without_hits_as_many_detections_are_drawn_as_there_are_objects() -> None:
    truth = [Objects.of([[0, 0, 5, 5], [9, 9, 12, 12]], [0, 1])]
    found = [Detections.of([[50, 50, 60, 60]] * 3, [0, 1, 0], [0.3, 0.2, 0.1])]
    assert best_f1_score(truth, found, 2) == 0.2
    assert best_f1_score(truth, [Detections.of([], [], [])], 2) == 0.0


def test_overlaps_of_boxes_without_area_are_zero() -> None:
    assert overlaps(np.zeros((1, 4)), np.zeros((1, 4))).tolist() == [[0.0]]
