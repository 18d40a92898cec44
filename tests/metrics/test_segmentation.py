"""Mean IoU and pixel accuracy, against torchmetrics and by hand."""

import math

import pytest
import torch

from unseen.errors import UserError
from unseen.metrics.segmentation import confusion, segmentation_scores


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_torchmetrics(seed: int) -> None:
    functional = pytest.importorskip("torchmetrics.functional.classification", reason="torchmetrics is not installed")
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randint(0, 5, (4, 20, 30), generator=generator)
    truth[torch.rand(truth.shape, generator=generator) < 0.1] = 255
    predicted = torch.randint(0, 5, truth.shape, generator=generator)
    counts = sum(confusion(p, t, 5) for p, t in zip(predicted, truth, strict=True))
    scores = segmentation_scores(counts)
    iou = functional.multiclass_jaccard_index(predicted, truth, num_classes=5, average=None, ignore_index=255)
    assert scores.iou == pytest.approx(iou.tolist(), abs=1e-6)
    assert scores.miou == pytest.approx(float(iou.mean()), abs=1e-6)
    right = functional.multiclass_accuracy(predicted, truth, num_classes=5, average="micro", ignore_index=255)
    assert scores.pixel_accuracy == pytest.approx(float(right), abs=1e-6)


def test_by_hand() -> None:
    counts = confusion(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1, 255]), 3)
    scores = segmentation_scores(counts)
    assert scores.iou[:2] == (0.5, 0.5)
    assert math.isnan(scores.iou[2])
    assert scores.miou == 0.5
    assert scores.pixel_accuracy == pytest.approx(2 / 3)


@pytest.mark.parametrize(("truth", "named"), [([0, 3], "label 3"), ([0, -1], "label -1")])
def test_labels_beyond_the_classes_are_named(truth: list[int], named: str) -> None:
    with pytest.raises(UserError, match=named):
        confusion(torch.tensor([0, 0]), torch.tensor(truth), 3)


def test_maps_of_other_sizes_and_maps_without_labels_are_refused() -> None:
    with pytest.raises(UserError, match=r"\(2, 3\)"):
        confusion(torch.zeros(2, 3, dtype=torch.long), torch.zeros(3, 2, dtype=torch.long), 2)
    with pytest.raises(UserError, match="labelled pixel"):
        segmentation_scores(confusion(torch.tensor([0]), torch.tensor([255]), 2))
