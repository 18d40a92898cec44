"""A store that is being extracted: its shards are written one by one, by several processes or machines.

Beside each shard there is a file that marks it as complete and lists the images missing from it:

    X-00000.npy     rows
    X-00000.json    their number and hash, and the damaged images; written after them

Whoever finds all of these writes the manifest, which turns the folder into a feature store. A shard in progress may
have parts (`shard_parts`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.source import ImageSource
from unseen.errors import ImageError, UserError
from unseen.features.plan import Plan
from unseen.features.shard_parts import ShardPart, read_parts, remove_parts
from unseen.features.store import MANIFEST, finish_store, read_manifest, shard_name, write_shard
from unseen.files import write_text
from unseen.reading.guard import reading
from unseen.reading.json_records import read_json, typed


@dataclass(frozen=True)
class LostImage:
    """A damaged image of a shard, by its position in the plan."""

    place: int
    id: str
    reason: str
    label: str | None = None


@dataclass(frozen=True)
class ShardRecord:
    """The record of a complete shard; if it has no rows, only the damaged images."""

    rows: int
    damaged: tuple[LostImage, ...]
    file: str = ""
    dimension: int = 0
    sha256: str = ""


@dataclass(frozen=True, eq=False)
class Unfinished:
    """The folder of a store in progress, and its future contents.

    Attributes:
        provenance: everything that determines the features, with the `key`, its hash.
    """

    folder: Path
    source: ImageSource
    plan: Plan
    dtype: str
    provenance: Mapping[str, Any]

    def is_finished(self) -> bool:
        """Whether the store has its manifest; a store of other features is an error."""
        if not (self.folder / MANIFEST).exists():
            return False
        if read_manifest(self.folder).provenance.get("key") != self.provenance["key"]:
            raise UserError(f"{self.folder}: contains the features of another extraction; give another folder")
        return True

    def missing(self) -> set[int]:
        """Shards that are still to be extracted."""
        if self.is_finished():
            return set()
        return {shard for shard in range(self.plan.shards) if self._record(shard) is None}

    def parts(self, shard: int) -> list[ShardPart]:
        """The computed parts of an incomplete shard, from its first image on."""
        images = self.plan.images(shard)
        return [part for part in read_parts(self.folder, shard, images.start) if part.stop < images.stop]

    def missing_rows(self, shards: Iterable[int]) -> int:
        """Number of images of some shards without features."""
        lacking = self.missing().intersection(shards)
        done = sum(part.stop - part.start for shard in lacking for part in self.parts(shard))
        return sum(len(self.plan.images(shard)) for shard in lacking) - done

    def first_damaged(self) -> tuple[str, str] | None:
        """Id and reason of the first damaged image in the complete shards."""
        for shard in range(self.plan.shards):
            record = self._record(shard)
            if record is None:
                damaged = {place: why for part in self.parts(shard) for place, why in part.damaged.items()}
                if damaged:
                    return self.id(min(damaged)), damaged[min(damaged)]
            elif record.damaged:
                return record.damaged[0].id, record.damaged[0].reason
        return None

    def save(self, shard: int, X: NDArray[Any], damaged: Mapping[int, str]) -> None:
        """Write a shard: the rows of its images in order, without damaged images, given by position."""
        images = self.plan.images(shard)
        if len(X) + len(damaged) != len(images):
            raise AssertionError(f"{len(X)} rows and {len(damaged)} damaged of {len(images)} images")
        where = f"{self.folder}, images from {images.start}"
        written = write_shard(self.folder, shard, X, dtype=self.dtype, where=where) if len(X) else {"rows": 0}
        losses = [
            {"place": place, "id": self.id(place), "reason": why, "label": self._label(place)}
            for place, why in sorted(damaged.items())
        ]
        record = written | {"damaged": losses}
        write_text(self._record_path(shard), json.dumps(record, indent=1, ensure_ascii=False))
        remove_parts(self.folder, shard)

    def finish(self) -> bool:
        """Write the manifest if all shards exist; returns whether the store is finished."""
        if self.is_finished():
            return True
        records = [self._record(shard) for shard in range(self.plan.shards)]
        there = [record for record in records if record is not None]
        if len(there) < len(records):
            return False
        shards = [asdict(record) for record in there if record.rows]
        damaged = [image for record in there for image in record.damaged]
        if not shards:
            raise ImageError(
                f"all {len(damaged):,} images are damaged; the first is {damaged[0].id}: {damaged[0].reason}"
            )
        kept = np.delete(np.arange(len(self.plan.numbers)), [image.place for image in damaged])
        losses = [{"id": image.id, "reason": image.reason, "label": image.label} for image in damaged]
        finish_store(
            self.folder,
            shards,
            self.plan.labels[kept],
            self.plan.classes,
            provenance=dict(self.provenance) | {"damaged_count": len(losses), "damaged": losses},
            ids=self._ids(kept),
            dtype=self.dtype,
        )
        return True

    def _ids(self, places: NDArray[np.int64]) -> Iterator[str]:
        return (self.id(int(place)) for place in places)

    def id(self, place: int) -> str:
        """The name of the image at a position of the plan."""
        return self.source.entries[int(self.plan.numbers[place])].id

    def _label(self, place: int) -> str:
        return self.plan.classes[int(self.plan.labels[place])]

    def _record_path(self, shard: int) -> Path:
        return self.folder / f"X-{shard:05d}.json"

    def _record(self, shard: int) -> ShardRecord | None:
        """The record of a finished shard; None if it is unfinished, or the record is unreliable."""
        path = self._record_path(shard)
        try:
            with reading(path, "the record of a shard"):
                record: ShardRecord = typed(read_json(path), ShardRecord, str(path), defaults=True)
        except UserError:
            return None
        images = self.plan.images(shard)
        complete = record.rows + len(record.damaged) == len(images) and record.rows >= 0
        complete = complete and all(image.place in images for image in record.damaged)
        if record.rows:
            file = self.folder / shard_name(shard)
            complete = complete and record.file == file.name and record.dimension > 0 and file.is_file()
        return record if complete else None
