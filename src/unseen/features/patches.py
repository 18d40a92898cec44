"""Patch features in a store: one row per image, with its positions concatenated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.backbones.backbone import Backbone
from unseen.backbones.patches import drawn_positions
from unseen.errors import UserError, setting
from unseen.features.features import Features, Rows
from unseen.features.settings import Settings
from unseen.features.store import read_store

SHARD_BYTES = 1 << 28
"""Maximum bytes of a file of patch features, unless a single image has more."""


@dataclass(frozen=True, eq=False)
class PatchFeatures:
    """Features of the positions of some images.

    Attributes:
        X: (n, positions · channels) numbers, read on use.
        ids: ids of the images.
        grid: rows and columns of positions.
        drawn: indices of the positions that are kept; empty for all.
        content_hash: hash of everything.
    """

    X: Rows
    ids: Sequence[str]
    grid: tuple[int, int]
    drawn: tuple[int, ...]
    content_hash: str
    place: Path

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> tuple[Callable[[Path], "PatchFeatures"], tuple[Path]]:
        """Pickle as a path: features sent to another process are read there."""
        return read_patches, (self.place,)

    def __repr__(self) -> str:
        size = f"{self.grid[0]} × {self.grid[1]} patches, {self.channels} dimensions"
        return f"PatchFeatures({len(self):,} images of {size})"

    @property
    def positions(self) -> int:
        """Number of positions kept per image."""
        return len(self.drawn) or self.grid[0] * self.grid[1]

    @property
    def channels(self) -> int:
        """Dimensions of the features of one position."""
        return self.X.shape[1] // self.positions

    def image(self, number: int) -> NDArray[np.floating]:
        """(positions, channels) features of an image."""
        return self.patches(range(number, number + 1))

    def patches(self, rows: range) -> NDArray[np.floating]:
        """(images · positions, channels) features of consecutive images."""
        features: NDArray[np.floating] = np.asarray(self.X[rows.start : rows.stop]).reshape(-1, self.channels)
        return features


def patch_settings(settings: Settings, backbones: Sequence[Backbone]) -> Settings:
    """Settings for extracting patches: 16 bits, and shards of limited size."""
    largest = max(backbone.spec.dimension for backbone in backbones)
    return replace(settings, compact=True, shard_rows=max(1, SHARD_BYTES // (2 * largest)))


def read_patches(folder: Path) -> PatchFeatures:
    """The patch features of a store; a store with one vector per image is an error."""
    return patches_of(read_store(folder), folder)


def patches_of(features: Features, folder: Path) -> PatchFeatures:
    """Features interpreted as patch features."""
    spec = features.provenance.get("backbone")
    grid = spec.get("grid") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(grid, list | tuple) or len(grid) != 2:
        raise UserError(
            f"{folder}: features of whole images, not of patches; extract them with "
            f"{setting('backbone.patches', 'all')}"
        )
    sides, drawn = (int(grid[0]), int(grid[1])), int(spec.get("drawn", 0))
    if features.X.shape[1] % (drawn or sides[0] * sides[1]):
        raise UserError(f"{folder}: rows of {features.X.shape[1]} do not fit a grid of {sides[0]} × {sides[1]}")
    kept = tuple(drawn_positions(sides[0] * sides[1], drawn)) if drawn else ()
    return PatchFeatures(features.X, features.ids, sides, kept, str(features.provenance["content_hash"]), folder)
