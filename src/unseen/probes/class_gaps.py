"""Classes without training samples: fits have no column for them, and scores place them below every other class.

The bias of such a class has no optimum, since its loss falls as the bias goes to −∞. The limit is a classifier that
never predicts the class, which is what fits to the other classes give.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

NEVER = 1e6
"""How far below a sample's largest score that of a class without training samples is placed."""


@dataclass(frozen=True, eq=False)
class TrainedFirst:
    """Class indices in another order: classes with training samples, those with validation samples only, then others.

    Attributes:
        places: (c,) new index of each class.
        trained: number of classes with training samples.
        fitted: number of classes with training or validation samples.
    """

    places: Tensor
    trained: int
    fitted: int

    @classmethod
    def of(cls, train: Tensor, val: Tensor, test: Tensor) -> Self:
        """The order for (n,) labels of three splits, among which every class occurs."""
        classes = 1 + max(int(y.max()) for y in (train, val, test))
        rank = torch.full((classes,), 2, device=train.device)
        rank[val] = 1
        rank[train] = 0
        places = torch.empty_like(rank)
        places[rank.argsort(stable=True)] = torch.arange(classes, device=train.device)
        return cls(places, int((rank == 0).sum()), int((rank < 2).sum()))

    @property
    def whole(self) -> bool:
        """Whether every class has training samples, so that nothing changes."""
        return self.trained == len(self.places)

    def labels(self, y: Tensor) -> Tensor:
        """The new indices of labels."""
        return self.places[y]

    def scores(self, scores: Tensor) -> Tensor:
        """(n, c) scores of all classes, in their own order, from those of the first classes of the new order."""
        lacking = len(self.places) - scores.shape[1]
        least = (scores.amax(1, keepdim=True) - NEVER).expand(-1, lacking)
        return torch.cat([scores, least], dim=1)[:, self.places]
