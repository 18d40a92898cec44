"""Files that stay open and can be read at any offset by any thread."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self
from weakref import finalize

from unseen.errors import UserError
from unseen.files import refuse_pointer


@dataclass(frozen=True)
class FileState:
    """A file's name in its folder, and the properties that reveal a change."""

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
    """A file that any thread can read at any offset; closed when no longer referenced."""

    def __init__(self, path: Path, expected: FileState) -> None:
        if FileState.at(path) != expected:
            raise UserError(f"{path}: changed since it was indexed; open its images again")
        refuse_pointer(path)
        try:
            self.path, self.descriptor = path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        finalize(self, os.close, self.descriptor)

    def read(self, offset: int, size: int) -> bytes:
        """The bytes at an offset; fewer at the end of the file."""
        try:
            data = os.pread(self.descriptor, size, offset)
            while len(data) < size and (more := os.pread(self.descriptor, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror})") from None
        return data


@lru_cache(maxsize=64)
def open_file(path: Path, expected: FileState) -> OpenFile:
    """A file that has not changed since it was indexed; the last 64 stay open in each process."""
    return OpenFile(path, expected)
