"""A lock on the folder of a run: files that several processes change are read and written by one of them at a time.

Who changes such a file (`run.json`, `levels.csv`, `scores.csv`, the tables and predictions of shifts) takes the lock,
reads what is there now, and writes. Results need none: each is a file of its own, the same whoever writes it.

The lock is the operating system's (`flock`) on an empty file that stays in the folder, so it ends with the process that
holds it, however that ends; no time is compared. On NFS, Linux makes it a lock of the server's, for which a file must
be open to read where the lock is shared and to write where it is not.
"""

import errno
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

from unseen.errors import UserError

LOCK = ".lock"
REFUSED = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""What file systems without locks answer."""


class UnlockedWarning(UserWarning):
    """This system or file system has no locks: only one process at a time may work in a folder."""


class _Held(threading.local):
    """The folders that this thread has locked."""

    def __init__(self) -> None:
        self.folders = set[Path]()


_held = _Held()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock of a folder, and hold it; the folder is made if need be.

    Who holds it already may take it again. Where there are no locks the work is done without, with a warning.
    """
    place = folder.resolve()
    if place in _held.folders:
        yield
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = (place / LOCK).open("a+b")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written to ({error.strerror or error}); give another folder") from None
    with file:
        if not _locked(file):
            warnings.warn(
                f"{folder}: there are no file locks here, so let one command at a time write into this folder",
                UnlockedWarning,
                stacklevel=3,
            )
        _look_again(place)
        _held.folders.add(place)
        try:
            yield
        finally:
            _held.folders.remove(place)


@contextmanager
def shared_use(file: Path) -> Iterator[Callable[[], bool]]:
    """Use what a lock file stands for beside other processes.

    Yields:
        A function to call at the end of the use: whether nobody else uses it. If so, new users wait until this use is
        over, so that it can be removed.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as opened:
        _locked(opened, "LOCK_SH")

        def alone() -> bool:
            try:
                return _locked(opened, "LOCK_EX", wait=False)
            except BlockingIOError:
                return False

        yield alone


def _look_again(folder: Path) -> None:
    """Have NFS ask its server what is in a folder: for seconds it may remember that a file is not there."""
    if os.name == "posix":  # elsewhere folders cannot be opened
        os.close(os.open(folder, os.O_RDONLY))


def _locked(file: IO[bytes], kind: Literal["LOCK_EX", "LOCK_SH"] = "LOCK_EX", *, wait: bool = True) -> bool:
    """Take the lock of an open file, which is given back when it is closed; False where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(file, getattr(fcntl, kind) | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno in REFUSED:
            return False
        raise
    return True
