"""The images that an attentive probe is fitted to: their patches, kept on a device or read on use, and their labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.features.device_memory import sent
from unseen.probes.patches.rows import PatchRows, ahead


class Batch(NamedTuple):
    """Some images on the device: features (b, P, d), and labels (b,) or (b, c)."""

    X: Tensor
    Y: Tensor


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Patches and labels of images.

    Attributes:
        rows: one row per image, with its patches one after the other.
        patches: number of patches of an image.
        Y: (n,) class indices, or (n, c) true for the classes that an image shows; on the host.
    """

    rows: PatchRows
    patches: int
    Y: Tensor

    @classmethod
    def of(
        cls, parts: Sequence[NDArray[Any]], patches: int, Y: Tensor, device: torch.device, dtype: torch.dtype
    ) -> "LabelledImages":
        """From arrays (·, P·d) of consecutive images."""
        return cls(PatchRows(parts, device, dtype), patches, Y)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def device(self) -> torch.device:
        return self.rows.device

    @property
    def channels(self) -> int:
        """Dimensions of a patch."""
        return self.rows.channels // self.patches

    @property
    def several(self) -> bool:
        """Whether images have several classes."""
        return self.Y.ndim == 2

    def on_device(self) -> "LabelledImages":
        """The same with all features kept on the device."""
        return replace(self, rows=self.rows.on_device())

    def batches(self, indices: Iterator[Tensor]) -> Iterator[Batch]:
        """The images of each index on the host, read one index ahead."""
        for index, read in ahead(indices, lambda index: (index, self.rows.read(index))):
            X = self.rows.put(index, read)
            yield Batch(X.view(len(X), self.patches, -1), sent(self.Y[index], self.device))
