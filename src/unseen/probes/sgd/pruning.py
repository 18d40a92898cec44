"""Early stopping of trials: after some epochs only those with the best validation accuracy continue (successive
halving).

Jamieson and Talwalkar 2016, with fixed numbers of survivors. The learning-rate schedule is that of the whole training,
so a surviving trial is trained exactly as without pruning.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Stops:
    """The points at which training pauses to stop trials.

    Attributes:
        epochs: after which epochs, ascending.
        choose: given a problem (its index), the epochs trained and the (k, d + 1, c) weights of the running trials, the
            ascending indices of those that continue, on the host. If there are none, training ends.
    """

    epochs: tuple[int, ...]
    choose: Callable[[int, int, Tensor], Tensor]

    def of(self, problem: int) -> "Stops":
        """The same for that problem trained alone."""
        return Stops(self.epochs, lambda _, epoch, weights: self.choose(problem, epoch, weights))

    def end_at_first(self, seen: Sequence[list[Tensor]]) -> "Stops":
        """Training that ends at the first stop, where weights are added to the list of their problem."""

        def end(problem: int, _: int, weights: Tensor) -> Tensor:
            seen[problem].append(weights)
            return torch.empty(0, dtype=torch.long)

        return Stops(self.epochs[:1], end)

    def settle(self, problem: int, weights: Tensor, *, trained_epochs: int) -> Tensor:
        """The weights of trials that no longer change which remain after all stops up to this epoch."""
        for epoch in self.epochs:
            if epoch > trained_epochs:
                weights = weights[self.choose(problem, epoch, weights).to(weights.device)]
        return weights


def still_running(kept: Tensor, alive: Tensor) -> tuple[Tensor, Tensor]:
    """The trials in `alive` that are kept: (m,) indices in `alive`, and their indices among the kept ones.

    Args:
        kept: (n,) trials that continue.
        alive: (k,) trials that are being trained; the others have diverged and do not change.
    """
    places, trials = torch.where(alive[:, None] == kept)
    return places, trials


class Race:
    """The trials of some problems that are trained together, each with its last score.

    Args:
        cuts: (epochs, survivors), ascending in epochs.
        trials: of each problem.
        score: the (k,) scores of a problem and (k, d + 1, c) weights.
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
        """Scores of all trials of a problem, given the final weights of the survivors, and when the others stopped."""
        self._note(problem, weights)
        return self._scores[problem], self._stopped[problem]

    def _choose(self, problem: int, epoch: int, weights: Tensor) -> Tensor:
        """The trials with the best scores; ties go to earlier trials."""
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
