"""Scores of patch predictions at the size of the labels."""

import numpy as np
import pytest
import torch

from unseen.metrics.catalogue import METRICS
from unseen.probes.patches import scoring
from unseen.probes.patches.codes import ClassCodes, DepthCodes, NormalCodes, patch_histograms
from unseen.probes.patches.scoring import (
    MapScorer,
    best_and_worst,
    image_score,
    map_prediction,
    picture_name,
    upsampled,
)


def test_true_shares_of_even_patches_give_the_map_back() -> None:
    labels = np.kron(np.array([[0, 1], [2, 0]], dtype=np.uint8), np.ones((8, 8), dtype=np.uint8))
    scorer = MapScorer(ClassCodes(3))
    shares = torch.tensor(patch_histograms(labels.astype(np.int16), (2, 2), 3))
    predicted = map_prediction(shares, (2, 2), labels.shape, scorer.codes)
    scorer.add_map(predicted, labels)
    assert predicted[0, 0] == 0
    assert predicted[-1, 0] == 2
    assert dict(scorer.scores())["pixel-accuracy"] > 0.8


def test_upsampling_is_that_of_centres() -> None:
    values = upsampled(torch.tensor([[0.0], [1.0]]), (1, 2), (1, 4))
    assert values.flatten().tolist() == pytest.approx([0, 0.25, 0.75, 1])


@pytest.mark.parametrize("codes", [ClassCodes(7), NormalCodes(np.eye(3, dtype=np.float32)), DepthCodes()])
def test_maps_are_predicted_as_from_all_shares(
    codes: ClassCodes | NormalCodes | DepthCodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = torch.rand(12, codes.count, generator=torch.Generator().manual_seed(0)).softmax(1)
    expected = codes.decode(upsampled(shares, (3, 4), (20, 30)))
    for some in (1, 2, 5):
        monkeypatch.setattr(scoring, "UPSAMPLED", some * 20 * 30 * 4)
        assert torch.allclose(map_prediction(shares, (3, 4), (20, 30), codes), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        (ClassCodes(3), np.zeros((6, 6), dtype=np.uint8)),
        (NormalCodes(np.eye(3, dtype=np.float32)), np.tile(np.array([1, 0, 0], dtype=np.float32), (6, 6, 1))),
        (DepthCodes(), np.full((6, 6), 2.0, dtype=np.float32)),
    ],
)
def test_metrics_are_in_the_catalogue(codes: ClassCodes | NormalCodes | DepthCodes, labels: np.ndarray) -> None:
    scorer = MapScorer(codes)
    shares = torch.tensor(patch_histograms(codes.encode(labels), (2, 2), codes.count)) / 9
    scorer.add_map(map_prediction(shares, (2, 2), labels.shape[:2], codes), labels)
    for name, value in scorer.scores():
        assert METRICS[name].allows(value)


def test_the_best_images_come_first_and_the_worst_last() -> None:
    scored = [(0.1 * place, place) for place in (3, 0, 7, 1, 5, 2, 6)]
    assert best_and_worst(scored) == [7, 6, 5, 2, 1, 0]
    assert best_and_worst(scored[:4]) == [7, 3, 1, 0]
    assert best_and_worst([]) == []


@pytest.mark.parametrize(
    ("images", "names"),
    [(1, "o"), (2, "bw"), (3, "bow"), (4, "bbww"), (5, "bboww"), (6, "bbbwww"), (9, "bbbwww")],
)
def test_at_most_half_of_few_images_are_the_best(images: int, names: str) -> None:
    shown = best_and_worst([(float(image), image) for image in range(images)])
    assert len(set(shown)) == len(shown) == len(names)
    found = [picture_name(place, len(shown)) for place in range(len(shown))]
    assert [name.partition("-")[2][0] for name in found] == [*names]
    assert found == sorted(found, key=lambda name: (len(name), name))  # the order on pages


def test_an_image_is_scored_by_itself() -> None:
    labels = np.array([[0, 1], [1, 255]], dtype=np.uint8)
    predicted = torch.zeros(2, 2, dtype=torch.int64)
    assert image_score(ClassCodes(2), predicted, labels) == pytest.approx((1 / 3 + 0) / 2)
    assert image_score(ClassCodes(2), predicted, np.full((2, 2), 255, dtype=np.uint8)) is None


def test_a_missed_object_is_worse_than_one_that_is_mostly_found() -> None:
    missed, found = np.zeros((10, 10), dtype=np.uint8), np.zeros((10, 10), dtype=np.uint8)
    missed[0, :5], found[:5] = 1, 1
    nothing, most = torch.zeros(10, 10, dtype=torch.int64), torch.as_tensor(found).long()
    most[4] = 0
    scores = [image_score(ClassCodes(2), *pair) for pair in ((nothing, missed), (most, found))]
    assert scores == pytest.approx([0.95 / 2, (40 / 50 + 50 / 60) / 2])  # with pixel accuracies of 0.95 and 0.9
