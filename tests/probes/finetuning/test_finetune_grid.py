"""The grid of fine-tunings against the paper's numbers, its loss and its scores against others' implementations."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from torch import nn

from unseen.errors import UserError
from unseen.probes.finetuning.grid import at_edges, finetune_grid, log_spaced, ranked_trials
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.finetuning.scoring import ShownOrNot, calibration, class_scores
from unseen.probes.many_shot import Labels, metric_value

RATES = (0.0001, 0.001, 0.01, 0.1)
DECAYS = (0, 0.000001, 0.00001, 0.0001, 0.001)


def key(setting: FinetuneProtocol) -> tuple[float, float, str]:
    return setting.rate, round(setting.decay * setting.rate, 12), setting.augment


def test_the_grid_is_the_papers() -> None:
    grid = finetune_grid()
    assert grid.name == "ericsson-2021"
    assert grid.short == ""
    settings = grid.settings
    assert len(settings) == 40
    assert {key(setting) for setting in settings} == set(product(RATES, DECAYS, ("crop+flip", "centre")))
    for setting in settings:
        assert (setting.steps, setting.batch, setting.momentum, setting.nesterov) == (5000, 64, 0.9, True)
        assert setting.warmup == 0
        assert setting.rate_at(0) == setting.rate
        assert setting.rate_at(2500) == pytest.approx(setting.rate / 2)
        assert setting.rate_at(5000) == pytest.approx(0, abs=1e-15)
    # The decay is divided by the rate: the weakest that is not 0 is .000001 / .1, the strongest .001 / .0001.
    decays = sorted({setting.decay for setting in settings})
    assert decays[1] == pytest.approx(0.00001)
    assert decays[-1] == pytest.approx(10)


def test_a_part_of_the_grid_is_spread_over_it() -> None:
    settings = finetune_grid().settings
    assert {setting.rate for setting in settings[:4]} == set(RATES)
    assert {setting.augment for setting in settings[:4]} == {"crop+flip", "centre"}
    assert {key(setting)[:2] for setting in settings[:20]} == set(product(RATES, DECAYS))
    for trials in (1, 7, 39):
        part = finetune_grid(trials=trials)
        assert part.settings == settings[:trials]
        assert part.name == "ericsson-2021-short"
        assert f"{trials} of 40 settings, 5,000 of 5,000 steps" in part.short


def test_fewer_steps_are_labelled_too() -> None:
    grid = finetune_grid(steps=500)
    assert grid.name == "ericsson-2021-short"
    assert "40 of 40 settings, 500 of 5,000 steps" in grid.short
    assert {setting.steps for setting in grid.settings} == {500}


@pytest.mark.parametrize("asked", [{"trials": 41}, {"trials": 0}, {"steps": 0}, {"steps": 5001}])
def test_more_or_less_than_there_is(asked: dict[str, int]) -> None:
    with pytest.raises(UserError, match=r"1 to (40|5000) of them, not"):
        finetune_grid(**asked)


def test_log_spaced_is_numpys() -> None:
    assert log_spaced(1e-4, 1e-1, 4) == RATES
    np.testing.assert_allclose(log_spaced(2e-3, 7.0, 9), np.geomspace(2e-3, 7.0, 9), rtol=1e-11)


def test_the_best_is_the_first_of_the_greatest() -> None:
    assert ranked_trials([0.1, None, 0.7, 0.7, 0.2]) == [2, 3, 4, 0]
    assert ranked_trials([None, 0.0]) == [1]
    with pytest.raises(UserError, match="all 3 trainings diverged"):
        ranked_trials([None, None, None])


def test_ends_of_the_grid() -> None:
    settings = {key(setting): setting for setting in finetune_grid().settings}
    assert at_edges(settings[0.001, 0, "centre"]) == []
    assert at_edges(settings[0.0001, 0.0001, "centre"]) == ["lowest rate"]
    assert at_edges(settings[0.1, 0.001, "crop+flip"]) == ["highest rate", "strongest decay"]


def test_two_scores_a_class_are_a_binary_classifier_a_class() -> None:
    torch.manual_seed(0)
    network = nn.Linear(5, 4).double()
    X, shown = torch.randn(12, 5).double(), torch.rand(12, 4) < 0.3
    nn.functional.binary_cross_entropy_with_logits(network(X), shown.double()).backward()
    expected = [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]
    network.zero_grad()
    outputs = ShownOrNot(network)(X)
    nn.functional.cross_entropy(outputs, shown.long()).backward()
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient)
    torch.testing.assert_close(class_scores(outputs), network(X))
    torch.testing.assert_close(class_scores(network(X)), network(X))


def test_metrics_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(80, 5)), rng.choice(5, 80, p=(0.6, 0.1, 0.1, 0.1, 0.1))
    labels = Labels(torch.from_numpy(y))
    predicted = scores.argmax(axis=1)
    assert metric_value(torch.from_numpy(scores), labels, "top1") == pytest.approx(accuracy_score(y, predicted))
    balanced = balanced_accuracy_score(y, predicted)
    assert metric_value(torch.from_numpy(scores), labels, "mean-per-class") == pytest.approx(balanced)


def test_average_precision_at_eleven_recalls() -> None:
    # Ranked: shown, not, shown. Precision at recalls up to .5 is 1, beyond it 2/3; what is unsure does not count.
    scores = torch.tensor([[4.0], [3.0], [2.5], [2.0]])
    shown = torch.tensor([[True], [False], [False], [True]])
    unsure = torch.tensor([[False], [False], [True], [False]])
    expected = (6 * 1 + 5 * 2 / 3) / 11
    assert metric_value(scores, Labels(shown, unsure), "map-11-point") == pytest.approx(expected)


def test_calibration_is_a_plain_sum_over_bins() -> None:
    rng = np.random.default_rng(1)
    scores, y = 3 * rng.normal(size=(200, 4)), rng.integers(0, 4, 200)
    found = calibration(torch.from_numpy(scores).float(), torch.from_numpy(y), 2.5, bins=15, unbounded=False)
    for error, temperature in ((found.error, 1.0), (found.scaled_error, 2.5)):
        powers = np.exp(scores.astype(np.float32).astype(float) / temperature)
        shares = powers / powers.sum(axis=1, keepdims=True)
        sure, right = shares.max(axis=1), shares.argmax(axis=1) == y
        expected = 0.0
        for low in range(15):
            inside = (sure > low / 15) & (sure <= (low + 1) / 15)
            if inside.any():
                expected += inside.mean() * abs(right[inside].mean() - sure[inside].mean())
        assert error == pytest.approx(expected, abs=1e-9)
    assert found.temperatures == (2.5,)
