"""Groups against the line of the others: against plain loops, with and without a planted effect."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from unseen.analyses.robustness.fits import ShiftSettings, ShiftStudy, study_shifts
from unseen.analyses.robustness.group_effects import GroupEffect, group_effects
from unseen.analyses.robustness.groups import AVERAGE
from unseen.analyses.robustness.table import shift_table
from unseen.report.shifts.files import study_page
from unseen.report.shifts.page import shift_page
from unseen.report.shifts.sections.group_effects import statements


def pool(
    seed: int = 0, *, groups: int = 8, models: int = 10, effect: float = 0.0, spread: float = 0.05
) -> pd.DataFrame:
    """Models on two ID and two OOD test sets; those of group g0 are off the line by some logits."""
    rng = np.random.default_rng(seed)
    group = np.repeat([f"g{number}" for number in range(groups)], models)
    ids = rng.normal(0, 0.8, (len(group), 2)) + rng.normal(0, 0.3, groups).repeat(models)[:, None]
    rows = {"model": [f"m{number}" for number in range(len(group))], "group": group}
    rows |= {"a": special.expit(ids[:, 0]), "b": special.expit(ids[:, 1])}
    for ood in ("x", "y"):
        noise = rng.normal(0, spread, groups).repeat(models) + rng.normal(0, 0.1, len(group))
        logits = 0.7 * ids[:, 0] + 0.2 * ids[:, 1] - 0.5 + noise + effect * (group == "g0")
        rows[ood] = special.expit(logits)
    return pd.DataFrame(rows)


def study(rows: pd.DataFrame, ood: tuple[str, ...] = ("x", "y"), fit_on: str | None = None) -> ShiftStudy:
    table = shift_table(rows, ["a", "b"], list(ood), group="group", fit_on=fit_on)
    return study_shifts(table, ShiftSettings(resamples=20))


def found(effects: tuple[GroupEffect, ...], group: str, ood: str, ids: int = 2) -> GroupEffect:
    [one] = [each for each in effects if (each.group, each.ood, len(each.id_sets)) == (group, ood, ids)]
    return one


def test_matches_plain_loops() -> None:
    rows = pool()
    effects = group_effects(study(rows))
    for group in ("g0", "g3"):
        means, without = [], []
        for ood in ("x", "y"):
            inside, others = rows[rows.group == group], sorted(set(rows.group) - {group})

            def predicted(left_out: set[str], ood: str = ood, inside: pd.DataFrame = inside) -> np.ndarray:
                kept = rows[~rows.group.isin(left_out)]
                design = np.c_[special.logit(kept[["a", "b"]]), np.ones(len(kept))]
                weights = np.linalg.lstsq(design, special.logit(kept[ood]), rcond=None)[0]
                return special.expit(np.c_[special.logit(inside[["a", "b"]]), np.ones(len(inside))] @ weights)

            rho = 100 * (inside[ood].to_numpy() - predicted({group}))
            left = np.array([100 * predicted({group, other}).mean() for other in others])
            own, line = rho.var(ddof=1) / len(rho), 6 / 7 * ((left - left.mean()) ** 2).sum()
            estimate = found(effects, group, ood).effect
            assert estimate.value == pytest.approx(rho.mean())
            assert estimate.error == pytest.approx(np.sqrt(own + line))
            assert estimate.df == pytest.approx((own + line) ** 2 / (own**2 / 9 + line**2 / 6))
            means.append(rho)
            without.append(left)
        average = found(effects, group, AVERAGE).effect
        rho, left = np.mean(means, axis=0), np.mean(without, axis=0)
        assert average.value == pytest.approx(rho.mean())
        variance = rho.var(ddof=1) / 10 + 6 / 7 * ((left - left.mean()) ** 2).sum()
        assert average.error == pytest.approx(np.sqrt(variance))


def test_the_spread_is_that_of_the_other_groups_around_their_line() -> None:
    rows = pool()
    others = rows[rows.group != "g2"]
    design = np.c_[special.logit(others[["a", "b"]]), np.ones(len(others))]
    weights = np.linalg.lstsq(design, special.logit(others["x"]), rcond=None)[0]
    means = (others["x"] - special.expit(design @ weights)).groupby(others["group"]).mean()
    assert found(group_effects(study(rows)), "g2", "x").spread == pytest.approx(100 * means.std(ddof=1))


def test_smallest_effect_has_the_power_of_a_t_test() -> None:
    """By the distribution function of the noncentral t, at the level of one of 8 averages, and of 16 others."""
    effects = group_effects(study(pool()))
    for ood, many in ((AVERAGE, 8), ("x", 16)):
        one = found(effects, "g1", ood)
        t = stats.t(one.effect.df).ppf(1 - 0.025 / many)
        assert stats.nct(one.effect.df, one.smallest / one.effect.error).sf(t) == pytest.approx(0.8, abs=1e-6)


def test_planted_effects_are_found() -> None:
    assert all(found(group_effects(study(pool(seed, effect=1.0))), "g0", AVERAGE).resolved for seed in range(3))


@pytest.mark.long_suite
def test_without_effects_alarms_are_rare() -> None:
    none = [group_effects(study(pool(seed, spread=0.0), ood=("x",))) for seed in range(60)]
    alarms = sum(any(each.resolved for each in effects if len(each.id_sets) == 2) for effects in none)
    assert alarms <= 8  # 5% of 60 is 3; P(X > 8) = 0.3%


def test_groups_that_are_only_scored_are_compared() -> None:
    rows = pool(effect=1.0)
    effects = group_effects(study(rows, fit_on="group != g0"))
    one = found(effects, "g0", "x")
    assert not one.in_fit
    assert one.resolved
    assert one.effect.value == pytest.approx(found(group_effects(study(rows)), "g0", "x").effect.value)


def test_too_few_groups_have_no_effects() -> None:
    assert group_effects(study(pool(groups=3))) == ()
    one_each = pool(groups=8, models=1)
    assert group_effects(study(one_each)) == ()


def test_page_says_what_is_resolved_and_what_could_be() -> None:
    effects = group_effects(study(pool(effect=1.0)))
    both = [each for each in effects if len(each.id_sets) == 2]
    first, second = statements(both)
    assert "g0" in first
    rest = [each.smallest for each in both if each.ood == AVERAGE and not each.resolved]
    assert f"{min(rest):.1f}" in second
    assert f"{max(rest):.1f}" in second


def test_page_of_a_fit_has_one_row_per_group_and_choice_of_id_sets() -> None:
    page = shift_page(study_page(study(pool(effect=1.0)), source="pool.csv"))
    [section] = [each for each in page.sections if each.name == "group-effects"]
    [table] = section.tables
    assert len(table.rows) == 3 * 8
    assert [column.title for column in table.columns][3:] == ["average", "x", "y", "Smallest effect"]
    assert [row.cells[3].style for row in table.rows[:8]].count("strong") == 1
    few = shift_page(study_page(study(pool(groups=3)), source="pool.csv"))
    assert "group-effects" not in [each.name for each in few.sections]
