"""Measures of retrieval, for each query, from the ranks of its relevant images.

`ranks` (b, r) are from 1 and ascending; `counts` (b,) say how many of them each query has, at least 1: others at the
end of a row are not read. All results are (b,) in float64.
"""

import torch
from torch import Tensor


def recall_at_1(ranks: Tensor, counts: Tensor) -> Tensor:
    """Whether the first image is relevant, 0 or 1."""
    return (ranks[:, 0] == 1).double()


def average_precision(ranks: Tensor, counts: Tensor) -> Tensor:
    """The mean over relevant images of the precision at their rank, over the whole ranking."""
    return _precision(ranks, counts).sum(dim=1) / counts


def average_precision_at_r(ranks: Tensor, counts: Tensor) -> Tensor:
    """The same over the first R ranks, for R relevant images: MAP@R is its mean.

    Musgrave et al. 2020, "A metric learning reality check": 1/R · Σᵢ P(i) over the relevant images among the first R.
    """
    return torch.where(ranks <= counts[:, None], _precision(ranks, counts), 0).sum(dim=1) / counts


def trapezoid_average_precision(ranks: Tensor, counts: Tensor) -> Tensor:
    """The area under precision and recall by trapezoids, as in the code of the Oxford Buildings data set.

    Each relevant image adds 1/R times the mean of the precisions before and at its rank; before rank 1, that is 1.
    """
    number = _numbers(ranks)
    before = torch.where(ranks == 1, 1.0, (number - 1) / (ranks - 1).clamp(min=1).double())
    steps = torch.where(number <= counts[:, None], before + _precision(ranks, counts), 0)
    return steps.sum(dim=1) / (2 * counts)


def precision_at(k: int, ranks: Tensor, counts: Tensor) -> Tensor:
    """The share of relevant images among the first k, or up to the last relevant one if that is earlier.

    So in the evaluation of Radenović et al. 2018: a query with fewer relevant images than k can reach 1.
    """
    last = ranks.gather(1, counts[:, None] - 1)[:, 0].clamp(max=k)
    found = (_numbers(ranks) <= counts[:, None]) & (ranks <= last[:, None])
    return found.sum(dim=1).double() / last


def _numbers(ranks: Tensor) -> Tensor:
    """(r,) 1 for the first relevant image, and so on."""
    return torch.arange(1, ranks.shape[1] + 1, device=ranks.device)


def _precision(ranks: Tensor, counts: Tensor) -> Tensor:
    """(b, r) precision at the rank of each relevant image, and 0 beyond the last."""
    number = _numbers(ranks)
    return torch.where(number <= counts[:, None], number / ranks.double(), 0)
