"""Files that stay open and are read at any place by any thread."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self
from weakref import finalize

from unseen.errors import UserError


@dataclass(frozen=True)
class FileState:
    """A file's name in its folder, and by what a change of it is known."""

    name: str
    size: int
    changed: int  # nanoseconds

    @classmethod
    def at(cls, path: Path) -> Self:
        try:
            state = path.stat()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        return cls(path.name, state.st_size, state.st_mtime_ns)


class OpenFile:
    """A file to be read at any place by any thread; closed when nobody holds it any more."""

    def __init__(self, path: Path, expected: FileState) -> None:
        if FileState.at(path) != expected:
            raise UserError(f"{path}: changed since it was indexed; open its images again")
        try:
            self.path, self.descriptor = path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        finalize(self, os.close, self.descriptor)

    def read(self, offset: int, size: int) -> bytes:
        """The bytes there; fewer where the file ends."""
        try:
            data = os.pread(self.descriptor, size, offset)
            while len(data) < size and (more := os.pread(self.descriptor, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror})") from None
        return data


@lru_cache(maxsize=64)
def open_file(path: Path, expected: FileState) -> OpenFile:
    """A file that has not changed; the last 64 stay open, in each process its own."""
    return OpenFile(path, expected)
