"""Effective concept generalization against NumPy's and SciPy's lines, made-up models, and the paper's values."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

from unseen.errors import UserError
from unseen.papers import published
from unseen.papers.concept_generalization import (
    DOMAINS,
    LEVELS,
    Accuracies,
    effective_generalization,
    expected_bands,
    measured_accuracies,
    published_accuracies,
    seen_only_models,
)


def models(n: int = 25, seed: int = 0, scatter: float = 0.08) -> Accuracies:
    """Models about lines of slopes 0.9 to 0.5, exactly measured; the first is 10 points above on L5."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(1.2, 0.4, n)
    levels = [s * seen - 0.2 * s + rng.normal(0, scatter, n) for s in (0.9, 0.8, 0.7, 0.6, 0.5)]
    mean = expit(np.column_stack([seen, *levels]))
    mean[0, 5] += 0.10
    zeros = np.zeros_like(mean)
    return Accuracies(tuple(f"m{i}" for i in range(n)), mean, zeros, np.zeros(n))


def test_published_accuracies_are_the_printed_ones() -> None:
    found = published_accuracies()
    assert len(found.models) == 31
    row = found.models.index("ResNet50")
    # Tables 5 to 10, last column.
    np.testing.assert_allclose(found.mean[row], [0.758, 0.679, 0.631, 0.590, 0.581, 0.520])
    one = published_accuracies("1")
    # Table 5: 45.0 ± 0.7 over five seeds with one image.
    assert one.mean[row, 0] == pytest.approx(0.45)
    assert one.error[row, 0] == pytest.approx(0.007 / np.sqrt(5))


def test_other_shots_are_refused() -> None:
    with pytest.raises(UserError, match="no published accuracies with 12 shots, only 1, 2, 4, .*; did you mean 128"):
        published_accuracies("12")


def test_lines_are_of_models_without_web_data() -> None:
    members = seen_only_models()
    assert len(members) == 27
    assert not any(name.startswith("d-") for name in members)


def test_draws_have_the_spread_of_seeds_and_rounding() -> None:
    base = models(3)
    given = replace(base, error=np.full((3, 6), 0.002), rounding=np.array([0.0, 0.001, 0.02]))
    draws = given.draws(40_000)
    np.testing.assert_allclose(draws.mean(axis=0), given.mean, atol=2e-4)
    expected = np.sqrt(0.002**2 + given.rounding**2 / 12)  # variance of a uniform: width² / 12
    np.testing.assert_allclose(draws.std(axis=0), np.tile(expected[:, None], 6), rtol=0.03)


def test_expectations_are_the_lines_of_the_others() -> None:
    given = models()
    found = effective_generalization(given, given, given.models, resamples=20)
    x, y = logit(given.mean[:, 0]), logit(given.mean[:, 1:])
    for m in range(25):
        others = np.arange(25) != m
        for level in range(5):
            slope, intercept = np.polyfit(x[others], y[others, level], 1)
            assert found.expected[m, level] == pytest.approx(expit(slope * x[m] + intercept))
    np.testing.assert_allclose(found.effective, given.mean[:, 1:] - found.expected)


def test_a_model_does_not_pull_its_own_line() -> None:
    given = models()
    moved = replace(given, mean=given.mean.copy())
    moved.mean[3, 1:] -= 0.2
    one = effective_generalization(given, given, given.models, resamples=20)
    other = effective_generalization(moved, moved, given.models, resamples=20)
    np.testing.assert_allclose(one.expected[3], other.expected[3])
    np.testing.assert_allclose(other.effective[3], one.effective[3] - 0.2)
    assert not np.allclose(one.expected[4], other.expected[4])


def test_models_outside_the_fit_leave_it_alone() -> None:
    given = models()
    inside = given.models[:-1]
    moved = replace(given, mean=given.mean.copy())
    moved.mean[-1] = 0.5
    one, other = (effective_generalization(each, each, inside, resamples=20) for each in (given, moved))
    np.testing.assert_array_equal(one.expected[:-1], other.expected[:-1])
    assert one.fits[0].n == 24


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    given = replace(models(), error=np.full((25, 6), 0.004))
    found = effective_generalization(given, given, given.models)
    x, y = logit(given.mean[:, 0]), logit(given.mean[:, 5])
    rng = np.random.default_rng(1)
    values = []
    for _ in range(3000):
        rows = rng.integers(0, 25, 25)
        rows = rows[rows != 0]  # without its own copies
        slope, intercept = np.polyfit(x[rows], y[rows], 1)
        seen, unseen = given.mean[0, [0, 5]] + rng.normal(0, 0.004, 2)
        values.append(unseen - expit(slope * logit(seen) + intercept))
    low, high = np.quantile(values, [0.025, 0.975])
    assert (found.low[0, 4], found.high[0, 4]) == pytest.approx((low, high), abs=0.002)
    assert found.off_line[0, 4] == pytest.approx(2 * stats.norm.sf(found.effective[0, 4] / np.std(values)), abs=1e-3)


def test_only_the_model_that_stands_out_does() -> None:
    given = models()
    table = effective_generalization(given, given, given.models, resamples=200).table()
    assert len(table) == 125
    row = table[(table["model"] == "m0") & (table["level"] == "l5")].iloc[0]
    assert row["effective"] == pytest.approx(0.10, abs=0.02)
    assert row["unusual_holm"] < 0.05
    rest = table.drop(row.name)
    assert (rest["unusual_fdr"] > 0.05).all()
    np.testing.assert_allclose(table["unusual_fdr"], stats.false_discovery_control(table["unusual"]))


def test_how_unusual_a_model_is_follows_from_the_prediction_error_of_the_line() -> None:
    given = models()
    found = effective_generalization(given, given, given.models, resamples=20)
    x, y = logit(given.mean[1:, 0]), logit(given.mean[1:, 3])
    line = stats.linregress(x, y)
    new_x, new_y = logit(given.mean[0, [0, 3]])
    # The variance of a new point: that of the residuals, of the intercept at the mean, and of the slope.
    variance = ((y - line.intercept - line.slope * x) ** 2).sum() / 22
    error = np.sqrt(variance * (1 + 1 / 24) + line.stderr**2 * (new_x - x.mean()) ** 2)
    t = (new_y - line.intercept - line.slope * new_x) / error
    assert found.unusual[0, 2] == pytest.approx(2 * stats.t.sf(abs(t), 22))


def test_accuracy_on_seen_concepts_says_little_about_the_published_models() -> None:
    given = published_accuracies()
    found = effective_generalization(given, given, resamples=500)
    x = logit(given.mean[[given.models.index(name) for name in seen_only_models()]])
    for level in range(5):
        assert found.fits[level].r2 == pytest.approx(stats.pearsonr(x[:, 0], x[:, level + 1]).statistic ** 2)
    assert [fit.r2 < 0.2 for fit in found.fits] == [True] * 5
    table = found.table()
    assert (table["unusual_fdr"] > 0.5).all()
    sure = set(table[(table["level"] == "l5") & (table["off_line_holm"] < 0.05)]["model"])
    assert {"s-DINO", "s-SwAV", "d-CLIP", "r-CutMix", "r-ReLabel", "r-MixUp", "r-Manifold-MixUp"} <= sure
    assert not {"ResNet50", "a-DeiT-S", "r-MEAL-v2", "r-Adv-Robust"} & sure


def test_augmentation_with_labels_is_below_the_line_as_a_group() -> None:
    given = published_accuracies()
    found = effective_generalization(given, given, resamples=20)
    members = np.isin(given.models, ["r-MixUp", "r-Manifold-MixUp", "r-CutMix", "r-ReLabel"])
    self_supervised = np.array([name.startswith("s-") for name in given.models])
    for level in range(5):
        values = found.effective[:, level]
        assert values[members].mean() < -0.03
        reference = stats.permutation_test(
            (values[members], values[~members]), lambda a, b: a.mean() - b.mean(), n_resamples=2000, vectorized=False
        )
        assert reference.pvalue < 0.01
    # The category that the paper says excels is above it in the mean, and not by more than groups of ten differ.
    far = found.effective[:, 4]
    assert far[self_supervised].mean() > far[~self_supervised].mean()
    assert stats.mannwhitneyu(far[self_supervised], far[~self_supervised]).pvalue > 0.05


def test_bands_go_through_the_line_and_widen_outwards() -> None:
    given = models()
    seen = np.array([0.5, 0.75, 0.95])
    bands = expected_bands(given, seen, given.models)
    slope, intercept = np.polyfit(logit(given.mean[:, 0]), logit(given.mean[:, 2]), 1)
    np.testing.assert_allclose(bands["l2"].expected, expit(slope * logit(seen) + intercept))
    for level in LEVELS:
        assert (bands[level].low < bands[level].expected).all()
        assert (bands[level].expected < bands[level].high).all()
    width = logit(bands["l2"].high) - logit(bands["l2"].low)
    assert width[1] < width[0]
    assert width[1] < width[2]


def test_an_unknown_model_to_fit_on_is_refused() -> None:
    given = models()
    with pytest.raises(UserError, match="no model 'm99' to fit on; did you mean m9"):
        effective_generalization(given, given, ["m1", "m2", "m99"])


def test_too_few_models_to_fit_on_are_refused() -> None:
    given = models(5)
    with pytest.raises(UserError, match="4 models are too few to fit"):
        effective_generalization(given, given, given.models[:4])


def test_accuracies_of_a_summary_of_scores() -> None:
    columns = ["backbone", "domain", "probe", "shots", "metric", "mean", "deviation", "seeds"]
    rows = [["mine", name, "logistic", "all", "top1", 0.1 * i, 0.02, 4] for i, name in enumerate(DOMAINS, 1)]
    rows += [["mine", name, "logistic", "8", "top1", 0.0, 0.0, 4] for name in DOMAINS]
    rows += [["mine", "l1", "mlp", "all", "top1", 0.9, 0.0, 4], ["mine", "l1", "logistic", "all", "top5", 0.9, 0.0, 4]]
    rows += [["partial", "in1k", "logistic", "all", "top1", 0.5, 0.0, 1]]
    found, lacking = measured_accuracies(pd.DataFrame(rows, columns=columns))
    assert found.models == ("mine",)
    np.testing.assert_allclose(found.mean, [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]])
    np.testing.assert_allclose(found.error, 0.01)
    assert lacking == {"partial": ["l1", "l2", "l3", "l4", "l5"]}


def test_one_seed_on_other_concepts_has_no_spread_that_is_known() -> None:
    columns = ["backbone", "domain", "probe", "shots", "metric", "mean", "deviation", "seeds"]
    rows = [["mine", name, "logistic", "all", "top1", 0.1, 0.02, 1 if name == "l5" else 4] for name in DOMAINS]
    found, _ = measured_accuracies(pd.DataFrame(rows, columns=columns), on_imagenet=False)
    np.testing.assert_allclose(found.error, [[0.01] * 5 + [np.nan]])


def test_a_model_under_another_name_is_left_out_of_the_same_line() -> None:
    given = models(20)
    renamed = given.at([3, 0]).called(["three (yours)", "m0"])
    found = effective_generalization(given + renamed, given, given.models, resamples=20)
    assert found.models[-2:] == ("three (yours)", "m0")
    np.testing.assert_allclose(found.effective[-2:], found.effective[[3, 0]])
    own = effective_generalization(renamed, given, given.models, resamples=20)
    np.testing.assert_allclose(own.effective, found.effective[[3, 0]])


def test_one_seed_has_the_spread_of_the_published_models() -> None:
    columns = ["backbone", "domain", "probe", "shots", "metric", "mean", "deviation", "seeds"]
    rows = [["mine", name, "logistic", "1", "top1", 0.1, 0.0 if name == "l5" else 0.02, 1 if name == "l5" else 4]
            for name in DOMAINS]  # fmt: skip
    found, _ = measured_accuracies(pd.DataFrame(rows, columns=columns), "1")
    table = published("cog-v2")
    printed = table[(table["shots"] == "1") & (table["domain"] == "l5")]["deviation"]
    np.testing.assert_allclose(found.error, [[0.01] * 5 + [printed.median() / 100]])
