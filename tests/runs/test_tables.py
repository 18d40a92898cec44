"""Tables of scores against SciPy and values worked out by hand."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unseen.errors import UserError
from unseen.metrics.catalogue import Metric
from unseen.metrics.resampling import Interval
from unseen.runs.score import Score
from unseen.runs.tables import (
    SAMPLES,
    bootstrap_interval,
    nearly_bootstrap_interval,
    score_table,
    summarise,
    wide,
    with_comparisons,
    with_concept_intervals,
    write_table,
)


def score(backbone: str, domain: str, seed: int, value: float, shots: int | None = None) -> Score:
    return Score("concepts", "cog-v2", backbone, domain, "logistic", shots, seed, "top1", value)


SCORES = [
    score("a", "seen", 0, 0.8), score("a", "seen", 1, 0.9), score("a", "l1", 0, 0.6), score("a", "l1", 1, 0.6),
    score("b", "seen", 0, 0.7), score("b", "seen", 1, 0.7), score("b", "l1", 0, 0.65), score("b", "l1", 1, 0.75),
]  # fmt: skip


def row(table: pd.DataFrame, backbone: str, domain: str) -> pd.Series:
    return table[(table["backbone"] == backbone) & (table["domain"] == domain)].iloc[0]


def test_means_gaps_differences_and_ranks() -> None:
    table = with_comparisons(summarise(score_table(SCORES)), seen="seen", baseline="b")
    found = row(table, "a", "seen")
    assert found["mean"] == pytest.approx(0.85)
    assert found["deviation"] == pytest.approx(math.sqrt(0.005))
    assert (found["seeds"], found["rank"], found["gap"]) == (2, 1, 0)
    assert found["relative"] == pytest.approx(0.15)
    found = row(table, "a", "l1")
    assert found["gap"] == pytest.approx(-0.25)
    assert found["relative"] == pytest.approx(-0.1)
    assert found["rank"] == 2


def test_repeated_seeds_count_once() -> None:
    once, twice = (summarise(score_table(SCORES * times)) for times in (1, 2))
    pd.testing.assert_frame_equal(once, twice)


def test_one_seed_has_no_spread_and_no_seen_domain_no_gap() -> None:
    table = with_comparisons(summarise(score_table([score("a", "l1", 0, 0.5)])), seen="seen")
    assert row(table, "a", "l1")[["deviation", "low", "high", "gap"]].isna().all()
    assert wide(table).iloc[0].tolist() == ["a", "all", "50.0"]


def test_the_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(3).normal(0.7, 0.05, 40)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, random_state=0)
    ours = bootstrap_interval(values.tolist())
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.002)


def test_an_unknown_baseline_is_named() -> None:
    with pytest.raises(UserError, match="no backbone 'z'; choose from a, b"):
        with_comparisons(summarise(score_table(SCORES)), seen="seen", baseline="z")


def test_wide_has_a_column_per_domain() -> None:
    table = wide(summarise(score_table(SCORES)))
    assert list(table.columns) == ["backbone", "shots", "seen", "l1"]
    assert table.iloc[0].tolist() == ["a", "all", "85.0 ± 7.1", "60.0 ± 0.0"]


def test_wide_is_of_one_probe() -> None:
    others = [replace(one, probe="mlp", value=0.99) for one in SCORES]
    assert wide(summarise(score_table([*others, *SCORES]))).iloc[0].tolist()[2:] == ["85.0 ± 7.1", "60.0 ± 0.0"]
    assert wide(summarise(score_table(others))).iloc[0].tolist()[2:] == ["99.0 ± 0.0", "99.0 ± 0.0"]


@pytest.mark.parametrize(("metric", "best"), [("top1", "b"), ("ece", "a"), ("colour-red", "a"), ("unheard-of", "b")])
def test_ranks_follow_the_metric(metric: str, best: str) -> None:
    scores = [replace(score(name, "l1", 0, value), metric=metric) for name, value in (("a", 0.1), ("b", 0.3))]
    table = with_comparisons(summarise(score_table(scores)), seen=None)
    assert row(table, best, "l1")["rank"] == 1
    assert sorted(table["rank"]) == [1, 2]


@pytest.mark.parametrize("metric", ["alignment", "rankme"])
def test_metrics_without_a_better_direction_have_no_ranks(metric: str) -> None:
    scores = [replace(score(name, "l1", 0, value), metric=metric) for name, value in (("a", 0.1), ("b", 0.3))]
    assert with_comparisons(summarise(score_table(scores)), seen=None)["rank"].isna().all()


def test_ranks_follow_a_metric_of_ones_own() -> None:
    scores = [replace(score(name, "l1", 0, value), metric="errors") for name, value in (("a", 0.1), ("b", 0.3))]
    own = Metric("errors", higher_is_better=False, lower=0, upper=1, unit="share")
    table = with_comparisons(summarise(score_table(scores)), seen=None, metrics={"errors": own})
    assert row(table, "a", "l1")["rank"] == 1


def test_every_format(tmp_path: Path) -> None:
    table = summarise(score_table([*SCORES, score("x_1|&", "l1", 0, 0.5)]))
    for suffix in (".csv", ".parquet", ".md", ".tex"):
        write_table(table, tmp_path / f"t{suffix}")
    integers = dict.fromkeys(SAMPLES, "Int64")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv", dtype=integers), table)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), table, check_dtype=False)
    lines = (tmp_path / "t.md").read_text().splitlines()
    assert len(lines) == len(table) + 2
    assert r"x_1\|&" in lines[-1]
    latex = (tmp_path / "t.tex").read_text()
    assert r"x\_1\textbar{}\&" in latex
    assert latex.count(r"\\") == len(table) + 1
    with pytest.raises(UserError, match="tables are written as"):
        write_table(table, tmp_path / "t.xlsx")


@pytest.mark.parametrize("suffix", [".md", ".tex"])
def test_cells_without_a_value_are_empty_and_small_numbers_stay_numbers(tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame({"limit": pd.array([pd.NA], "Int64"), "converged": [None], "penalty": [1e-6], "mean": [0.0]})
    write_table(table, tmp_path / f"t{suffix}")
    text = (tmp_path / f"t{suffix}").read_text()
    assert "NA" not in text
    assert "None" not in text
    assert "1e-06" in text
    assert "0.0000" in text


def test_a_table_needs_scores() -> None:
    with pytest.raises(UserError, match="no scores"):
        score_table([])


def test_only_top1_of_the_regression_has_an_interval_over_concepts() -> None:
    scores = [*SCORES, *(replace(s, metric="top5") for s in SCORES), *(replace(s, probe="mlp") for s in SCORES)]
    table = with_concept_intervals(summarise(score_table(scores)), {("a", "l1", "all"): Interval(0.6, 0.5, 0.7)})
    known = table[table["concept_low"].notna()]
    assert known[["backbone", "domain", "probe", "shots", "metric"]].to_numpy().tolist() == [
        ["a", "l1", "logistic", "all", "top1"]
    ]
    assert known[["concept_low", "concept_high"]].to_numpy().tolist() == [[0.5, 0.7]]
    assert len(table) == len(summarise(score_table(scores)))


@pytest.mark.parametrize("seeds", [2, 3, 5, 12])
def test_intervals_of_checks_are_those_of_tables(seeds: int) -> None:
    values = np.random.default_rng(seeds).random(seeds).tolist()
    for each in (values, [0.25] * seeds):
        assert nearly_bootstrap_interval(each) == pytest.approx(bootstrap_interval(each), abs=1e-14)
