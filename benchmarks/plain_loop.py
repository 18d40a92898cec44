"""The logistic regression of the public ImageNet-CoG code as a plain PyTorch loop, one trial at a time.

It does everything that the public code does in a step: it reads the loss and both accuracies and checks that the loss
is finite. After every epoch it scores the validation set in batches.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class PlainLoop:
    """One trial: a linear layer, its optimiser, and what it saw."""

    X: Tensor
    y: Tensor
    rate: float
    decay: float
    classes: int
    batch: int = 1024
    epochs: int = 100

    def __post_init__(self) -> None:
        self.model = nn.Linear(self.X.shape[1], self.classes, device=self.X.device)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=self.rate, momentum=0.9, weight_decay=self.decay)
        self.losses: list[float] = []
        self.hits: list[tuple[float, float]] = []

    def step(self, chosen: Tensor) -> bool:
        """Train on a batch; False where the loss is not finite."""
        X, y = self.X[chosen], self.y[chosen]
        scores = self.model(X)
        loss = nn.functional.cross_entropy(scores, y)
        if not torch.isfinite(loss):
            return False
        self.hits.append(self._accuracies(scores, y))
        self.losses.append(loss.item())
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return True

    @torch.no_grad()
    def validate(self, X: Tensor, y: Tensor) -> float:
        """Top-1 in percent on a validation set, batch by batch, with the loss read out and predictions kept."""
        self.model.eval()
        right, predicted = 0.0, torch.full((len(X),), -1.0, device=X.device)
        for start in range(0, len(X), self.batch):
            scores = self.model(X[start : start + self.batch])
            labels = y[start : start + self.batch]
            predicted[start : start + len(labels)] = scores.argmax(dim=1)
            nn.functional.cross_entropy(scores, labels).item()
            right += self._accuracies(scores, labels)[0] * len(labels)
        self.model.train()
        if not bool((predicted >= 0).all()):
            raise RuntimeError("a sample has no prediction")
        return right / len(X)

    def run(self, X_val: Tensor, y_val: Tensor) -> float:
        """All epochs; the validation accuracy after the last."""
        score = 0.0
        for epoch in range(self.epochs):
            order = torch.randperm(len(self.X), device=self.X.device)
            alive = all(self.step(chosen) for chosen in torch.split(order, self.batch))
            score = self.validate(X_val, y_val)
            for group in self.optimiser.param_groups:
                group["lr"] = self.rate * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))
            if not alive:
                break
        return score

    @staticmethod
    def _accuracies(scores: Tensor, y: Tensor) -> tuple[float, float]:
        """Top-1 and top-5 in percent, each summed and read out by itself."""
        with torch.no_grad():
            best = scores.topk(5, dim=1, largest=True, sorted=True).indices.t()
            hits = best.eq(y[None].expand_as(best))
            sums = [hits[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100 / len(y)) for k in (1, 5)]
            return sums[0].item(), sums[1].item()
