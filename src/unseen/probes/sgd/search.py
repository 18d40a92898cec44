"""Search for a learning rate and a weight decay with Optuna's TPE, several trials at a time."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """A pair that was tried and its score on the validation part.

    Attributes:
        stopped: epochs after which it was scored and stopped early; None if it trained to its end.
    """

    rate: float
    decay: float
    score: float
    stopped: int | None = None


Pair = tuple[float, float]
Evaluate = Callable[[Sequence[Pair]], Sequence[float]]


class Search:
    """Pairs to try, both hyper-parameters log-uniform in their ranges: ask for some, tell their scores.

    TPE (multivariate, seeded) draws its first ten pairs at random, so a first round of ten is the same as ten rounds of
    one. Pairs asked for together count as poor until told (Optuna's constant liar), which keeps them apart.

    The first `starts` pairs are spread evenly over the range of rates, and TPE continues from there: for searches with
    so few trials that random draws may miss the good part of the range. Without them, `random` pairs are drawn first;
    the same seed draws the same ones, for any number.
    """

    def __init__(
        self, *, rates: Pair, decays: Pair, round_size: int, seed: int, starts: int = 0, random: int = 10
    ) -> None:
        import numpy as np
        import optuna

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                multivariate=True, seed=seed, constant_liar=round_size > 1, n_startup_trials=starts or random
            )
        with _quiet():
            self._study = optuna.create_study(sampler=sampler, direction="maximize")
        self._rates, self._decays = rates, decays
        shares = np.random.default_rng(seed).random(starts)
        for i, share in enumerate(shares.tolist()):
            self._study.enqueue_trial({"lr": _between(rates, (i + 0.5) / starts), "wd": _between(decays, share)})
        self.trials: tuple[Trial, ...] = ()

    def ask(self, number: int) -> list[Pair]:
        """This many pairs to try next."""
        with _quiet():
            self._asked = [self._study.ask() for _ in range(number)]
            return [
                (trial.suggest_float("lr", *self._rates, log=True), trial.suggest_float("wd", *self._decays, log=True))
                for trial in self._asked
            ]

    def tell(self, scores: Sequence[float], stopped: Sequence[int | None] | None = None) -> None:
        """The scores of the pairs last asked for, in order, and after how many epochs some were stopped."""
        with _quiet():
            for trial, score, epochs in zip(self._asked, scores, stopped or [None] * len(scores), strict=True):
                self._study.tell(trial, score)
                self.trials += (Trial(trial.params["lr"], trial.params["wd"], score, epochs),)


def search(
    evaluate: Evaluate,
    *,
    rates: Pair,
    decays: Pair,
    trials: int,
    round_size: int,
    seed: int,
    starts: int = 0,
) -> tuple[Trial, ...]:
    """All trials in the order they were asked for, `round_size` at a time; one is the usual sequential search."""
    searched = Search(rates=rates, decays=decays, round_size=round_size, seed=seed, starts=starts)
    for size in rounds(trials, round_size):
        searched.tell(evaluate(searched.ask(size)))
    return searched.trials


def rounds(trials: int, round_size: int) -> list[int]:
    """The sizes of the rounds for this many trials."""
    return [min(round_size, trials - start) for start in range(0, trials, round_size)]


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The first of those with the largest score, as in Optuna, among trials that trained to their end."""
    return max((trial for trial in trials if trial.stopped is None), key=lambda trial: trial.score)


def _between(ends: Pair, share: float) -> float:
    """The number at a given fraction between two others, on a logarithmic scale."""
    return float(ends[0] * (ends[1] / ends[0]) ** share)


@contextmanager
def _quiet() -> Iterator[None]:
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
