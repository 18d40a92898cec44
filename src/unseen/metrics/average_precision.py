"""Average precision as in the PASCAL VOC 2007 challenge: precision interpolated at eleven recalls.

Everingham et al. 2010, "The PASCAL Visual Object Classes (VOC) Challenge", section 4.2.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError


@dataclass(frozen=True)
class AveragePrecision:
    """The average precision of each class, in order of columns, and their mean."""

    per_class: tuple[float, ...]
    mean: float


def average_precision_11_point(scores: Tensor, positives: Tensor, ignored: Tensor | None = None) -> AveragePrecision:
    """For each class the mean, over r in {0, .1, …, 1}, of the largest precision at any recall ≥ r.

    A threshold admits all samples that score at least as much, so samples with equal scores are admitted together and
    the order of rows never matters. (The challenge's own code takes equal scores in the order of the file; the two
    agree if no positive and negative tie.) Recall is compared in integers, 10·found ≥ 10r·all, since .3 and 3/10 need
    not be the same floating-point number. Costs one sort per class, O(n log n).

    Args:
        scores: (n, c), larger is more likely; one binary classifier per column.
        positives: (n, c) true if a sample shows the class.
        ignored: (n, c) true if a sample counts neither for nor against the class (VOC's `difficult`).
    """
    _check(scores, positives, ignored)
    counted = torch.ones_like(positives) if ignored is None else ~ignored
    wanted = positives & counted
    totals = wanted.sum(dim=0)
    empty = torch.where(totals == 0)[0]
    if len(empty):
        raise UserError(f"class {int(empty[0])} has no positive sample, so it has no average precision; leave it out")
    ranked, order = scores.sort(dim=0, descending=True)
    hits = wanted.gather(0, order).cumsum(dim=0)
    admitted = counted.gather(0, order).cumsum(dim=0)
    # A threshold lies below the last of each run of equal scores; precision is undefined elsewhere.
    last = torch.ones_like(wanted)
    last[:-1] = ranked[:-1] != ranked[1:]
    precision = torch.where(last, hits.double() / admitted.clamp(min=1), 0)
    best = [torch.where(10 * hits >= tenth * totals, precision, 0).amax(dim=0) for tenth in range(11)]
    per_class = torch.stack(best).mean(dim=0)
    return AveragePrecision(tuple(per_class.tolist()), float(per_class.mean()))


def _check(scores: Tensor, positives: Tensor, ignored: Tensor | None) -> None:
    if scores.ndim != 2 or scores.numel() == 0:
        raise UserError(f"scores must be samples × classes, not of shape {tuple(scores.shape)}")
    for name, mask in (("positives", positives), ("ignored", ignored)):
        if mask is not None and (mask.dtype != torch.bool or mask.shape != scores.shape):
            raise UserError(
                f"{name} must be true or false for each of {tuple(scores.shape)} scores, "
                f"not {mask.dtype} of shape {tuple(mask.shape)}"
            )
    if scores.is_complex() or torch.isnan(scores).any():
        raise UserError("the scores contain NaN, which cannot be ranked")
