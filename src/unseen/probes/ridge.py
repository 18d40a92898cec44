"""Ridge regression on classes or on real targets, for every penalty from one eigendecomposition.

With X and Y centred (which gives an unpenalised intercept) and XᵀX = V S Vᵀ, the minimiser of ‖Y − XW‖² + λ‖W‖² is  W =
V (S + λ)⁻¹ Vᵀ XᵀY  for every λ: after one decomposition, each further penalty only divides by other numbers. S and V
are from `pca`, which computes them from XXᵀ if there are fewer samples than dimensions. All in float64; nothing is
random.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from unseen.errors import UserError
from unseen.probes.arrays import checked_features, checked_labels, group_sums, row_blocks
from unseen.probes.pca import pca


@dataclass(frozen=True)
class Ridge:
    """Regressions for p penalties, in a shared form; float64 on the device of the data.

    Attributes:
        mean, target_mean: (d,) and (c,) of the training set.
        axes: (r, d) orthonormal: Vᵀ, without directions in which the training samples do not differ.
        squares: (r,) S, the sum of squares of the training samples along each axis.
        moments: (r, c) VᵀXᵀY.
    """

    penalties: tuple[float, ...]
    mean: Tensor
    target_mean: Tensor
    axes: Tensor
    squares: Tensor
    moments: Tensor

    def weights(self, index: int) -> tuple[Tensor, Tensor]:
        """(c, d) weights and (c,) intercepts for a penalty by its index. 2·r·d·c flops."""
        weights = self._coefficients(index).T @ self.axes
        return weights, self.target_mean - weights @ self.mean

    def predict(self, X: Tensor, index: int) -> Tensor:
        """(n, c) predictions for a penalty by its index."""
        X = checked_features(X, "predicted").to(self.mean.device)
        coefficients = self._coefficients(index)
        return torch.cat([along @ coefficients + self.target_mean for _, along in self._along_axes(X)])

    def accuracies(self, X: Tensor, y: Tensor) -> Tensor:
        """(p,) share of samples that are classified correctly, for every penalty; see `hits`."""
        return self.hits(X, y).sum(dim=1).double() / len(X)

    def hits(self, X: Tensor, y: Tensor) -> Tensor:
        """(p, n) whether the class of a sample has the largest prediction, the first among ties, for every penalty.

        Samples are projected on the axes once: 2·n·r·(d + p·c) flops. A class that was not trained on is never right.
        Predictions that are not finite are refused.
        """
        X = checked_features(X, "test").to(self.mean.device)
        y = checked_labels(y, X, "test")
        correct = torch.zeros(len(self.penalties), len(X), dtype=torch.bool, device=X.device)
        finite = torch.ones((), dtype=torch.bool, device=X.device)
        for rows, along in self._along_axes(X):
            for index in range(len(self.penalties)):
                values, predicted = (along @ self._coefficients(index)).add_(self.target_mean).max(dim=1)
                finite &= values.isfinite().all()
                correct[index, rows] = predicted == y[rows]
        if not bool(finite):
            raise UserError("the predictions of ridge regression are not finite numbers; scale the features")
        return correct

    def _coefficients(self, index: int) -> Tensor:
        """(r, c) weights along the axes."""
        return self.moments / (self.squares + self.penalties[index])[:, None]

    def _along_axes(self, X: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Blocks of rows and their (b, r) coordinates."""
        if X.shape[1] != len(self.mean):
            raise UserError(f"samples of {X.shape[1]} dimensions do not match a regression on {len(self.mean)}")
        width = X.shape[1] + len(self.squares) + len(self.target_mean)
        for rows in row_blocks(len(X), 8 * width, X.device):
            yield rows, (X[rows].double() - self.mean) @ self.axes.T


@dataclass(frozen=True)
class LeaveOneOut:
    """The scores of n regressions, each on the sample it was trained without.

    Attributes:
        errors: (p,) mean squared error over samples and targets, for each penalty.
        accuracies: (p,) share of samples of the right class, or None if the targets are not classes.
    """

    errors: Tensor
    accuracies: Tensor | None


def ridge(X: Tensor, y: Tensor, penalties: Sequence[float]) -> Ridge:
    """Fit a regression for each penalty λ > 0 on the summed squared error.

    2·min(n, d)·n·d flops for the products and about 10·min(n, d)³ to decompose them, once for all penalties.

    Args:
        X: (n, d) features of any real dtype, n ≥ 2; not modified.
        y: (n,) class indices, regressed on as one 0/1 column per class (−1 and 1 would give the same order of classes),
            or (n, c) real targets.
    """
    X = checked_features(X, "training")
    targets = _checked_targets(X, y)
    if not penalties or not all(0 < penalty < float("inf") for penalty in penalties):
        raise UserError("ridge regression needs one or more penalties, each positive and finite")
    axes = pca(X)
    squares = axes.variances * (len(X) - 1)
    # Rounding leaves about this much along empty directions.
    kept = squares > squares[0] * max(X.shape) * torch.finfo(torch.float64).eps
    basis = axes.components[kept]
    moments, total = _moments(X, targets, axes.mean)
    return Ridge(tuple(penalties), axes.mean, total / len(X), basis, squares[kept], basis @ moments)


def leave_one_out(model: Ridge, X: Tensor, y: Tensor) -> LeaveOneOut:
    """Score every penalty on the training set itself, exactly as if each sample had been left out in turn.

    The error of the regression without sample i is eᵢ/(1 − hᵢ), with e its error in the full regression and h = 1/n + Σ
    uᵢ² S/(S + λ) its leverage, u = X v/√S. 2·n·r·(d + p·c) flops and no further fit.

    Args:
        X, y: the training set of `model`.
    """
    X = checked_features(X, "training").to(model.mean.device)
    targets = _checked_targets(X, y)
    classes, count = targets.ndim == 1, len(model.target_mean)
    penalties = torch.tensor(model.penalties, dtype=torch.float64, device=X.device)
    shrinkage = penalties / (model.squares[:, None] + penalties)
    squared = torch.zeros_like(penalties)
    correct = torch.zeros_like(penalties)
    for rows, along in model._along_axes(X):
        shares = along.square() / model.squares
        # 1 − h in two parts that do not cancel: the part no axis explains, and the part due to the penalty.
        outside = (1 - 1 / len(X) - shares.sum(dim=1)).clamp(min=0)
        free = outside[:, None] + shares @ shrinkage
        wanted = one_hot(targets[rows], count).double() if classes else targets[rows]
        for index in range(len(penalties)):
            errors = wanted - model.target_mean - along @ model._coefficients(index)
            errors /= free[:, index, None]
            squared[index] += errors.square().sum()
            if classes:
                correct[index] += ((wanted - errors).argmax(dim=1) == targets[rows]).sum()
    return LeaveOneOut(squared / (len(X) * count), correct / len(X) if classes else None)


def _checked_targets(X: Tensor, y: Tensor) -> Tensor:
    """(n,) class indices or (n, c) targets in float64."""
    if y.ndim == 1:
        return checked_labels(y, X, "training")
    targets = checked_features(y, "target")
    if len(targets) != len(X):
        raise UserError(f"{len(X)} samples do not match {len(targets)} rows of targets")
    return targets.to(X.device, torch.float64)


def _moments(X: Tensor, targets: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """(d, c) products of centred features and targets, and (c,) sums of targets.

    For classes the products are the sums of each class's features: n·d additions instead of 2·n·d·c flops. Samples are
    processed in order of class, so that a block adds to few classes.
    """
    if targets.ndim == 2:
        products = torch.zeros(X.shape[1], targets.shape[1], dtype=torch.float64, device=X.device)
        for rows in row_blocks(len(X), 16 * X.shape[1], X.device):
            products.addmm_((X[rows].double() - mean).T, targets[rows])
        return products, targets.sum(dim=0)
    sizes = torch.bincount(targets)
    sums = torch.zeros(len(sizes), X.shape[1], dtype=torch.float64, device=X.device)
    in_order, order = targets.sort(stable=True)
    for rows in row_blocks(len(X), 16 * X.shape[1], X.device):
        low, high = int(in_order[rows.start]), int(in_order[rows.stop - 1]) + 1
        centred = X[order[rows]].double() - mean
        sums[low:high] += group_sums(centred, in_order[rows] - low, high - low)
    return sums.T, sizes.double()
