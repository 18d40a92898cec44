"""The first rows of a shard that is not complete yet: what a killed extraction goes on from.

A shard has 10,000 images, which take a slow network hours, and most data sets have fewer. Every so often what was
computed since the last time is written beside the shards, from the shard's first image on without gaps:

    X-00003-000030640.npz    rows of shard 3 from the image at place 30640 on, and the damaged images among them

The complete shard is written from all of them, so it is the same to the bit as one that was never interrupted.
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
    """The rows of the images at the places `start` to `stop`, but for the damaged ones, which have reasons instead."""

    start: int
    stop: int
    X: NDArray[Any]
    damaged: Mapping[int, str]

    def until(self, stop: int) -> "ShardPart":
        """The images before `stop` of this part."""
        if stop >= self.stop:
            return self
        damaged = {place: reason for place, reason in self.damaged.items() if place < stop}
        return replace(self, stop=stop, X=self.X[: stop - self.start - len(damaged)], damaged=damaged)


@dataclass(frozen=True)
class _About:
    """What the file of a part says beside the rows."""

    stop: int
    damaged: dict[str, str]


def write_part(folder: Path, shard: int, part: ShardPart) -> None:
    """Write a part beside the shards of a store."""
    about = json.dumps({"stop": part.stop, "damaged": {str(place): why for place, why in part.damaged.items()}})
    with atomic_write(folder / f"X-{shard:05d}-{part.start:09d}.npz") as file:
        np.savez(file, X=part.X, about=np.array(about))


def read_parts(folder: Path, shard: int, start: int) -> list[ShardPart]:
    """The parts of a shard from the image at place `start` on, as far as they leave no gap; a damaged file is one."""
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
