"""Reads the offline file of a run of Weights & Biases with its own messages.

The file is a log of LevelDB: blocks of 32 KiB, and in them pieces of records, each with a checksum, a length and a kind
(whole, first, middle, last); before the first block are seven bytes of W&B.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK, HEADER, START = 1 << 15, 7, b":W&B"
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def records(path: Path) -> Iterator[Any]:
    """The records of a file, in order."""
    from wandb.proto import wandb_internal_pb2

    contents = path.read_bytes()
    assert contents.startswith(START)
    place, record = HEADER, b""
    while place + HEADER <= len(contents):
        left = BLOCK - place % BLOCK
        if left < HEADER:
            place += left
            continue
        checksum = int.from_bytes(contents[place : place + 4], "little")
        length = int.from_bytes(contents[place + 4 : place + 6], "little")
        kind = contents[place + 6]
        piece = contents[place + HEADER : place + HEADER + length]
        assert checksum == zlib.crc32(piece, zlib.crc32(bytes([kind])))
        record = piece if kind in {WHOLE, FIRST} else record + piece
        if kind in {WHOLE, LAST}:
            found = wandb_internal_pb2.Record()
            found.ParseFromString(record)
            yield found
        place += HEADER + length
