"""Turning errors in reading a file into a user error that names the file.

Every reader of a file parses inside `reading`, so that damage never shows as a traceback. Even worse than a traceback
is an `EOFError`, which an empty file raises in many libraries and which the command line would treat as Ctrl-C.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.errors import UserError
from unseen.files import LFS, LFS_POINTER, byte_size, is_lfs_pointer, refuse_special

LONGEST_REASON = 200
BLOCK = 1 << 24


@contextmanager
def reading(path: Path, expected: str, advice: str = "") -> Iterator[None]:
    """Turn every error of a reader into a `UserError`; UserErrors pass unchanged. Only regular files are read.

    Args:
        expected: what the file should be, as in "a MATLAB file".
        advice: what to do about a damaged file.
    """
    refuse_special(path)
    try:
        yield
    except (UserError, ModuleNotFoundError):  # an ImportError concerns a package, which is reported at the edges
        raise
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except MemoryError:
        raise UserError(f"{path}: does not fit in memory") from None
    except Exception as error:  # damage can raise any exception
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
        if is_lfs_pointer(path):
            raise UserError(f"{path}: {LFS_POINTER}") from None
        do = f"; {advice}" if advice else ""
        raise UserError(f"{path}: damaged, or not {expected} ({cause(error)}){do}") from None


def cause(error: Exception) -> str:
    """An error of a reader in a few words."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, EOFError):
        return "it is empty or cut off"
    if isinstance(error, KeyError):
        return f"it lacks {str(error)[:LONGEST_REASON]}"
    if "allow_pickle" in str(error) or "weights_only" in str(error):  # NumPy and PyTorch advise executing them
        return "it contains pickled objects, or is not such a file"
    first = next(iter(str(error).splitlines()), "").rstrip(".")
    return first[:LONGEST_REASON] or type(error).__name__


def read_bounded(path: Path, most: int) -> bytes:
    """The bytes of a regular file; one larger than `most` is refused before it is read, as is a pointer of Git LFS."""
    refuse_special(path)
    content = bytearray()
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size <= most:  # the size of a device is 0
            while len(content) <= most and (block := file.read(min(BLOCK, most + 1))):
                content += block
            if content.startswith(LFS.encode()):
                raise UserError(f"{path}: {LFS_POINTER}")
            if len(content) <= most:
                return bytes(content)
    raise UserError(f"{path}: larger than {byte_size(most)}, too large for such a file")
