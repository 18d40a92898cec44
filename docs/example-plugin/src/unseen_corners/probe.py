"""A probe: the class whose median is nearest."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unseen.probes import ScoredProbe
from unseen.probes.probe import Size
from unseen.probes.protocol import Setting
from unseen.reading.keys import key


@dataclass(frozen=True)
class NearestCorner(ScoredProbe):
    """Scores −‖x − mₖ‖ₚ with the median mₖ of the training samples of class k: m·d·c operations for m test samples."""

    name: ClassVar[str] = "nearest-corner"
    title: ClassVar[str] = "the class whose median is nearest"
    purpose: ClassVar[str] = "an example"
    norm: float = key(2.0, "p of the distance", least=1)

    def scores(self, X_train: Tensor, y_train: Tensor, X_test: Tensor, classes: int, seed: int) -> Tensor:
        medians = torch.stack([X_train[y_train == each].median(0).values for each in range(classes)])
        return -torch.cdist(X_test, medians, p=self.norm)

    def flops(self, size: Size, setting: Setting) -> float:
        return 2.0 * size.test_rows * size.dimension * size.classes
