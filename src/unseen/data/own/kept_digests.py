"""Cached hashes of image files: a file that has not changed since an earlier command is not read again.

A file counts as unchanged if its size, modification time and status change time are the same; the last one also differs
for a copy that preserves the modification time. Hashes of files changed within the last seconds are not cached, because
such files may change again within one clock tick.
"""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from unseen.data.core.folder import FileImages
from unseen.data.core.joined import JoinedImages
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading

WORTH_KEEPING = 1 << 26
"""Total size of images in bytes from which hashes are cached; less is read within a second."""
SETTLED = 5 * 10**9
"""Nanoseconds after its last change from which a file may be cached."""
DIGEST = 32
Stamp = tuple[int, int, int]
Kept = dict[str, tuple[Stamp, bytes]]
"""Path of a file → its stamp, and the SHA-256 of its bytes."""


def file_paths(source: ImageSource, numbers: Sequence[int]) -> dict[int, str]:
    """Index of an image → its file; empty if images are not individual files."""
    if isinstance(source, FileImages) and not source.flat:
        return {number: os.path.abspath(source.root / source.entries[number].id) for number in numbers}  # noqa: PTH100
    if not isinstance(source, JoinedImages):
        return {}
    paths: dict[int, str] = {}
    ends = [*source.starts[1:], len(source.entries)]
    for part, start, end in zip(source.parts, source.starts, ends, strict=True):
        inside = [number - start for number in numbers if start <= number < end]
        paths |= {start + number: path for number, path in file_paths(part, inside).items()}
    return paths


def stamps_of(paths: Mapping[int, str]) -> dict[int, Stamp]:
    """The stamps by which changes of files are detected; a file that cannot be accessed has none."""
    stamps: dict[int, Stamp] = {}
    for number, path in paths.items():
        with suppress(OSError):
            state = os.stat(path)  # noqa: PTH116 - there may be millions
            stamps[number] = state.st_size, state.st_mtime_ns, state.st_ctime_ns
    return stamps


def read_kept(paths: Mapping[int, str]) -> Kept:
    """Cached entries for some files; empty if the cache is missing or damaged."""
    file = _place(paths)
    if file is None or not file.is_file():
        return {}
    with suppress(UserError), reading(file, "kept hashes"):
        arrays = read_npz(file)
        names, digests = arrays["paths"].tobytes().decode().split("\0"), arrays["digests"].tobytes()
        stamps = [(int(size), int(changed), int(touched)) for size, changed, touched in arrays["stamps"].tolist()]
        parts = [digests[start : start + DIGEST] for start in range(0, len(digests), DIGEST)]
        return {name: (stamp, part) for name, stamp, part in zip(names, stamps, parts, strict=True)}
    return {}


def write_kept(paths: Mapping[int, str], kept: Kept) -> None:
    """Cache hashes of unchanged files, if there are enough bytes of them."""
    file, now = _place(paths), time.time_ns()
    settled = {path: each for path, each in kept.items() if now - max(each[0][1:]) > SETTLED}
    if file is None or sum(size for (size, *_), _ in settled.values()) < WORTH_KEEPING:
        return
    with suppress(UserError), atomic_write(file) as out:  # if the cache cannot be written, nothing is cached
        np.savez(
            out,
            paths=np.frombuffer("\0".join(settled).encode(), dtype=np.uint8),
            stamps=np.array([each[0] for each in settled.values()], dtype=np.int64),
            digests=np.frombuffer(b"".join(each[1] for each in settled.values()), dtype=np.uint8),
        )


def _place(paths: Mapping[int, str]) -> Path | None:
    """The cache file for the folder that contains all images; None if there are none."""
    if not paths:
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = os.path.commonpath({os.path.dirname(path) for path in paths.values()})  # noqa: PTH120
    return home / "unseen" / f"contents-{hashlib.sha256(folder.encode()).hexdigest()[:16]}.npz"
