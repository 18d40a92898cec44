"""Trials that stop early: after some epochs only those with the best validation accuracy go on (successive halving).

Jamieson and Talwalkar 2016, with fixed numbers of survivors. The schedule of learning rates is that of the whole
training, so a trial that survives is trained exactly as without any cuts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Stops:
    """Where training pauses to leave trials out.

    Attributes:
        epochs: after which, ascending.
        choose: of a problem (its number), the epochs trained and the (k, d + 1, c) weights of the trials still running,
            the places of those to go on with, ascending, on the host. If there are none, training ends.
    """

    epochs: tuple[int, ...]
    choose: Callable[[int, int, Tensor], Tensor]

    def of(self, problem: int) -> "Stops":
        """The same where that problem is trained alone."""
        return Stops(self.epochs, lambda _, epoch, weights: self.choose(problem, epoch, weights))

    def end_at_first(self, seen: Sequence[list[Tensor]]) -> "Stops":
        """Training that ends at the first of the stops, where weights are added to the list of their problem."""

        def end(problem: int, _: int, weights: Tensor) -> Tensor:
            seen[problem].append(weights)
            return torch.empty(0, dtype=torch.long)

        return Stops(self.epochs[:1], end)

    def settle(self, problem: int, weights: Tensor, *, trained_epochs: int) -> Tensor:
        """What all stops after so many epochs leave of the weights of trials that move no more."""
        for epoch in self.epochs:
            if epoch > trained_epochs:
                weights = weights[self.choose(problem, epoch, weights).to(weights.device)]
        return weights


def still_running(kept: Tensor, alive: Tensor) -> tuple[Tensor, Tensor]:
    """Which of the trials in `alive` are kept: (m,) places in `alive`, and what they are called among the kept.

    Args:
        kept: (n,) trials that go on.
        alive: (k,) trials that are being trained; the others have diverged and stay as they are.
    """
    places, trials = torch.where(alive[:, None] == kept)
    return places, trials


class Race:
    """The trials of some problems that are trained together, each with its last score.

    Args:
        cuts: (epochs, survivors), ascending in epochs.
        trials: of each problem.
        score: of a problem and (k, d + 1, c) weights, the (k,) scores to go by.
    """

    def __init__(
        self, cuts: Sequence[tuple[int, int]], problems: int, trials: int, score: Callable[[int, Tensor], Tensor]
    ) -> None:
        self._survivors, self._score = dict(cuts), score
        self._running = [torch.arange(trials) for _ in range(problems)]
        self._scores = [[0.0] * trials for _ in range(problems)]
        self._stopped: list[list[int | None]] = [[None] * trials for _ in range(problems)]

    @property
    def stops(self) -> Stops:
        return Stops(tuple(self._survivors), self._choose)

    def finish(self, problem: int, weights: Tensor) -> tuple[list[float], list[int | None]]:
        """Scores of all trials of a problem, given the final weights of the survivors, and where others stopped."""
        self._note(problem, weights)
        return self._scores[problem], self._stopped[problem]

    def _choose(self, problem: int, epoch: int, weights: Tensor) -> Tensor:
        """Those with the best scores; of equal ones the earlier trials."""
        scores, running = self._note(problem, weights), self._running[problem]
        order = scores.argsort(descending=True, stable=True)
        best, rest = order[: self._survivors[epoch]].sort().values, order[self._survivors[epoch] :]
        for trial in running[rest].tolist():
            self._stopped[problem][trial] = epoch
        self._running[problem] = running[best]
        return best

    def _note(self, problem: int, weights: Tensor) -> Tensor:
        scores = self._score(problem, weights).cpu()
        for trial, score in zip(self._running[problem].tolist(), scores.tolist(), strict=True):
            self._scores[problem][trial] = score
        return scores
