"""Labels of patches: how many pixels of each code a patch contains."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.features.device_memory import sent


class Entries(NamedTuple):
    """The labels of some patches on the host: (entries,) the place of a patch among them, a code and its pixels."""

    patches: int
    place: Tensor
    code: Tensor
    pixels: Tensor


@dataclass(frozen=True, eq=False)
class PatchLabels:
    """Pixels of each code in each of n patches, as integers and without the zeros: most patches have one or two codes.

    They stay on the host, where they take a tenth of the memory of an (n, count) table, and are exact for patches of
    any size. Only the tables of the patches in use are made, on the device.

    Attributes:
        starts: (n + 1,) patch i has the entries from starts[i] to starts[i + 1].
        codes, pixels: (entries,) a code, and its number of pixels.
        count: number of codes.
    """

    starts: Tensor
    codes: Tensor
    pixels: Tensor
    count: int

    @classmethod
    def of(cls, histograms: Iterable[NDArray[np.float32]], count: int) -> "PatchLabels":
        """From tables (patches, count) of pixels, one after the other."""
        lengths, codes, pixels = [np.zeros(1, np.int64)], [np.empty(0, np.int16)], [np.empty(0, np.int32)]
        for table in histograms:
            patch, code = np.nonzero(table)
            lengths.append(np.bincount(patch, minlength=len(table)))
            codes.append(code.astype(np.int16))
            pixels.append(table[patch, code].astype(np.int32))
        starts = torch.from_numpy(np.concatenate(lengths).cumsum())
        return cls(starts, torch.from_numpy(np.concatenate(codes)), torch.from_numpy(np.concatenate(pixels)), count)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def totals(self) -> Tensor:
        """(n,) labelled pixels of each patch."""
        until = torch.nn.functional.pad(self.pixels.cumsum(0), (1, 0))
        return (until[self.starts[1:]] - until[self.starts[:-1]]).float()

    def read(self, index: Tensor) -> Entries:
        """The labels of the patches of an index (m,), which is on the host as everything here."""
        first = self.starts[index]
        lengths = self.starts[index + 1] - first
        place = torch.repeat_interleave(torch.arange(len(index)), lengths)
        before = lengths.cumsum(0) - lengths
        entry = torch.arange(len(place)) + (first - before)[place]
        return Entries(len(index), place, self.codes[entry], self.pixels[entry])

    def table(self, entries: Entries, device: torch.device) -> Tensor:
        """(m, count) pixels of each code in the patches that were read, on a device."""
        table = torch.zeros(entries.patches, self.count, device=device)
        place, code, pixels = (sent(each, device) for each in entries[1:])
        table[place, code.long()] = pixels.float()
        return table

    def shares(self, index: Tensor, device: torch.device) -> Tensor:
        """(m, count) shares of codes among the labelled pixels of each patch; zeros if it has none."""
        return self.table(self.read(index), device) / sent(self.totals[index], device).clamp_min(1)[:, None]
