"""Files with one JSON object per line, which only grow, and are read while a process that may be killed writes them."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unseen.files import refuse_special


def append_objects(path: Path, objects: Iterable[Mapping[str, Any]], *, durable: bool = False) -> None:
    """Append objects in one write; if it fails, the file is as before.

    A file that ends within a line, after a kill, gets a line end first. The folder is made if it is missing.

    Args:
        durable: wait until the lines are on the disk.
    """
    lines = "".join(f"{json.dumps(each, allow_nan=False)}\n" for each in objects)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        size = os.fstat(handle).st_size
        torn = False
        if size:
            os.lseek(handle, -1, os.SEEK_END)
            torn = os.read(handle, 1) != b"\n"
        data = b"\n" * torn + lines.encode()
        try:
            while data:
                data = data[os.write(handle, data) :]
            if durable:
                os.fsync(handle)
        except OSError:
            if path.is_file():
                os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def read_objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, none if it is missing; lines that are no JSON object, such as torn ones, are left out."""
    refuse_special(path)
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = (_parsed(line) for line in lines if line)
    return [each for each in found if isinstance(each, dict)]


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
