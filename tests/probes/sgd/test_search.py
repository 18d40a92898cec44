"""TPE in rounds."""

import math

import optuna
import pytest

from unseen.probes.sgd.search import Trial, best_trial, search

SPACE = {"rates": (1e-1, 1e2), "decays": (1e-12, 1e-4)}


def objective(rate: float, decay: float) -> float:
    """Best at a rate of 3 and a decay of 1e-6."""
    return -((math.log10(rate) - math.log10(3)) ** 2) - 0.05 * (math.log10(decay) + 6) ** 2


def evaluate(pairs: list[tuple[float, float]]) -> list[float]:
    return [objective(*pair) for pair in pairs]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_rounds_of_one_are_optuna_itself() -> None:
    sampler = optuna.samplers.TPESampler(multivariate=True, seed=5)
    study = optuna.create_study(sampler=sampler, direction="maximize")

    def suggest(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("lr", 1e-1, 1e2, log=True)
        return objective(rate, trial.suggest_float("wd", 1e-12, 1e-4, log=True))

    study.optimize(suggest, n_trials=25)
    theirs = [(t.params["lr"], t.params["wd"], t.value) for t in study.trials]
    ours = search(evaluate, trials=25, round_size=1, seed=5, **SPACE)
    assert [(t.rate, t.decay, t.score) for t in ours] == theirs
    assert best_trial(ours).rate == study.best_params["lr"]


def test_a_first_round_of_ten_is_ten_rounds_of_one() -> None:
    together, alone = (search(evaluate, trials=10, round_size=size, seed=3, **SPACE) for size in (10, 1))
    assert together == alone


@pytest.mark.parametrize("round_size", [1, 4, 10, 30])
def test_every_trial_is_in_range_and_counted(round_size: int) -> None:
    sizes = []

    def counted(pairs: list[tuple[float, float]]) -> list[float]:
        sizes.append(len(pairs))
        return evaluate(pairs)

    found = search(counted, trials=30, round_size=round_size, seed=0, **SPACE)
    assert len(found) == sum(sizes) == 30
    assert max(sizes) == round_size
    assert all(1e-1 <= t.rate <= 1e2 and 1e-12 <= t.decay <= 1e-4 for t in found)


def test_an_even_start_covers_the_range_and_then_follows_the_scores() -> None:
    runs = [search(evaluate, trials=10, round_size=5, seed=seed, starts=5, **SPACE) for seed in range(8)]
    found = runs[0]
    steps = [math.log10(trial.rate) for trial in found[:5]]
    assert steps == pytest.approx([-0.7, -0.1, 0.5, 1.1, 1.7])
    assert len({trial.decay for trial in found}) == 10
    alone = search(evaluate, trials=10, round_size=1, seed=0, starts=5, **SPACE)
    assert alone[:5] == found[:5]
    first, second = (sum(t.score for run in runs for t in run[part]) for part in (slice(5), slice(5, 10)))
    assert second > first


def test_the_first_of_equal_scores_is_best() -> None:
    assert best_trial([Trial(1, 1, 0.5), Trial(2, 2, 0.7), Trial(3, 3, 0.7)]).rate == 2
