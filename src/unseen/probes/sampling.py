"""Draws of samples per class: a validation part, a few shots."""

import torch
from torch import Generator, Tensor


def stream(seed: int, number: int) -> Generator:
    """A generator for one purpose: streams of one seed, and equal streams of different seeds, do not share numbers.

    0 parts the samples, 1 draws shots for trials and 3 for the final fit, 2 trains trials and 4 the final fit.
    """
    return Generator().manual_seed((seed << 8) + number)


def split_validation(y: Tensor, share: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """Indices of the training and the validation part: of each class, ⌊share·n⌋ samples validate, at least one.

    A class with a single sample keeps it for training and is not validated.
    """
    fit, validation = [], []
    for members in _shuffled_classes(y, generator):
        count = min(max(int(len(members) * share), 1), len(members) - 1)
        cut = len(members) - count
        fit.append(members[:cut])
        validation.append(members[cut:])
    return torch.cat(fit), torch.cat(validation)


def draw_shots(y: Tensor, shots: int, generator: Generator) -> Tensor:
    """Indices of `shots` samples of each class, or of all there are where a class has fewer."""
    return torch.cat([members[:shots] for members in _shuffled_classes(y, generator)])


def _shuffled_classes(y: Tensor, generator: Generator) -> list[Tensor]:
    """Indices of the samples of each class, in random order, class by class in order of label."""
    labels = y.cpu()
    classes = torch.unique(labels)
    order = torch.argsort(labels, stable=True)
    groups = torch.split(order, torch.bincount(labels)[classes].tolist())
    return [group[torch.randperm(len(group), generator=generator)] for group in groups]
