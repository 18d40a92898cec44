"""What goes wrong while a file is read, told as one user's error that names the file.

Every reader of a file parses inside `reading`, so that no damage can show as a traceback. Worse than a traceback is an
`EOFError`, which an empty file raises in many libraries and which the command line would take for Ctrl-C.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.errors import UserError
from unseen.files import byte_size

LONGEST_REASON = 200


@contextmanager
def reading(path: Path, expected: str, advice: str = "") -> Iterator[None]:
    """Turn every error of a reader into a `UserError`; those that are one already pass.

    Args:
        expected: what the file should be, as in "a MATLAB file".
        advice: what to do about a damaged file.
    """
    try:
        yield
    except (UserError, ModuleNotFoundError):  # the latter is about a package, which the edges name
        raise
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except MemoryError:
        raise UserError(f"{path}: does not fit in memory") from None
    except Exception as error:  # damage can raise anything at all
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
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
    first = next(iter(str(error).splitlines()), "").rstrip(".")
    return first[:LONGEST_REASON] or type(error).__name__


def read_bounded(path: Path, most: int) -> bytes:
    """The bytes of a file; one of more than `most` is refused before they are all read, also a device without end."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UserError(f"{path}: larger than {byte_size(most)}, which no such file is")
    return content
