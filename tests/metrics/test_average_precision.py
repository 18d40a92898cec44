"""Eleven-point average precision against a plain loop over thresholds, and against hand-worked cases."""

import math
from fractions import Fraction

import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.metrics.average_precision import average_precision_11_point


def plain(scores: list[float], positive: list[bool], ignored: list[bool]) -> float:
    """One class: every score is a threshold, everything is counted anew for it, recall is a fraction."""
    rows = [row for row in zip(scores, positive, ignored, strict=True) if not row[2]]
    total = sum(row[1] for row in rows)
    curve = []
    for threshold in {row[0] for row in rows}:
        admitted = [row[1] for row in rows if row[0] >= threshold]
        curve.append((Fraction(sum(admitted), total), sum(admitted) / len(admitted)))
    points = [max((p for recall, p in curve if recall >= Fraction(tenth, 10)), default=0.0) for tenth in range(11)]
    return sum(points) / 11


def devkit_order(scores: list[float], positive: list[bool]) -> float:
    """The challenge's order, in which equal scores stay as in the file; all samples counted."""
    ranked = [positive[i] for i in sorted(range(len(scores)), key=lambda i: -scores[i])]
    found = [sum(ranked[: i + 1]) for i in range(len(ranked))]
    curve = [(Fraction(hits, sum(positive)), hits / (i + 1)) for i, hits in enumerate(found)]
    return sum(max(p for recall, p in curve if recall >= Fraction(tenth, 10)) for tenth in range(11)) / 11


def problem(n: int, c: int, levels: int | None, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Scores (rounded to so many levels), positives and ignored, with a positive in each class."""
    generator = Generator().manual_seed(seed + n)
    positives = torch.rand(n, c, generator=generator) < 0.3
    ignored = torch.rand(n, c, generator=generator) < 0.2
    positives[0], ignored[0] = True, False
    scores = torch.randn(n, c, generator=generator, dtype=torch.float64) + positives
    return (scores * levels).round() if levels else scores, positives, ignored


@pytest.mark.parametrize("levels", [None, 3, 1], ids=["distinct", "some ties", "many ties"])
@pytest.mark.parametrize(("n", "c"), [(1, 1), (7, 3), (60, 5), (200, 2)])
def test_equals_a_plain_loop(n: int, c: int, levels: int | None) -> None:
    scores, positives, ignored = problem(n, c, levels)
    for mask in (None, ignored):
        found = average_precision_11_point(scores, positives, mask)
        left_out = torch.zeros_like(positives) if mask is None else mask
        expected = [plain(*(t[:, j].tolist() for t in (scores, positives, left_out))) for j in range(c)]
        assert found.per_class == pytest.approx(expected, abs=1e-12)
        assert found.mean == pytest.approx(sum(expected) / c, abs=1e-12)


@pytest.mark.parametrize("levels", [None, 2])
def test_equals_the_curve_of_scikit_learn(levels: int | None) -> None:
    scores, positives, _ = problem(150, 3, levels)
    found = average_precision_11_point(scores, positives)
    for j, value in enumerate(found.per_class):
        precision, recall, _ = precision_recall_curve(positives[:, j], scores[:, j])
        # The last point, of recall 0 and precision 1, is not a threshold's.
        curve = list(zip(precision[:-1], recall[:-1], strict=True))
        points = [max(p for p, r in curve if r >= tenth / 10 - 1e-12) for tenth in range(11)]
        assert value == pytest.approx(sum(points) / 11, abs=1e-12)


def test_equals_the_order_of_the_challenge_where_no_positive_and_negative_tie() -> None:
    scores, positives, _ = problem(80, 4, levels=2)
    apart = scores + 0.1 * positives  # equal scores remain, within positives and within negatives
    assert any(len(apart[:, j].unique()) < 80 for j in range(4))
    found = average_precision_11_point(apart, positives).per_class
    assert found == pytest.approx([devkit_order(apart[:, j].tolist(), positives[:, j].tolist()) for j in range(4)])


def test_a_case_worked_by_hand() -> None:
    # Ranked + − + −: precision 1 up to recall ½ (tenths 0 to 5), then 2/3.
    scores = torch.tensor([[4.0], [3.0], [2.0], [1.0]])
    positives = torch.tensor([[True], [False], [True], [False]])
    assert average_precision_11_point(scores, positives).mean == pytest.approx((6 * 1 + 5 * 2 / 3) / 11)
    # All scores equal: the only threshold admits everything.
    assert average_precision_11_point(torch.zeros(4, 1), positives).mean == pytest.approx(0.5)
    # The first negative is ignored: as if it were not there.
    ignored = torch.tensor([[False], [True], [False], [False]])
    assert average_precision_11_point(scores, positives, ignored).mean == pytest.approx(1)


def test_a_recall_of_three_tenths_reaches_three_tenths() -> None:
    # 3 of 10 positives first, then 100 negatives, then the rest; 0.1 + 0.1 + 0.1 > 3/10 in floating point.
    positives = torch.tensor([True] * 3 + [False] * 100 + [True] * 7)[:, None]
    scores = torch.arange(110, 0, -1)[:, None]
    assert average_precision_11_point(scores, positives).mean == pytest.approx((4 * 1 + 7 * 10 / 110) / 11)


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30), st.randoms())
@examples(60)
def test_neither_order_nor_scale_matters(rows: list[tuple[int, bool]], random: object) -> None:
    rows = [*rows, (0, True)]
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]

    def value(these: list[tuple[int, bool]], scale: float) -> float:
        scores = torch.tensor([[row[0] * scale] for row in these])
        return average_precision_11_point(scores, torch.tensor([[row[1]] for row in these])).mean

    first = value(rows, 1.0)
    assert value(mixed, 1e30) == pytest.approx(first, abs=1e-12)
    assert 0 < first <= 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32])
def test_types_and_layout_do_not_matter(dtype: torch.dtype) -> None:
    scores, positives, ignored = problem(40, 3, levels=2)
    apart = torch.stack([scores, scores], dim=2).to(dtype)[:, :, 0]
    assert not apart.is_contiguous()
    expected = average_precision_11_point(scores, positives, ignored)
    assert average_precision_11_point(apart, positives, ignored) == expected


def test_infinite_scores_rank_first_and_last() -> None:
    scores = torch.tensor([[-math.inf], [math.inf], [0.0]])
    assert average_precision_11_point(scores, torch.tensor([[False], [True], [True]])).mean == 1


def test_bad_input_is_refused() -> None:
    scores, positives, ignored = problem(10, 3, None)
    broken = scores.clone()
    broken[2, 1] = math.nan
    none = positives.clone()
    none[:, 2] = False
    cases = [
        ((broken, positives), "NaN, which cannot be ranked"),
        ((scores[0], positives), "samples × classes"),
        ((scores[:0], positives[:0]), "samples × classes"),
        ((scores, positives.long()), "positives must be true or false"),
        ((scores, positives[:5]), "positives must be true or false"),
        ((scores, positives, ignored[:, :1]), "ignored must be true or false"),
        ((scores, none), "class 2 has no positive sample"),
        ((scores, positives, positives), "class 0 has no positive sample"),
    ]
    for arguments, message in cases:
        with pytest.raises(UserError, match=message):
            average_precision_11_point(*arguments)
