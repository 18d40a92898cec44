"""The training patches of a dense task: their features and labels, read when they are used."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.features.device_memory import sent
from unseen.probes.patches.labels import PatchLabels
from unseen.probes.patches.rows import PatchRows, ahead


class Block(NamedTuple):
    """Some patches on the device: features (m, d), pixels of each code (m, c), and labelled pixels (m,)."""

    X: Tensor
    pixels: Tensor
    totals: Tensor


@dataclass(frozen=True, eq=False)
class TrainingPatches:
    """The patches of training images, image by image.

    Attributes:
        images: (i,) indices of the images that have labels.
        positions: number of patches of each image.
    """

    features: PatchRows
    labels: PatchLabels
    images: Tensor
    positions: int

    @classmethod
    def of(cls, X: Tensor, Y: Tensor, positions: int = 1) -> "TrainingPatches":
        """From features (n, d), which stay on their device, and pixels of codes (n, c)."""
        features = PatchRows((), X.device, X.dtype, X)
        labels = PatchLabels.of([Y.float().cpu().numpy()], Y.shape[1])
        return cls(features, labels, torch.arange(len(X) // positions), positions)

    @property
    def device(self) -> torch.device:
        return self.features.device

    def on_device(self) -> "TrainingPatches":
        """The same with all features kept on the device."""
        return replace(self, features=self.features.on_device())

    def of_images(self, images: Tensor) -> Tensor:
        """Indices of the patches of some images, in order."""
        return (images.sort().values[:, None] * self.positions + torch.arange(self.positions)).flatten()

    def labelled(self, index: Tensor | None = None) -> Tensor:
        """Those of some patches, or of all, that have a labelled pixel."""
        labelled = self.labels.totals > 0
        found = torch.nonzero(labelled).flatten() if index is None else index[labelled[index]]
        if not len(found):
            raise UserError("no patch of the training images has a label")
        return found

    def blocks(self, indices: Iterable[Tensor]) -> Iterator[Block]:
        """The patches of each index, read one index ahead."""
        read = ahead(indices, lambda index: (index, self.features.read(index), self.labels.read(index)))
        for index, rows, entries in read:
            table = self.labels.table(entries, self.device)
            yield Block(self.features.put(index, rows), table, sent(self.labels.totals[index], self.device))
