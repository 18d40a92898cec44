"""The independent reference of grids of linear classifiers: modules of PyTorch, with its own optimiser and schedule."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from unseen.probes.sgd.grid_protocol import Range

FOUR = (Range("cls1", 24, 32), Range("cls1-avg", 24, 40), Range("cls4", 0, 32), Range("cls4-avg", 0, 40))
"""The inputs of DINOv2 for a network of width 8."""


def modules_after(
    X: Tensor,
    y: Tensor,
    ranges: Sequence[Range],
    initial: Sequence[Tensor],
    rates: Sequence[float],
    batches: Iterable[Tensor],
    steps: int,
) -> list[list[nn.Linear]]:
    """A layer per range and rate, trained on the same batches, given as indices."""
    heads = []
    for each, start in zip(ranges, initial, strict=True):
        heads.append([nn.Linear(each.width, start.shape[1]).to(X) for _ in rates])
        for head in heads[-1]:
            head.weight.data.copy_(start.T)
            head.bias.data.zero_()
    groups = [
        {"params": [*head.parameters()], "lr": rate} for row in heads for head, rate in zip(row, rates, strict=True)
    ]
    optimiser = torch.optim.SGD(groups, momentum=0.9, weight_decay=0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=0)
    for chosen in batches:
        losses = [
            nn.functional.cross_entropy(head(X[chosen][:, each.columns]), y[chosen])
            for each, row in zip(ranges, heads, strict=True)
            for head in row
        ]
        optimiser.zero_grad()
        torch.stack(losses).sum().backward()
        optimiser.step()
        schedule.step()
    return heads
