"""Search for a learning rate and a weight decay with Optuna's TPE, several trials at a time."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """A pair that was tried and its score on the validation part."""

    rate: float
    decay: float
    score: float


Evaluate = Callable[[Sequence[tuple[float, float]]], Sequence[float]]


def search(
    evaluate: Evaluate,
    *,
    rates: tuple[float, float],
    decays: tuple[float, float],
    trials: int,
    round_size: int,
    seed: int,
    starts: int = 0,
) -> tuple[Trial, ...]:
    """All trials in the order they were asked for, both hyper-parameters log-uniform in their ranges.

    Each round asks TPE (multivariate, seeded) for `round_size` pairs, evaluates them together, and tells it the
    scores; rounds of one are the usual sequential search. TPE draws its first ten pairs at random, so a first round of
    ten is the same as ten rounds of one. Pairs asked for in one round count as poor until told (Optuna's constant
    liar), which keeps them apart.

    The first `starts` pairs are spread evenly over the range of rates, and TPE takes over from there: for searches of
    so few trials that random draws may miss the good part of the range.
    """
    import numpy as np
    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            multivariate=True,
            seed=seed,
            constant_liar=round_size > 1,
            n_startup_trials=starts or 10,
        )
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=sampler, direction="maximize")
        shares = np.random.default_rng(seed).random(starts)
        for i, share in enumerate(shares.tolist()):
            study.enqueue_trial({"lr": _between(rates, (i + 0.5) / starts), "wd": _between(decays, share)})
        found: list[Trial] = []
        while len(found) < trials:
            asked = [study.ask() for _ in range(min(round_size, trials - len(found)))]
            pairs = [
                (trial.suggest_float("lr", *rates, log=True), trial.suggest_float("wd", *decays, log=True))
                for trial in asked
            ]
            for trial, pair, score in zip(asked, pairs, evaluate(pairs), strict=True):
                study.tell(trial, score)
                found.append(Trial(*pair, score))
    finally:
        optuna.logging.set_verbosity(verbosity)
    return tuple(found)


def _between(ends: tuple[float, float], share: float) -> float:
    """The number at a share of the way between two others, in logarithms."""
    return float(ends[0] * (ends[1] / ends[0]) ** share)


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The first of those with the greatest score, as Optuna has it."""
    return max(trials, key=lambda trial: trial.score)
