"""Reading features while a device still works on others, so that they are in memory when their turn comes."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.reading.arrays import memory

BLOCK = 1 << 24
SHARE = 0.25
"""Of a machine's memory: more than that is not read ahead, as it would only take the place of what is in use."""


def read_ahead(places: Sequence[Path]) -> Thread | None:
    """Go through features in another thread if nobody has yet, and bring their files into the system's cache.

    What is wrong with them is found again, and said, when they are opened. None where they are too large.
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
