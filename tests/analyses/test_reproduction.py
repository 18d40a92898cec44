"""Verifying against published numbers: the rule on numbers, and the table it is read from."""

import math

import pandas as pd
import pytest

from unseen.analyses.reproduction import Compared, compare, tolerance, verdict
from unseen.errors import UserError
from unseen.papers import published
from unseen.runs.score import Score
from unseen.runs.tables import score_table, summarise

ALL = {"in1k": 75.8, "l1": 67.9, "l2": 63.1, "l3": 59.0, "l4": 58.1, "l5": 52.0}
"""What seed 000 reports of ResNet-50 with all samples; its text and tables agree."""
IMAGES = dict.fromkeys(ALL, 50_000)


def summary(points: float, domains: dict[str, float] = ALL, shots: int | None = None) -> pd.DataFrame:
    """Five seeds around the published numbers, shifted by some points."""
    scores = [
        Score("concepts", "cog-v2", "r50", domain, "logistic", shots, seed, metric, (value + points + spread) / 100)
        for domain, value in domains.items()
        for seed, spread in enumerate((-0.1, -0.05, 0.0, 0.05, 0.1))
        for metric in ("top1", "top5")
    ]
    return summarise(score_table(scores))


def test_the_published_numbers_themselves_agree() -> None:
    rows = compare(summary(0.0), published("cog-v2"), IMAGES)
    assert {row.domain: row.published for row in rows} == ALL
    assert all(abs(row.difference) < 1e-9 and row.agrees for row in rows)
    assert verdict(rows) == "All 6 accuracies agree with the published ones."


@pytest.mark.parametrize("points", [-0.3, 0.3])
def test_a_third_of_a_point_is_chance(points: float) -> None:
    assert all(row.agrees for row in compare(summary(points), published("cog-v2"), IMAGES))


@pytest.mark.parametrize("points", [-1.5, 1.5])
def test_a_point_and_a_half_is_not(points: float) -> None:
    rows = compare(summary(points), published("cog-v2"), IMAGES)
    assert not any(row.agrees for row in rows)
    assert verdict(rows).startswith("6 of 6 accuracies differ too much, most of all in1k with all samples")


def test_few_shots_are_compared_with_their_own_column() -> None:
    [row] = compare(summary(0.0, {"l1": 25.9}, shots=1), published("cog-v2"), IMAGES)
    assert (row.shots, row.published, row.agrees) == ("1", 25.9, True)


def test_the_tolerance_is_three_standard_errors() -> None:
    assert tolerance(50.0, (0.0, 0.0), 5, 50_000, same_images=True) == pytest.approx(0.3)
    # Two accuracies of 0.5 on 50,000 images each: the variance of their difference is 2 · 0.25 / 50,000 = 1e-5.
    assert tolerance(50.0, (0.0, 0.0), 5, 50_000, same_images=False) == pytest.approx(0.3 + 300 * math.sqrt(1e-5))
    # A deviation of 0.5 points over five seeds on either side, nothing else.
    assert tolerance(50.0, (0.5, 0.5), 5, 50_000, same_images=True) == pytest.approx(0.3 + 3 * math.sqrt(0.1))


def test_one_seed_is_as_uncertain_as_a_published_one() -> None:
    single = [Score("concepts", "cog-v2", "r50", "in1k", "logistic", None, 0, "top1", 0.758)]
    numbers = published("cog-v2").assign(deviation=0.5)
    [row] = compare(summarise(score_table(single)), numbers, IMAGES)
    assert row.tolerance == pytest.approx(0.3 + 3 * math.sqrt(0.25 / 5 + 0.25))


def test_small_test_sets_are_allowed_more() -> None:
    few = compare(summary(1.5), published("cog-v2"), dict.fromkeys(ALL, 500))
    assert [row.agrees for row in few] == [row.domain != "in1k" for row in few]


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(UserError, match="none of these scores"):
        compare(summary(0.0, {"l7": 50.0}), published("cog-v2"), {"l7": 1})


def test_a_difference_is_measured_minus_published() -> None:
    row = Compared("l1", "all", 60.0, 67.9, 1.0)
    assert row.difference == pytest.approx(-7.9)
    assert not row.agrees
