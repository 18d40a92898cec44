"""One file with the contents of many results, since opening 200,000 small files takes minutes.

`results.index` beside the folder `results` has one line for each result file: what the system says of the file (its
size, its times of modification and change, its number), and its content. The files stay the truth:

- An entry is used only for a file of which the system says the same. Results are replaced by renaming, so that another
  file has another number; a file that is changed in place, copied or restored has another time of change.
- A file that was changed less than `SETTLED` before the folder was listed is not entered, since clocks of file systems
  may not tell a second change shortly after it from the first. All times compared are of the file system.
- What is not entered, or does not match, is read from its file. So an index that is missing, damaged, old, or of
  another version costs time and changes nothing.
- It is written under another name and renamed. Of several processes that write it, the last one wins; as every entry is
  checked by itself, no lock is needed. Writing a result does not touch it; it is written again when many results were
  read that it lacks, so that the work of all writes is in proportion to the number of results.
"""

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns
from typing import Any

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.version import __version__

FEWEST = 1000
"""Results that an index has to lack before it is written again; smaller folders have none."""
SHARE = 0.1
"""The same as a share of the results."""
SETTLED = 2_000_000_000
"""Nanoseconds: some file systems count in steps of two seconds."""
HEADER = f"unseen-results-index 1 {__version__}"


@dataclass(frozen=True)
class Listed:
    """The result files of a folder when it was listed.

    Attributes:
        signs: key → what the system says of its file, as an index has it.
        changed: key → the later of its times of modification and change, in nanoseconds.
        at: the monotonic clock before the folder was listed, in nanoseconds.
    """

    signs: Mapping[str, bytes]
    changed: Mapping[str, int]
    at: int


def index_path(folder: Path) -> Path:
    """The index of a folder of results, beside it."""
    return folder.with_name(f"{folder.name}.index")


def listed(folder: Path) -> Listed:
    """The files in a folder of results; none if there is no folder."""
    signs, changed, at = dict[str, bytes](), dict[str, int](), monotonic_ns()
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                with suppress(FileNotFoundError):  # removed meanwhile
                    about, key = entry.stat(), entry.name[:-5]
                    signs[key] = f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns} {about.st_ino}".encode()
                    changed[key] = max(about.st_mtime_ns, about.st_ctime_ns)
    return Listed(signs, changed, at)


def read_index(folder: Path, files: Listed) -> dict[str, bytes]:
    """Key → the content of each file that has not changed since it was entered; empty without a sound index."""
    try:
        content = index_path(folder).read_bytes()
    except OSError:
        return {}
    header, _, body = content.partition(b"\n")
    if header != _header(body):
        return {}
    return {key: text for key, sign, text in _lines(body) if files.signs.get(key) == sign}


def write_index(folder: Path, files: Listed, entered: Mapping[str, bytes], new: Mapping[str, Any]) -> None:
    """Enter the files that have been as they are for long enough; a folder that is read-only has no index.

    Args:
        files: listed before the contents were read.
        entered: what is kept of the index, as `read_index` returned it.
        new: key → the content of a file that the index lacks, which JSON can hold.
    """
    contents = {**entered, **{key: json.dumps(content).encode() for key, content in new.items()}}
    with suppress(UserError, OSError), atomic_write(index_path(folder)) as file:
        # The time of the new file is that of the file system's own clock.
        listed_at = os.fstat(file.fileno()).st_mtime_ns - (monotonic_ns() - files.at)
        body = b"".join(
            b"%b\t%b\t%b\n" % (key.encode(), files.signs[key], text)
            for key, text in contents.items()
            if key in files.signs and files.changed[key] < listed_at - SETTLED
        )
        file.write(_header(body) + b"\n" + body)


def is_worth_writing(new: int, entered: int) -> bool:
    """Whether so many results were read that are not entered that another index saves more than it costs."""
    return new >= max(FEWEST, SHARE * (new + entered))


def _header(body: bytes) -> bytes:
    return f"{HEADER} {len(body)} {zlib.crc32(body):08x}".encode()


def _lines(body: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    for line in body.splitlines():
        key, sign, text = line.split(b"\t", 2)
        yield key.decode(), sign, text
