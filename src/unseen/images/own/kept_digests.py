"""Hashes of image files, kept from one command to the next: a file that was not touched since is not read again.

A file is the same where its size, its time of change and the time of the last change of its state are: the last one
is new also in a copy that keeps the time of change. Hashes of files that were touched in the last seconds are not kept,
as these may change again within one tick of the clock.
"""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.images.folder import FileImages
from unseen.images.joined import JoinedImages
from unseen.images.source import ImageSource
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading

WORTH_KEEPING = 1 << 26
"""Bytes of images from which on hashes are kept; fewer are read in a second."""
SETTLED = 5 * 10**9
"""Nanoseconds after which a file that was not touched is at rest."""
DIGEST = 32
Stamp = tuple[int, int, int]
Kept = dict[str, tuple[Stamp, bytes]]
"""Path of a file → its stamp, and the SHA-256 of its bytes."""


def file_paths(source: ImageSource, numbers: Sequence[int]) -> dict[int, str]:
    """Number of an image → its file; nothing where images are not files of their own."""
    if isinstance(source, FileImages) and not source.flat:
        return {number: os.path.abspath(source.root / source.entries[number].id) for number in numbers}  # noqa: PTH100
    if not isinstance(source, JoinedImages):
        return {}
    found: dict[int, str] = {}
    ends = [*source.starts[1:], len(source.entries)]
    for part, start, end in zip(source.parts, source.starts, ends, strict=True):
        inside = [number - start for number in numbers if start <= number < end]
        found |= {start + number: path for number, path in file_paths(part, inside).items()}
    return found


def stamps_of(paths: Mapping[int, str]) -> dict[int, Stamp]:
    """By what changes of files are known; a file that cannot be looked at has none."""
    found: dict[int, Stamp] = {}
    for number, path in paths.items():
        with suppress(OSError):
            state = os.stat(path)  # noqa: PTH116 - there may be millions
            found[number] = state.st_size, state.st_mtime_ns, state.st_ctime_ns
    return found


def read_kept(paths: Mapping[int, str]) -> Kept:
    """What is kept of some files; nothing where that is not there, or damaged."""
    file = _place(paths)
    if file is None or not file.is_file():
        return {}
    with suppress(UserError), reading(file, "kept hashes"):
        arrays = read_npz(file)
        names, digests = arrays["paths"].tobytes().decode().split("\0"), arrays["digests"].tobytes()
        stamps = [(int(size), int(changed), int(touched)) for size, changed, touched in arrays["stamps"].tolist()]
        parts = [digests[start : start + DIGEST] for start in range(0, len(digests), DIGEST)]
        return {name: (of, part) for name, of, part in zip(names, stamps, parts, strict=True)}
    return {}


def write_kept(paths: Mapping[int, str], kept: Kept) -> None:
    """Keep hashes, as far as files are at rest and there are many bytes of them."""
    file, now = _place(paths), time.time_ns()
    settled = {path: each for path, each in kept.items() if now - max(each[0][1:]) > SETTLED}
    if file is None or sum(size for (size, *_), _ in settled.values()) < WORTH_KEEPING:
        return
    with suppress(UserError), atomic_write(file) as out:  # where it cannot be written, nothing is kept
        np.savez(
            out,
            paths=np.frombuffer("\0".join(settled).encode(), dtype=np.uint8),
            stamps=np.array([each[0] for each in settled.values()], dtype=np.int64),
            digests=np.frombuffer(b"".join(each[1] for each in settled.values()), dtype=np.uint8),
        )


def _place(paths: Mapping[int, str]) -> Path | None:
    """The file in the user's cache, by the folder that all images are below; None where there are none."""
    if not paths:
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = os.path.commonpath({os.path.dirname(path) for path in paths.values()})  # noqa: PTH120
    return home / "unseen" / f"contents-{hashlib.sha256(folder.encode()).hexdigest()[:16]}.npz"
