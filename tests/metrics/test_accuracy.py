"""Accuracies against scikit-learn's, over shapes, types and classes of unequal size."""

import math

import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, top_k_accuracy_score
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.metrics.accuracy import mean_per_class_accuracy, top_k_accuracy, top_k_correct


def scored(n: int, c: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Scores and labels of unequal classes, with every class there."""
    generator = Generator().manual_seed(n + c)
    y = torch.cat([torch.arange(c), torch.randint(c, (n - c,), generator=generator) ** 2 % c])
    scores = torch.randn(n, c, generator=generator)
    scores[torch.arange(n), y] += 1
    return scores.to(dtype), y


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "c"), [(40, 3), (200, 12), (13, 13)])
def test_top_k_equals_scikit_learn(n: int, c: int, dtype: torch.dtype) -> None:
    scores, y = scored(n, c, dtype)
    for k in range(1, c):
        expected = top_k_accuracy_score(y, scores.double(), k=k, labels=range(c))
        assert float(top_k_accuracy(scores, y, k)) == pytest.approx(expected, abs=1e-15)
        assert int(top_k_correct(scores, y, k)) == round(expected * n)
    assert float(top_k_accuracy(scores, y, c)) == float(top_k_accuracy(scores, y, c + 7)) == 1


@pytest.mark.parametrize(("n", "c"), [(40, 3), (200, 12), (13, 13), (5, 1)])
def test_mean_per_class_equals_scikit_learn(n: int, c: int) -> None:
    scores, y = scored(n, c)
    expected = balanced_accuracy_score(y, scores.argmax(dim=1)) if c > 1 else 1.0
    assert float(mean_per_class_accuracy(scores, y)) == pytest.approx(expected, abs=1e-12)


def test_classes_without_samples_are_not_averaged_over() -> None:
    scores = torch.eye(4)[[0, 0, 0, 3]]
    y = torch.tensor([0, 0, 3, 3])
    assert float(mean_per_class_accuracy(scores, y)) == pytest.approx((1 + 1 / 2) / 2)


def test_a_rare_class_weighs_as_much_as_a_common_one() -> None:
    y = torch.tensor([0] * 99 + [1])
    scores = torch.tensor([1.0, 0.0]).expand(100, 2)
    assert float(top_k_accuracy(scores, y)) == pytest.approx(0.99)
    assert float(mean_per_class_accuracy(scores, y)) == pytest.approx(0.5)


def test_leading_dimensions_are_separate_classifiers() -> None:
    stack = torch.stack([scored(60, 5)[0], torch.zeros(60, 5), -scored(60, 5)[0]])
    y = scored(60, 5)[1]
    for metric in (top_k_accuracy, mean_per_class_accuracy):
        assert metric(stack, y).tolist() == [float(metric(scores, y)) for scores in stack]
        assert metric(stack[:, None], y).shape == (3, 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_with_a_score_that_is_not_finite_are_wrong_in_searches_and_have_no_accuracy(bad: float) -> None:
    scores, y = torch.eye(3).repeat(4, 1), torch.arange(3).repeat(4)
    scores[5, 0] = bad
    assert int(top_k_correct(scores, y, 3)) == 11
    for metric in (top_k_accuracy, mean_per_class_accuracy):
        with pytest.raises(UserError, match="not all finite"):
            metric(scores, y)


def test_layout_and_type_of_labels_do_not_matter() -> None:
    scores, y = scored(50, 6)
    apart = torch.stack([scores, scores], dim=2)[:, :, 0]
    assert not apart.is_contiguous()
    for labels in (y.to(torch.uint8), y.int()):
        assert top_k_accuracy(apart, labels, 2) == top_k_accuracy(scores, y, 2)
        assert mean_per_class_accuracy(apart, labels) == mean_per_class_accuracy(scores, y)


def test_bad_input_is_refused() -> None:
    scores, y = scored(20, 4)
    for metric in (top_k_accuracy, mean_per_class_accuracy):
        for labels, message in [
            (y[:-1], r"shape \(20, 4\) do not match labels of shape \(19,\)"),
            (y.float(), "class indices from 0 to 3"),
            (y + 1, "class indices from 0 to 3"),
            (y - 1, "class indices from 0 to 3"),
        ]:
            with pytest.raises(UserError, match=message):
                metric(scores, labels)
        with pytest.raises(UserError, match="do not match"):
            metric(scores[:0], y[:0])
    with pytest.raises(UserError, match="k of at least 1, not 0"):
        top_k_accuracy(scores, y, 0)
