"""A lock on the folder of a run, so that only one process at a time changes shared files.

To change a shared file (`run.json`, `levels.csv`, `scores.csv`, the tables and predictions of shifts), a process takes
the lock, reads the current file, and writes. Result files need no lock: every job has its own file, whose content does
not depend on the process that writes it.

The lock is the operating system's (`flock`) on a file that stays in the folder, so it is released when the process that
holds it ends in any way; no clocks are compared. The file says who holds the lock and since when, for processes that
wait; it is empty otherwise, or has what a killed process left in it. On NFS, Linux turns it into a lock of the server,
for which the file must be open for reading if the lock is shared and for writing if it is exclusive.
"""

import errno
import logging
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal

from unseen.errors import UserError
from unseen.reading.guard import read_bounded
from unseen.text.plain import plain_text

LOCK = ".lock"
PATIENCE, PAUSE = 3.0, 0.02
"""Seconds of waiting after which the holder is named, and between two attempts until then."""
LONGEST = 1000
"""Bytes of the file of a lock."""
REFUSED = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""Error codes of file systems without locks."""


class UnlockedWarning(UserWarning):
    """This system or file system has no locks: only one process at a time may work in a folder."""


class _Held(threading.local):
    """The folders that this thread has locked."""

    def __init__(self) -> None:
        self.folders = set[Path]()


_held = _Held()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Wait for the lock of a folder and hold it; the folder is created if it does not exist.

    A thread that already holds the lock may take it again. On file systems without locks a warning is given instead.
    """
    place = folder.resolve()
    if place in _held.folders:
        yield
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = (place / LOCK).open("a+b")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written to ({error.strerror or error}); choose another folder") from None
    with file:
        if not _taken(file, folder):
            warnings.warn(
                f"{folder}: this file system has no file locks; let only one command at a time write to this folder",
                UnlockedWarning,
                stacklevel=3,
            )
        _look_again(place)
        _held.folders.add(place)
        _sign(file, f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
        try:
            yield
        finally:
            _sign(file, "")
            _held.folders.remove(place)


@contextmanager
def shared_use(file: Path) -> Iterator[Callable[[], bool]]:
    """Share the resource of a lock file with other processes.

    Yields:
        A function to call at the end, which returns whether no other process uses the resource. If so, new users wait
        until the end of this use, so that the resource can be removed.
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


def _taken(file: IO[bytes], folder: Path) -> bool:
    """Wait for a lock; after a while, say once who holds it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return _locked(file, wait=False)
        except BlockingIOError:
            time.sleep(PAUSE)
    holder = _holder(folder.resolve() / LOCK)
    logging.getLogger("unseen").warning(
        plain_text(f"{folder}: waiting for another process that is writing there: {holder}; stop it if it hangs")
    )
    return _locked(file)


def _sign(file: IO[bytes], text: str) -> None:
    """Replace the text of a lock file; a full disk does not matter."""
    with suppress(OSError):
        file.truncate(0)
        file.write(text.encode())
        file.flush()


def _holder(file: Path) -> str:
    """Who holds a lock and since when, as far as its file says so."""
    with suppress(OSError, UserError):
        text = " ".join(read_bounded(file, LONGEST).decode(errors="replace").split())
        if text:
            return text
    return "it does not say which one"


def _look_again(folder: Path) -> None:
    """Make NFS refresh the contents of a folder from its server: it may cache for seconds that a file is missing."""
    if os.name == "posix":  # other systems cannot open folders
        os.close(os.open(folder, os.O_RDONLY))


def _locked(file: IO[bytes], kind: Literal["LOCK_EX", "LOCK_SH"] = "LOCK_EX", *, wait: bool = True) -> bool:
    """Take the lock of an open file, which is released when the file is closed; False if there are no locks."""
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
