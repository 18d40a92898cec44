"""Scores of patch predictions at the size of the labels."""

import numpy as np
import pytest
import torch

from unseen.metrics.catalogue import METRICS
from unseen.probes.patches.codes import ClassCodes, DepthCodes, NormalCodes, patch_histograms
from unseen.probes.patches.scoring import MapScorer, upsampled


def test_true_shares_of_even_patches_give_the_map_back() -> None:
    labels = np.kron(np.array([[0, 1], [2, 0]], dtype=np.uint8), np.ones((8, 8), dtype=np.uint8))
    scorer = MapScorer(ClassCodes(3), (2, 2))
    predicted = scorer.add(torch.tensor(patch_histograms(labels.astype(np.int16), (2, 2), 3)), labels)
    assert predicted[0, 0] == 0
    assert predicted[-1, 0] == 2
    assert dict(scorer.scores())["pixel-accuracy"] > 0.8


def test_upsampling_is_that_of_centres() -> None:
    values = upsampled(torch.tensor([[0.0], [1.0]]), (1, 2), (1, 4))
    assert values.flatten().tolist() == pytest.approx([0, 0.25, 0.75, 1])


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        (ClassCodes(3), np.zeros((6, 6), dtype=np.uint8)),
        (NormalCodes(np.eye(3, dtype=np.float32)), np.tile(np.array([1, 0, 0], dtype=np.float32), (6, 6, 1))),
        (DepthCodes(), np.full((6, 6), 2.0, dtype=np.float32)),
    ],
)
def test_metrics_are_in_the_catalogue(codes: ClassCodes | NormalCodes | DepthCodes, labels: np.ndarray) -> None:
    scorer = MapScorer(codes, (2, 2))
    scorer.add(torch.tensor(patch_histograms(codes.encode(labels), (2, 2), codes.count)) / 9, labels)
    for name, value in scorer.scores():
        assert METRICS[name].lower <= value <= METRICS[name].upper
