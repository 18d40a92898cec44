"""Checks of the arguments of logistic regularization paths."""

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.arrays import checked_labels


def check_options(penalties: Tensor, tol: float, max_iterations: int, block: int | None, dtype: torch.dtype) -> None:
    """Refuse options with which no path can be solved."""
    if penalties.ndim != 1 or len(penalties) == 0 or not ((penalties > 0) & torch.isfinite(penalties)).all():
        raise UserError("penalties must be a list of positive numbers, as without a penalty there may be no optimum")
    if not tol > 0 or max_iterations < 1 or (block is not None and block < 1):
        raise UserError("tol must be positive, and max_iterations and block at least 1")
    if dtype not in (torch.float64, torch.float32):
        raise UserError(f"dtype must be torch.float64 or torch.float32, not {dtype}")


def checked_classes(y: Tensor, X: Tensor) -> Tensor:
    """(n,) indices, if there are at least two classes and each has a sample."""
    y = checked_labels(y, X, "training")
    there = len(torch.unique(y))
    if there < 2:
        raise UserError("a classifier needs at least two classes")
    if int(y.max()) != there - 1:
        raise UserError(f"class indices must run from 0 to {there - 1} without gaps, as there are {there} classes")
    return y


def checked_targets(y: Tensor, X: Tensor) -> Tensor:
    """(n, c, 1) of 0 and 1 in float64, if every class has both."""
    if len(y) != len(X) or y.numel() == 0:
        raise UserError(f"features of shape {tuple(X.shape)} do not match labels of shape {tuple(y.shape)}")
    if not ((y == 0) | (y == 1)).all():
        raise UserError("labels of shape (samples, classes) must be 0 or 1")
    share = y.double().mean(0)
    same = torch.where((share == 0) | (share == 1))[0]
    if len(same):
        raise UserError(f"all samples have the same label in class {int(same[0])}, so its bias has no optimum")
    return y.to(X.device, torch.float64)[:, :, None]
