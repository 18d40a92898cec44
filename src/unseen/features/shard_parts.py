"""The first rows of an incomplete shard, from which an interrupted extraction resumes.

A shard has 10,000 images, which can take a slow network hours, and most data sets have fewer. At intervals, the rows
computed since the last time are written beside the shards, without gaps from the shard's first image on:

    X-00003-000030640.npz    rows of shard 3 from the image at position 30640 on, and the damaged images among them

The complete shard is assembled from these parts, so it is bit-identical to one that was never interrupted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.reading.json_records import typed


@dataclass(frozen=True, eq=False)
class ShardPart:
    """The rows of the images at the positions `start` to `stop`, without damaged images, which have reasons instead."""

    start: int
    stop: int
    X: NDArray[Any]
    damaged: Mapping[int, str]

    def until(self, stop: int) -> "ShardPart":
        """The images of this part before `stop`."""
        if stop >= self.stop:
            return self
        damaged = {place: reason for place, reason in self.damaged.items() if place < stop}
        return replace(self, stop=stop, X=self.X[: stop - self.start - len(damaged)], damaged=damaged)


@dataclass(frozen=True)
class _About:
    """Metadata in the file of a part."""

    stop: int
    damaged: dict[str, str]


def write_part(folder: Path, shard: int, part: ShardPart) -> None:
    """Write a part beside the shards of a store."""
    about = json.dumps({"stop": part.stop, "damaged": {str(place): why for place, why in part.damaged.items()}})
    with atomic_write(folder / f"X-{shard:05d}-{part.start:09d}.npz") as file:
        np.savez(file, X=part.X, about=np.array(about))


def read_parts(folder: Path, shard: int, start: int) -> list[ShardPart]:
    """The consecutive parts of a shard from the image at position `start` on; a damaged file counts as a gap."""
    parts: list[ShardPart] = []
    while (part := _read_part(folder / f"X-{shard:05d}-{start:09d}.npz", start)) is not None:
        parts.append(part)
        start = part.stop
    return parts


def remove_parts(folder: Path, shard: int) -> None:
    """Remove the parts of a shard that is complete."""
    for path in folder.glob(f"X-{shard:05d}-*.npz"):
        path.unlink(missing_ok=True)


def _read_part(path: Path, start: int) -> ShardPart | None:
    try:
        with reading(path, "rows of a shard"):
            file = read_npz(path)
            about = typed(json.loads(str(file["about"])), _About, str(path))
            part = ShardPart(start, about.stop, file["X"], {int(place): why for place, why in about.damaged.items()})
            return part if part.stop > start and len(part.X) + len(part.damaged) == part.stop - start else None
    except UserError:
        return None
