"""The features a job works on, found by their content hashes."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.features.features import Features, Rows, align

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Load = Callable[[Path], Features]
READ = 16_384
"""Rows brought to the device at once."""


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
    """All rows on a device in float32, read in blocks; arguments as in `all_on_device`."""
    return all_on_device([X], device, unit=unit, copies=copies)


def all_on_device(parts: Sequence[Rows], device: "torch.device", *, unit: bool = False, copies: int = 1) -> "Tensor":
    """The rows of all parts, one after the other, on a device in float32, read in blocks.

    Args:
        unit: scale each row to length 1.
        copies: how many such matrices the caller's work will hold at a time, this one among them; where a GPU has not
            the memory for them that is said before anything is read.
    """
    import numpy as np
    import torch

    from unseen.metrics.geometry import unit_rows

    count, dimension = sum(map(len, parts)), parts[0].shape[1]
    need = copies * count * dimension * 4
    if need > free_bytes(device):
        raise UserError(
            f"{count:,} × {dimension} features need {need / 2**30:.0f} GiB of device memory here; "
            "use a device with more, or hide it (CUDA_VISIBLE_DEVICES=) to use the CPU"
        )
    whole = torch.empty(count, dimension, device=device)
    place = 0
    for X in parts:
        for start in range(0, len(X), READ):
            rows = torch.from_numpy(np.array(X[start : start + READ])).to(device)
            whole[place : place + len(rows)] = unit_rows(rows) if unit else rows
            place += len(rows)
    return whole
