"""Which test images a logistic regression got right: kept in its result, for comparisons without the features."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.runs.results import Result

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 4096
"""Rows scored at once."""


def linear_scores(rows: "Tensor", weights: "Tensor", bias: "Tensor") -> Iterator["Tensor"]:
    """(b, c) scores of blocks of rows, in float32 on their device.

    The numbers that are multiplied are rounded as the probe rounds them: 16-bit rows on a GPU meet 16-bit weights.

    Args:
        rows: (n, d) of length 1, float32 or float16.
        weights, bias: (c, d) and (c,).
    """
    import torch

    kernel, offset = weights.T.to(rows.device), bias.to(rows.device)
    if rows.is_cuda:
        kernel, offset = kernel.to(rows.dtype).float(), offset.to(rows.dtype).float()
    for block in torch.split(rows, BLOCK):
        yield block.float() @ kernel + offset


def top1_hits(rows: "Tensor", y: "Tensor", weights: "Tensor", bias: "Tensor") -> NDArray[np.bool_]:
    """(n,) whether the greatest score of each row is that of its class; arguments as in `linear_scores`.

    The probe's top-1 is the mean of these, up to scores that are equal but for the order of a sum.
    """
    import torch

    hits = []
    for scores, labels in zip(linear_scores(rows, weights, bias), torch.split(y, BLOCK), strict=True):
        value, place = scores.max(dim=1)
        hits.append((place.cpu() == labels) & value.isfinite().cpu())
    found: NDArray[np.bool_] = torch.cat(hits).numpy()
    return found


def packed(hits: NDArray[np.bool_]) -> dict[str, Any]:
    """As values of a result: the number of `images`, and `correct` in base64, eight a byte (50,000 make 8 KB)."""
    return {"images": len(hits), "correct": b64encode(np.packbits(hits).tobytes()).decode()}


def correct_of(result: Result) -> NDArray[np.bool_]:
    """(n,) which test images a result has right, in the order of the test set.

    Results of runs before this was kept do not say.
    """
    if "correct" not in result.values:
        raise UserError(f"the result {result.key}.json does not say which images were right; delete it and run again")
    try:
        bits = np.frombuffer(b64decode(result.values["correct"], validate=True), dtype=np.uint8)
        count = result.values["images"]
        if count < 1 or len(bits) != -(-count // 8):
            raise ValueError("another number of images")
        return np.unpackbits(bits, count=count).astype(bool)
    except (ValueError, KeyError, TypeError):
        raise UserError(f"the result {result.key}.json is damaged; delete the file and run again") from None
