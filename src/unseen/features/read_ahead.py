"""Reading the next features while a device works on the current ones, so that they are in memory when needed."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.reading.arrays import memory

BLOCK = 1 << 24
SHARE = 0.25
"""Share of the machine's memory: larger features are not read ahead, since they would displace data in use."""


def read_ahead(places: Sequence[Path]) -> Thread | None:
    """Check features in another thread if that has not been done, which brings their files into the system's cache.

    Problems are reported when the features are opened. None if they are too large.
    """
    files = [file for place in places for file in (place.glob("X-*.npy") if place.is_dir() else (place,))]
    with suppress(OSError):
        if sum(file.stat().st_size for file in files) > SHARE * memory():
            return None
        thread = Thread(target=_read, args=(places, files), daemon=True)
        thread.start()
        return thread
    return None


def _read(places: Sequence[Path], files: Sequence[Path]) -> None:
    block = bytearray(BLOCK)
    with suppress(OSError, UserError):
        for place in places:
            read_features(place)
        for path in files:
            with path.open("rb", buffering=0) as file:
                while file.readinto(block):
                    pass
