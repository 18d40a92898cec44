"""Errors of panels on held-out backbones, where the truth is known."""

import numpy as np
import pytest
from panel_runs import typical_concepts
from scipy.stats import linregress, ttest_1samp

from unseen.analyses.panels import held_out
from unseen.analyses.panels.choice import choose_panel
from unseen.analyses.panels.held_out import MIN_BACKBONES, error_on_other_kinds, evaluate
from unseen.errors import UserError

FEW = {"random_panels": 100}


def test_a_good_panel_is_recovered_and_beats_random_ones() -> None:
    accuracy, weights = typical_concepts(24, good=8), np.ones(45)
    score = accuracy.mean(axis=1)
    found = evaluate(accuracy, weights, 5, **FEW)
    assert found.verdict == "better"
    assert found.beats_random
    assert found.beaten == 1
    assert found.error.low <= found.error.value <= found.error.high < found.random.low
    assert found.difference.high < 0
    assert found.error.value == pytest.approx(np.mean(found.by_backbone))
    # No panel can do better than the mean of the typical concepts, which is off by the noise of the others.
    best = linregress(accuracy[:, :8].mean(axis=1), score)
    residual = np.abs(score - best.intercept - best.slope * accuracy[:, :8].mean(axis=1)).mean()
    assert found.error.value < 3 * residual


def test_noise_has_no_good_panel() -> None:
    """Without any structure, the choice is as good as a random panel and is rarely called better."""
    better = 0
    for seed in range(20):
        found = evaluate(np.random.default_rng(seed).random((16, 45)), np.ones(45), 10, **FEW)
        better += found.beats_random
    assert better <= 2


def test_errors_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy, weights = np.random.default_rng(3).random((8, 20)), np.arange(1.0, 21)
    found = evaluate(accuracy, weights, 4, **FEW)  # eight backbones are held out one at a time
    score = np.average(accuracy, axis=1, weights=weights)
    errors = []
    for out in range(8):
        rest = np.delete(np.arange(8), out)
        panel = choose_panel(accuracy[rest], weights, 4)
        means = np.average(accuracy[:, panel], axis=1, weights=weights[panel])
        line = linregress(means[rest], score[rest])
        errors.append(abs(line.intercept + line.slope * means[out] - score[out]))
    assert found.by_backbone == pytest.approx(errors)
    monkeypatch.setattr(held_out, "choose_panel", lambda *_: np.arange(4))
    fixed = evaluate(accuracy, weights, 4, **FEW)
    interval = ttest_1samp(fixed.by_backbone, 0).confidence_interval()
    wider = (fixed.error.value - interval.low) * (1 + 8 / 7) ** 0.5  # as in Nadeau & Bengio (2003)
    ends = max(0, fixed.error.value - wider), fixed.error.value + wider
    assert (fixed.error.low, fixed.error.high) == pytest.approx(ends)


def test_the_same_seed_gives_the_same_errors() -> None:
    accuracy, weights = typical_concepts(14, good=8), np.ones(45)
    assert evaluate(accuracy, weights, 5, **FEW) == evaluate(accuracy, weights, 5, **FEW)
    assert evaluate(accuracy, weights, 5, **FEW) != evaluate(accuracy, weights, 5, seed=1, **FEW)


def test_backbones_of_another_kind_are_estimated_worse() -> None:
    rng = np.random.default_rng(0)
    kinds = np.repeat(["a", "b", "c", "d"], 6)
    liking = {kind: 0.25 * rng.standard_normal(45) for kind in "abcd"}  # what a kind finds easy
    accuracy = np.stack([0.5 + 0.1 * rng.random() + liking[kind] + 0.02 * rng.standard_normal(45) for kind in kinds])
    others = error_on_other_kinds(accuracy, np.ones(45), 6, kinds.tolist())
    assert others is not None
    assert others > 2 * evaluate(accuracy, np.ones(45), 6, **FEW).error.value


@pytest.mark.parametrize("kinds", [["a"] * 12, ["a"] * 6 + ["b"] * 6, ["a"] * 10 + ["b", "c"]])
def test_too_few_kinds_have_no_error(kinds: list[str]) -> None:
    assert error_on_other_kinds(np.random.default_rng(0).random((12, 20)), np.ones(20), 4, kinds) is None


def test_images_per_class_are_evaluated_in_strata() -> None:
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(5), 20)
    hits = (rng.random((12, 100)) < rng.uniform(0.2, 0.9, (12, 1))).astype(float)
    found = evaluate(hits, np.ones(100), 4, strata=classes, **FEW)
    assert found.backbones == 12
    assert 0 < found.error.value < 0.2
    assert 0 < found.random.low < found.random.high


def test_too_few_backbones_are_refused() -> None:
    with pytest.raises(UserError, match=str(MIN_BACKBONES)):
        evaluate(np.zeros((MIN_BACKBONES - 1, 20)), np.ones(20), 4)
