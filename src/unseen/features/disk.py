"""How much of an extraction remains, and whether the disk has space for it."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from unseen.backbones.backbone import Spec
from unseen.data.core.manifest import Manifest
from unseen.data.core.source import ImageSource
from unseen.errors import UserError, option
from unseen.features.extract import decided_key, own_shards, store_name
from unseen.features.fingerprint import fingerprint
from unseen.features.plan import plan
from unseen.features.settings import Settings
from unseen.features.unfinished import Unfinished
from unseen.files import byte_size

IGNORE_DISK = "UNSEEN_IGNORE_DISK"
"""Environment variable: start even if the disk seems too small."""


def remaining_rows(
    source: ImageSource, manifest: Manifest, split: str, specs: Sequence[Spec], folder: Path, settings: Settings
) -> list[int]:
    """Number of images of a split without features below `folder`, by backbone; only of the part that is done here."""
    if not folder.is_dir() and settings.part == (1, 1):
        return [sum(word == split for word in manifest.splits)] * len(specs)
    rows = plan(source, manifest, split, settings.shard_rows)
    mine = own_shards(rows, settings)
    if not folder.is_dir():
        return [sum(len(rows.images(shard)) for shard in mine)] * len(specs)
    content_hash, shown = manifest.content_hash, fingerprint(source, rows.numbers)
    remaining = []
    for spec in specs:
        key = decided_key(settings.decides(spec, content_hash, split, shown))
        place = folder / store_name(spec, split, key)
        remaining.append(Unfinished(place, source, rows, settings.dtype, {"key": key}).missing_rows(mine))
    return remaining


def feature_bytes(rows: int, dimension: int, settings: Settings) -> int:
    """Bytes of a store's vectors, labels and image names (about 30 bytes each)."""
    return rows * (dimension * (2 if settings.dtype == "float16" else 4) + 8 + 30)


def free_disk(folder: Path) -> int:
    """Free bytes on the disk that contains, or will contain, a folder."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def lacking_space(folder: Path, needed: int) -> str:
    """A sentence on how much disk space is lacking for this many bytes of features; empty if there is enough."""
    free = free_disk(folder)
    if needed <= free:
        return ""
    return (
        f"{folder}: {byte_size(needed)} of features are to be written, but only {byte_size(free)} are free: "
        f"{byte_size(needed - free)} are missing"
    )


def refuse_full_disk(folder: Path, needed: int) -> None:
    """Refuse to start an extraction that needs more disk space than is free, unless `IGNORE_DISK` is set."""
    lacking = lacking_space(folder, needed)
    if lacking and not os.environ.get(IGNORE_DISK):
        another = f"give another folder ({option('out')}), or set {IGNORE_DISK}=1 to start anyway"
        raise UserError(f"{lacking}; make room, {another}")
