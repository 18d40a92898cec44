"""Ranks and correlations across axes, against SciPy and by hand."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.analyses.axes.together import Axes, Measure, Standing, put_together
from unseen.errors import UserError


def measure(axis: str, name: str, values: dict[str, float], **more: object) -> Measure:
    return Measure(axis, name, name.capitalize(), "About it.", values, **more)  # type: ignore[arg-type]


def named(*numbers: float) -> dict[str, float]:
    return {f"b{place}": number for place, number in enumerate(numbers)}


@examples(40)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=4, max_size=12))
def test_correlations_and_ranks_are_scipys(points: list[tuple[int, int]]) -> None:
    x, y = np.array(points, dtype=float).T
    axes = put_together([measure("concepts", "one", named(*x)), measure("tasks", "two", named(*y))])
    [pair] = axes.pairs
    assert [axes.standings["one"][name].rank for name in axes.backbones] == scipy.stats.rankdata(-x, "min").tolist()
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert pair.correlation is None
        return
    assert pair.correlation is not None
    assert pair.correlation.pearson.value == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
    assert pair.correlation.spearman.value == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)
    if abs(pair.correlation.pearson.value) < 1 - 1e-9:
        ends = scipy.stats.pearsonr(x, y).confidence_interval(0.95)
        assert (pair.correlation.pearson.low, pair.correlation.pearson.high) == pytest.approx(tuple(ends), abs=1e-9)
        assert pair.p_value == pytest.approx(scipy.stats.pearsonr(x, y).pvalue, abs=1e-9)


def test_what_a_single_backbone_decides() -> None:
    # Without the last, the first four go down together; with it, up.
    x, y = [1.0, 2.0, 3.0, 4.0, 20.0], [4.0, 3.5, 2.0, 1.0, 20.0]
    [pair] = put_together([measure("concepts", "one", named(*x)), measure("tasks", "two", named(*y))]).pairs
    left = [scipy.stats.pearsonr(np.delete(x, place), np.delete(y, place)).statistic for place in range(len(x))]
    assert pair.without_one == pytest.approx((min(left), max(left)))
    assert min(left) < -0.9
    four = put_together([measure("concepts", "one", named(*x[:4])), measure("tasks", "two", named(*y[:4]))])
    assert four.pairs[0].without_one is None
    flat = put_together([measure("concepts", "one", named(1, 1, 1, 1, 5)), measure("tasks", "two", named(*y))])
    assert flat.pairs[0].without_one is None


def test_where_less_is_better_signs_turn() -> None:
    errors, accuracy = named(0.1, 0.2, 0.4, 0.3), named(4, 3, 1, 2)
    axes = put_together(
        [measure("concepts", "accuracy", accuracy), measure("tasks", "error", errors, higher_is_better=False)]
    )
    assert axes.standings["error"]["b0"].rank == 1
    assert axes.pairs[0].correlation is not None
    assert axes.pairs[0].correlation.spearman.value == pytest.approx(1)


def test_ties_share_the_better_rank_whatever_the_order_of_sums() -> None:
    axes = put_together([measure("concepts", "one", named(0.1 + 0.2, 0.3, 0.1))])
    assert [axes.standings["one"][name].rank for name in axes.backbones] == [1, 1, 3]
    assert axes.firsts() == {"b0": ["one"], "b1": ["one"]}


def test_ranges_of_ranks_come_from_draws() -> None:
    rng = np.random.default_rng(0)
    draws = {"b0": rng.normal(1.0, 1, 4000), "b1": rng.normal(0.9, 1, 4000), "b2": np.full(4000, -9.0)}
    axes = put_together([measure("concepts", "one", named(1.0, 0.9, -9.0), draws=draws)])
    found = axes.standings["one"]
    assert (found["b0"].rank, found["b0"].low, found["b0"].high) == (1, 1, 2)
    assert (found["b2"].rank, found["b2"].low, found["b2"].high) == (3, 3, 3)
    assert put_together([measure("concepts", "one", named(1, 2))]).standings["one"]["b0"] == Standing(2, 2)


def test_draws_tie_where_values_do() -> None:
    draws = {"b0": np.full(50, 0.1 + 0.2), "b1": np.full(50, 0.3)}
    found = put_together([measure("concepts", "one", named(0.1 + 0.2, 0.3), draws=draws)]).standings["one"]
    assert found["b0"] == found["b1"] == Standing(1, 2, 1, 1)


def test_who_has_no_draws_stays_while_others_move() -> None:
    draws = {"b0": np.linspace(-1, 1, 101)}
    found = put_together([measure("concepts", "one", named(0.5, 0.0), draws=draws)]).standings["one"]
    assert (found["b1"].low, found["b1"].high) == (1, 2)


def test_values_are_shown_in_percent_with_their_interval() -> None:
    draws = {"b0": scipy.special.logit(np.linspace(0.6, 0.8, 4001))}
    bounded = measure("concepts", "one", {"b0": scipy.special.logit(0.7), "b1": 0.0}, draws=draws)
    interval = bounded.interval("b0")
    assert interval is not None
    assert (interval.value, interval.low, interval.high) == pytest.approx((70, 60.5, 79.5))
    assert bounded.interval("b1") is None
    assert measure("concepts", "drop", {"b0": -0.1}, bounded=False).percent(-0.1) == pytest.approx(-10)


def three_axes() -> Axes:
    return put_together(
        [
            measure("shifts", "rho", {"a": 1, "b": 2, "lonely": 3}),
            measure("seen", "seen", {"a": 1, "b": 2, "c": 3}),
            measure("concepts", "levels", {"a": 3, "b": 2, "c": 1}),
        ]
    )


def test_who_is_on_one_axis_alone_is_left_out() -> None:
    axes = three_axes()
    assert axes.backbones == ("a", "b")
    assert list(axes.measures) == ["seen", "levels", "rho"]
    assert axes.missing() == ["tasks"]
    assert axes.standings["levels"] == {"a": Standing(1, 2), "b": Standing(2, 2)}
    assert all(pair.correlation is None and pair.n == 2 for pair in axes.pairs)
    assert {(pair.first, pair.second): pair.across for pair in axes.pairs} == {
        ("seen", "levels"): False, ("seen", "rho"): True, ("levels", "rho"): True,
    }  # fmt: skip


def test_best_and_worst_leave_the_seen_concepts_aside() -> None:
    assert three_axes().best_and_worst("a") == ("levels", "rho")
    alone = put_together([measure("concepts", "one", named(1, 2)), measure("concepts", "two", named(1, 2))])
    assert alone.best_and_worst("b0") is None


def test_of_equal_ranks_the_surest_is_named() -> None:
    wide = {"b0": np.tile([0.0, 3.0], 50), "b1": np.full(100, 2.0)}
    sure = {"b0": np.full(100, 1.0), "b1": np.full(100, 2.0)}
    axes = put_together(
        [
            measure("concepts", "wide", named(1, 2), draws=wide),
            measure("concepts", "sure", named(1, 2), draws=sure),
            measure("tasks", "unknown", named(1, 2)),
            measure("tasks", "good", named(2, 1)),
        ]
    )
    assert axes.best_and_worst("b0") == ("good", "sure")


def test_what_all_are_equal_by_is_nobodys_strength() -> None:
    axes = put_together(
        [
            measure("concepts", "flat", named(1, 1, 1), draws={f"b{i}": np.full(9, 1.0) for i in range(3)}),
            measure("concepts", "good", named(3, 2, 1)),
            measure("tasks", "bad", named(1, 2, 3)),
        ]
    )
    assert axes.best_and_worst("b0") == ("good", "bad")
    assert axes.best_and_worst("b1") is None


def test_p_values_are_corrected_over_pairs_across_axes_alone() -> None:
    rng = np.random.default_rng(1)
    parts = [("concepts", "a"), ("concepts", "b"), ("tasks", "c"), ("shifts", "d")]
    axes = put_together([measure(axis, name, named(*rng.normal(size=12))) for axis, name in parts])
    across = [pair for pair in axes.pairs if pair.across]
    assert len(across) == 5
    assert all(pair.corrected is None for pair in axes.pairs if not pair.across)
    least = min(across, key=lambda pair: pair.p_value or 0)
    assert least.p_value is not None
    assert least.corrected == pytest.approx(min(1, 5 * least.p_value))


def test_nothing_and_what_is_not_a_number_are_refused() -> None:
    with pytest.raises(UserError, match="no numbers on any axis"):
        put_together([])
    with pytest.raises(UserError, match="One of b1 is not a number"):
        put_together([measure("concepts", "one", named(1, float("nan")))])
