"""Sampling per class: a validation part, a few shots."""

import numpy as np
import torch
from torch import Generator, Tensor


def stream(seed: int, number: int) -> Generator:
    """A generator for one purpose: streams of one seed, and equal streams of different seeds, share no numbers.

    0 splits the samples, 1 draws shots for trials and 3 for the final fit, 2 trains trials and 4 the final fit.
    """
    return Generator().manual_seed((seed << 8) + number)


def split_validation(y: Tensor, share: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """Indices of the training and the validation part: of each class, ⌊share·n⌋ samples (at least one) for validation.

    A class with a single sample keeps it for training and is not validated.
    """
    order, rank, size = _shuffled(y, generator)
    held = torch.minimum((size * share).long().clamp(min=1), size - 1)
    kept = rank < size - held
    return order[kept], order[~kept]


def draw_shots(y: Tensor, shots: int, generator: Generator) -> Tensor:
    """Indices of `shots` samples of each class, or of all samples if a class has fewer."""
    order, rank, _ = _shuffled(y, generator)
    return order[rank < shots]


def _shuffled(y: Tensor, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Indices of all samples, class by class and in random order within it, with the rank of each and the size of its
    class.
    """
    mixed = torch.randperm(len(y), generator=generator)
    labels = y.cpu()[mixed].numpy()
    narrow = labels.astype(np.uint16) if labels.max() < 1 << 16 else labels  # sorted in linear time
    sort = torch.from_numpy(np.argsort(narrow, kind="stable"))
    counts = torch.bincount(y.cpu())
    counts = counts[counts > 0]
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)
    return mixed[sort], torch.arange(len(y)) - first, counts.repeat_interleave(counts)
