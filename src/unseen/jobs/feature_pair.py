"""The features a job works on, found by their content hashes."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.features.features import Features, Rows, align

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Load = Callable[[Path], Features]
READ = 16_384
"""Rows brought to the device at once."""
SPARE = 1 << 30
"""Bytes of device memory left to others."""


def load_pair(train: str, test: str, places: Mapping[str, str], load: Load) -> tuple[Features, Features]:
    """Training and test features with the same classes in the same order, kept for the next job.

    Args:
        train, test: content hashes.
        places: content hash → file or folder.
        load: reads such a place.
    """
    return _aligned((train, test), (places[train], places[test]), load)


@lru_cache(maxsize=2)
def _aligned(hashes: tuple[str, str], places: tuple[str, str], load: Load) -> tuple[Features, Features]:
    train, test = (load_unchanged(each, place, load) for each, place in zip(hashes, places, strict=True))
    return align(train, test, " and ".join(places))


def load_unchanged(content_hash: str, place: str, load: Load) -> Features:
    """Features whose content must be what the job was planned with."""
    features = load(Path(place))
    if features.provenance.get("content_hash") != content_hash:
        raise UserError(f"{place}: changed since this run was planned; run it again")
    return features


def on_device(X: Rows, device: "torch.device", *, unit: bool = False, copies: int = 1) -> "Tensor":
    """All rows on a device in float32, read in blocks.

    Args:
        unit: scale each row to length 1.
        copies: how many such matrices the caller's work will hold at a time, this one among them; where a GPU has not
            the memory for them that is said before anything is read.
    """
    import numpy as np
    import torch

    from unseen.metrics.geometry import unit_rows

    need = copies * len(X) * X.shape[1] * 4
    if device.type == "cuda" and need > _free(device):
        raise UserError(
            f"{len(X):,} × {X.shape[1]} features need {need / 2**30:.0f} GiB of device memory here; "
            "use a device with more, or hide it (CUDA_VISIBLE_DEVICES=) to use the CPU"
        )
    whole = torch.empty(len(X), X.shape[1], device=device)
    for start in range(0, len(X), READ):
        rows = torch.from_numpy(np.array(X[start : start + READ])).to(device)
        whole[start : start + len(rows)] = unit_rows(rows) if unit else rows
    return whole


def _free(device: "torch.device") -> int:
    """Bytes that may be used on a GPU, with those that PyTorch holds from earlier work and would use again."""
    import torch

    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + held - SPARE)
