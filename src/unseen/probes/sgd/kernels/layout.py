"""The layout of the weights of many classifiers in one matrix."""

from dataclasses import dataclass

import torch
from torch import Tensor

ALIGNED = 16
"""Columns of a trial are padded to a multiple of this, so that loads can be wide wherever a trial starts."""
TILE = 128
"""The total number of columns is padded to a multiple of this, so that no kernel needs a mask at the end of a row."""


def padded(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def rows_together(rows: int) -> int:
    """Number of rows of weights that one program of a kernel processes; they must not cross the end of a problem."""
    return next(number for number in (4, 2, 1) if rows % number == 0)


@dataclass(frozen=True)
class Layout:
    """The columns of k classifiers of c classes: those of trial t start at t·width, and the first c are used."""

    trials: int
    classes: int

    @property
    def width(self) -> int:
        return padded(self.classes, ALIGNED)

    @property
    def columns(self) -> int:
        return padded(self.trials * self.width, TILE)

    def split(self, stacked: Tensor) -> Tensor:
        """(…, columns) → (…, k, c), a view of the used columns."""
        used = stacked[..., : self.trials * self.width]
        return used.view(*used.shape[:-1], self.trials, self.width)[..., : self.classes]

    def spread(self, per_trial: Tensor) -> Tensor:
        """(…, k) → (…, columns): the value of its trial in every column, and 0 in the padding at the end."""
        wide = per_trial.repeat_interleave(self.width, dim=-1)
        return torch.nn.functional.pad(wide, (0, self.columns - wide.shape[-1]))
