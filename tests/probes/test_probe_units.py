"""What fits keep of each test image: as others classify it, and as the probe's own accuracy counts it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.neighbors import KNeighborsClassifier
from torch import Tensor

from unseen.data.core.dense.labels import IGNORED, Objects
from unseen.metrics.boxes import Detections
from unseen.metrics.detection import box_matches, coco_scores, coco_scores_of, voc_scores, voc_scores_of
from unseen.metrics.from_units import ANGLE_EDGES, angle_scores, area_scores, class_iou, depth_means
from unseen.probes.by_name import feature_probes
from unseen.probes.by_name.dinov2_linear import DINOv2Linear
from unseen.probes.by_name.knn import KNN
from unseen.probes.by_name.linear import Linear
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.by_name.mlp import MLP
from unseen.probes.by_name.pca import PCA
from unseen.probes.by_name.ridge import Ridge
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.patches.codes import ClassCodes, DepthCodes, NormalCodes
from unseen.probes.patches.scoring import MapScorer
from unseen.probes.probe import Probe, ProbeData, ValidationData
from unseen.probes.protocol import LogisticProtocol, Setting
from unseen.probes.scored import ScoredProbe
from unseen.probes.units import CORRECT, ScoredImages, Units, arrays_hash, hit_units, ids_hash

QUICK = LogisticProtocol(name="cog-v2-short", epochs=2, trials=2, round_size=2, batch=64, rates=(1.0, 10.0))
FEW = ManyShotProtocol(name="ericsson-2021", weakest=1e-2, strongest=1e2, steps=3, tol=1e-9)
IMAGES = ScoredImages.unlabelled(("a", "b", "c"), 7)
CLASSES = 5


@dataclass(frozen=True)
class Nearest(ScoredProbe):
    """The similarity to the mean of a class."""

    name = "nearest"
    title = "the nearest mean"

    def scores(self, X_train: Tensor, y_train: Tensor, X_test: Tensor, classes: int, seed: int) -> NDArray[Any]:
        means = torch.stack([X_train[y_train == number].mean(dim=0) for number in range(classes)])
        return -torch.cdist(X_test, means).numpy()


def data(seed: int = 0) -> ProbeData:
    """Overlapping classes of 40 training and 30 test samples each."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(CLASSES, 8, generator=generator)
    parts = []
    for each in (40, 30):
        y = torch.arange(CLASSES).repeat(each)
        parts += [centres[y] + 1.2 * torch.randn(len(y), 8, generator=generator), y]
    return ProbeData(*parts, CLASSES)


def hits(units: Units | None) -> NDArray[np.bool_]:
    assert units is not None
    assert units.kind == "images"
    array: NDArray[np.bool_] = units.arrays[CORRECT]
    return array


PROBES = [
    KNN((1, 5, 20)), KNN((3, 150), weights="uniform"), Ridge(), Logistic(QUICK), PCA((2, 4), QUICK),
    MLP((8, 8), protocol=QUICK), MLP((8, 8), relu=False, protocol=QUICK), Linear(protocol=FEW), Nearest(),
    DINOv2Linear(steps=20), DINOv2Linear(steps=20, inputs=("cls1=4:8", "cls2=0:8")),
]  # fmt: skip


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
@pytest.mark.parametrize("shots", [None, 8])
def test_the_accuracy_is_the_mean_of_the_hits(probe: Probe, shots: int | None) -> None:
    assert probe.keeps_units
    fits = list(probe.fit(data(), [Setting(shots, 1)]))
    assert len(fits) == probe.variants(data())
    for fit in fits:
        assert dict(fit.values)["top1"] == hits(fit.units).mean()


def test_ties_are_counted_as_the_probe_counts_them() -> None:
    """All features are the same, so that every class has the same votes and scores."""
    same = replace(data(), X_train=torch.ones(CLASSES * 40, 8), X_test=torch.ones(CLASSES * 30, 8))
    for probe in (KNN(200), Ridge(), Nearest()):
        [fit] = probe.fit(same, [Setting(None, 0)])
        assert dict(fit.values)["top1"] == hits(fit.units).mean() == 1 / CLASSES


def test_probes_that_keep_units_say_so() -> None:
    keeping = {name for name, probe in feature_probes().items() if probe.keeps_units}
    assert keeping == {"centroids", "dinov2-linear", "knn", "linear", "logistic", "mlp", "pca", "retrieval", "ridge"}


@pytest.mark.parametrize("k", [1, 5, 20])
def test_neighbours_hit_what_scikit_learn_hits(k: int) -> None:
    of = data()
    [fit] = KNN(k, weights="uniform").fit(of, [Setting(None, 0)])
    model = KNeighborsClassifier(k, metric="cosine").fit(of.X_train, of.y_train)
    assert np.array_equal(hits(fit.units), model.predict(of.X_test) == of.y_test.numpy())


def test_ridge_hits_what_scikit_learn_hits() -> None:
    of = data()
    [fit] = Ridge().fit(of, [Setting(None, 0)])
    model = SklearnRidge(fit.details["penalty"]).fit(of.X_train.double(), np.eye(CLASSES)[of.y_train])
    assert np.array_equal(hits(fit.units), model.predict(of.X_test.double()).argmax(axis=1) == of.y_test.numpy())


@pytest.mark.parametrize("metric", ["top1", "mean-per-class"])
def test_the_linear_probe_hits_what_scikit_learn_hits(metric: Any) -> None:
    of, other = data(), data(1)
    held = ValidationData(other.X_test, other.y_test)
    [fit] = Linear(metric, FEW).fit(replace(of, validation=held), [Setting(None, 0)])
    X, y = torch.cat([of.X_train, other.X_test]).double(), torch.cat([of.y_train, other.y_test])
    model = LogisticRegression(C=1 / fit.details["penalty"], tol=1e-10, max_iter=10_000).fit(X, y)
    right = model.predict(of.X_test.double()) == of.y_test.numpy()
    assert np.array_equal(hits(fit.units), right)
    assert dict(fit.values)[metric] == pytest.approx(right.mean())  # all classes have as many images


def test_images_of_several_classes_keep_average_precisions() -> None:
    of = data()
    several = [torch.stack([y == 0, y < 3, y % 2 == 0], dim=1) for y in (of.y_train, of.y_test)]
    held = ValidationData(of.X_test, several[1])
    [fit] = Linear("map-11-point", FEW).fit(
        replace(of, y_train=several[0], y_test=several[1], classes=3, validation=held), [Setting(None, 0)]
    )
    assert fit.units is not None
    assert fit.units.kind == "classes"
    assert dict(fit.values)["map-11-point"] == pytest.approx(fit.units.arrays["average_precision"].mean(), abs=1e-12)


def test_hits_are_moved_from_the_device_once_and_are_bits() -> None:
    units = hit_units(torch.tensor([True] * 9 + [False]))
    assert units.in_details == {"images": 10, CORRECT: "/4A="}
    assert units.in_result == {}


def random_maps(count: int, classes: int = 3) -> list[tuple[Tensor, NDArray[np.uint8]]]:
    rng = np.random.default_rng(0)
    maps = []
    for number in range(count):
        truth = rng.integers(0, classes - 1, (9, 11), dtype=np.uint8)
        truth[: number + 1, 2] = IGNORED
        maps.append((torch.from_numpy(rng.integers(0, classes, (9, 11))), truth))
    maps[3][1][:] = IGNORED
    return maps


def scored(codes: Any, maps: list[tuple[Tensor, Any]]) -> MapScorer:
    scorer = MapScorer(codes, keeps_units=True)
    for predicted, truth in maps:
        scorer.add_map(predicted, truth)
    return scorer


def test_class_maps_are_scored_from_areas() -> None:
    maps = random_maps(7)
    scorer = scored(ClassCodes(3), maps)
    units = scorer.units(IMAGES)
    assert area_scores(units.arrays) == dict(scorer.scores())
    assert class_iou(units.arrays, 4)[:3].tolist() == list(scorer.class_iou)
    assert np.isnan(class_iou(units.arrays, 4)[3])
    assert int(units.arrays["images"]) == 7
    again = scored(ClassCodes(3), [maps[place] for place in (0, 0, 2, 5, 5, 5)])
    weights = np.bincount([0, 0, 2, 5, 5, 5], minlength=7)
    assert area_scores(units.arrays, weights) == pytest.approx(dict(again.scores()))


def test_depths_are_scored_from_the_errors_of_images() -> None:
    rng = np.random.default_rng(0)
    maps = [(torch.from_numpy(rng.random((5, 6)) + 1), rng.random((5, 6)) + 0.5) for _ in range(7)]
    maps[2][1][:] = 0
    scorer = scored(DepthCodes(), maps)
    units = scorer.units(IMAGES)
    assert np.isnan(units.arrays["rmse"]).tolist() == [number == 2 for number in range(7)]
    assert depth_means(units.arrays) == pytest.approx(dict(scorer.scores()), abs=1e-12)
    again = scored(DepthCodes(), [maps[place] for place in (1, 1, 6)])
    weights = np.bincount([1, 1, 2, 6], minlength=7)
    assert depth_means(units.arrays, weights) == pytest.approx(dict(again.scores()))


def test_normals_are_scored_from_sums() -> None:
    rng = np.random.default_rng(0)
    maps = []
    for _ in range(7):
        truth = rng.standard_normal((15, 16, 3))
        maps.append((torch.from_numpy(truth + rng.standard_normal(truth.shape)), truth))
    maps[1][1][:] = 0
    scorer = scored(NormalCodes(np.eye(3, dtype=np.float32)), maps)
    units = scorer.units(IMAGES)
    assert units.arrays["bins"].shape == (7, len(ANGLE_EDGES) - 1)
    expected, found = dict(scorer.scores()), angle_scores(units.arrays)
    assert found.pop("angle-median") == pytest.approx(expected.pop("angle-median"), abs=0.25)
    assert found == pytest.approx(expected, abs=1e-12)
    again = scored(NormalCodes(np.eye(3, dtype=np.float32)), [maps[place] for place in (0, 4, 4)])
    weighted = angle_scores(units.arrays, np.bincount([0, 4, 4], minlength=7))
    assert weighted["angle-mean"] == pytest.approx(dict(again.scores())["angle-mean"])


def test_opposite_normals_are_in_the_last_bin() -> None:
    truth = np.zeros((2, 2, 3))
    truth[..., 0] = 1
    units = scored(NormalCodes(np.eye(3, dtype=np.float32)), [(torch.from_numpy(-truth), truth)]).units(IMAGES)
    assert units.arrays["bins"][0].nonzero()[0].tolist() == [len(ANGLE_EDGES) - 2]
    assert angle_scores(units.arrays)["angle-mean"] == pytest.approx(180)


def test_boxes_of_some_images_are_scored_from_matches() -> None:
    """Images that count twice are as two copies of them."""
    rng = np.random.default_rng(1)
    truth, found = [], []
    for _ in range(9):
        low = rng.integers(0, 40, (4, 2))
        boxes = np.concatenate([low, low + rng.integers(10, 40, (4, 2))], axis=1).astype(float)
        ignored, crowd = rng.random((2, 4)) < 0.1
        truth.append(Objects.of(boxes, rng.integers(0, 2, 4), ignored=ignored, crowd=crowd))
        near = boxes[rng.integers(0, 4, 8)] + rng.normal(0, 2, (8, 4))
        found.append(Detections.of(near, rng.integers(0, 2, 8), rng.random(8)))
    matches, chosen = box_matches(truth, found, 3), [0, 1, 1, 4, 8, 8, 8]
    weights = np.bincount(chosen, minlength=9)
    for scores, scores_of in ((voc_scores, voc_scores_of), (coco_scores, coco_scores_of)):
        assert scores_of(matches).ap == scores(truth, found, 3).ap
        expected = scores([truth[place] for place in chosen], [found[place] for place in chosen], 3)
        assert scores_of(matches, weights).ap == pytest.approx(expected.ap)


def test_images_differ_in_what_is_known_of_both() -> None:
    labelled = ScoredImages.labelled(("a", "b", "c"), np.array([2, 0, 2]), ("x", "y", "z"))
    assert labelled.classes == ("a", "c")
    assert labelled.labels.tolist() == [1, 0, 1]
    assert labelled.ids == ids_hash(["x", "y", "z"]) != ids_hash(["xy", "z"])
    unlabelled = ScoredImages.unlabelled(("a", "c"), 3)
    assert labelled.difference(unlabelled) == ""
    assert "names" in labelled.difference(ScoredImages.unlabelled(("a", "c"), 3, "xyw"))
    with pytest.raises(ValueError, match="one class each"):
        _ = unlabelled.labels


def test_the_hash_of_arrays_is_of_all_that_they_are() -> None:
    array = np.arange(6)
    others = [{"b": array}, {"a": array.astype(np.int32)}, {"a": array.reshape(2, 3)}, {"a": array + 1}]
    assert len({arrays_hash(each) for each in [{"a": array}, *others]}) == 5
