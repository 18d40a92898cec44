"""The class whose mean is nearest."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unseen.probes import ScoredProbe


@dataclass(frozen=True)
class NearestMean(ScoredProbe):
    """Minus the distance to the mean of each class."""

    name: ClassVar[str] = "nearest-mean"
    title: ClassVar[str] = "the class whose mean is nearest"

    def scores(self, X_train: Tensor, y_train: Tensor, X_test: Tensor, classes: int, seed: int) -> Tensor:
        means = torch.stack([X_train[y_train == each].mean(0) for each in range(classes)])
        return -torch.cdist(X_test, means)


PROBE = NearestMean
