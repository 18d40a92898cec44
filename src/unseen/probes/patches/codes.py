"""Label maps as maps of codes, and probabilities of codes as predictions.

Classes are codes already. Normals are coded by the nearest of 40 directions, depths by one of 256 bins, so that one
classifier handles all; a prediction is then the mean of the codes' values, weighted by their probabilities.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.dense.labels import Kind, Map
from unseen.errors import UserError

UNLABELLED = -1
"""The code of pixels without a label."""
CODEWORDS = 40
"""Directions that code normals, as in Ericsson et al. 2021, A.5."""
BINS, NEAREST, FARTHEST = 256, 0.001, 10.0
"""Range of depths in metres, divided into uniform bins (after DINOv2)."""


class Codes(Protocol):
    """The coding of one kind of map."""

    @property
    def kind(self) -> Kind: ...

    @property
    def count(self) -> int:
        """Number of codes."""
        ...

    @property
    def values(self) -> Tensor | None:
        """(count, v) the value of each code, if predictions are means of values; None for classes."""
        ...

    def encode(self, labels: Map) -> NDArray[np.int16]:
        """(h, w) codes of a map, `UNLABELLED` if it has no label."""
        ...

    def decode(self, probabilities: Tensor) -> Tensor:
        """Predictions (h, w), for normals (h, w, 3), from probabilities (count, h, w)."""
        ...


@dataclass(frozen=True)
class ClassCodes:
    """Classes by index; the most probable one is predicted."""

    count: int
    kind: Kind = "classes"

    @property
    def values(self) -> None:
        return None

    def encode(self, labels: Map) -> NDArray[np.int16]:
        codes = labels.astype(np.int16)
        codes[codes >= self.count] = UNLABELLED
        return codes

    def decode(self, probabilities: Tensor) -> Tensor:
        return probabilities.argmax(dim=0)


@dataclass(frozen=True, eq=False)
class NormalCodes:
    """Normals by the nearest of some directions, (count, 3) unit vectors."""

    directions: NDArray[np.float32]
    kind: Kind = "normals"

    @property
    def count(self) -> int:
        return len(self.directions)

    @property
    def values(self) -> Tensor:
        return torch.from_numpy(self.directions)

    def encode(self, labels: Map) -> NDArray[np.int16]:
        # Among unit vectors, the nearest has the largest product.
        codes: NDArray[np.int16] = (labels.reshape(-1, 3) @ self.directions.T).argmax(axis=1).astype(np.int16)
        codes[~labels.reshape(-1, 3).any(axis=1)] = UNLABELLED
        return codes.reshape(labels.shape[:2])

    def decode(self, probabilities: Tensor) -> Tensor:
        return value_map(self.kind, torch.einsum("chw,cv->vhw", probabilities, self.values.to(probabilities)))


@dataclass(frozen=True)
class DepthCodes:
    """Depths by uniform bins from `NEAREST` to `FARTHEST`; depths beyond are in the first or the last."""

    count: int = BINS
    kind: Kind = "depth"

    @property
    def values(self) -> Tensor:
        step = (FARTHEST - NEAREST) / self.count
        return (NEAREST + step * (torch.arange(self.count) + 0.5))[:, None]

    def encode(self, labels: Map) -> NDArray[np.int16]:
        step = (FARTHEST - NEAREST) / self.count
        codes: NDArray[np.int16] = np.clip((labels - NEAREST) / step, 0, self.count - 1).astype(np.int16)
        codes[labels <= 0] = UNLABELLED
        return codes

    def decode(self, probabilities: Tensor) -> Tensor:
        return value_map(self.kind, torch.einsum("chw,cv->vhw", probabilities, self.values.to(probabilities)))


def value_map(kind: Kind, means: Tensor) -> Tensor:
    """Depths (h, w), or normals (h, w, 3) of length 1, from the means (v, h, w) of the values of codes."""
    if kind == "depth":
        return means[0]
    normals = means.permute(1, 2, 0)
    unit: Tensor = normals / normals.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    return unit


def normal_codes(normals: Tensor, count: int = CODEWORDS) -> NormalCodes:
    """Directions by k-means of (n, 3) true unit normals of training images."""
    from unseen.probes.kmeans import kmeans

    if len(normals) < count:
        raise UserError(f"{len(normals)} pixels with a normal are too few for {count} directions")
    centres = kmeans(normals.float(), count, seeds=(0,)).centres
    return NormalCodes((centres / centres.norm(dim=1, keepdim=True)).cpu().numpy())


def patch_histograms(codes: NDArray[np.int16], grid: tuple[int, int], count: int) -> NDArray[np.float32]:
    """(h·w, count) number of pixels of each code in each patch of a grid that covers the map.

    Maps that are not multiples of the grid are divided at the nearest pixel.
    """
    rows, columns = (np.arange(length) * patches // length for length, patches in zip(codes.shape, grid, strict=True))
    place = rows[:, None] * grid[1] + columns[None, :]
    known = codes != UNLABELLED
    counts = np.bincount(place[known] * count + codes[known], minlength=grid[0] * grid[1] * count)
    return counts.reshape(-1, count).astype(np.float32)
