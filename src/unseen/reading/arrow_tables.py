"""Memory-mapped Arrow files, fully checked before use.

Arrow itself follows the offsets of a damaged file out of the mapping, which kills the process by a signal. Here the
messages of a file are traversed first: each must be complete, none compressed (a few kilobytes could expand to
gigabytes, and compressed rows cannot be read in place), and the end marker must exist; otherwise a file truncated
between two messages would just have fewer rows. Then every offset, length and text of the table is validated.
"""

import struct
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.reading.guard import reading

MAGIC = b"ARROW1\0\0"
"""First bytes of the file format; a stream follows, and a footer that is not needed here."""
END = b"\xff\xff\xff\xff\0\0\0\0"
RECORD_BATCH, DICTIONARY = "record batch", "dictionary"
HEADER, DATA, COMPRESSION = 2, 1, 3
"""Field numbers in Arrow's schemas of Message, DictionaryBatch and RecordBatch."""


def read_arrow(path: Path) -> Any:
    """The rows of a file in Arrow's stream or file format, as a `pyarrow.Table` whose values stay on disk."""
    import pyarrow as pa

    with reading(path, "a readable Arrow file"):
        mapped = pa.memory_map(str(path))
        start = len(MAGIC) if mapped.read(len(MAGIC)) == MAGIC else 0
        mapped.seek(start)
        for message in pa.ipc.MessageReader.open_stream(mapped):
            if message.type in {RECORD_BATCH, DICTIONARY} and _is_compressed(message):
                raise UserError(f"{path}: compressed, so its rows cannot be read in place; write it uncompressed")
        end = mapped.tell()
        if mapped.read_at(len(END), max(0, end - len(END))) != END:
            raise ValueError("it is cut off")
        mapped.seek(start)
        table = pa.ipc.open_stream(mapped).read_all()
        table.validate(full=True)
        if table.num_rows > mapped.size():  # rows without columns cost no bytes
            raise ValueError(f"{table.num_rows:,} rows in {mapped.size():,} bytes")
        return table


def _is_compressed(message: Any) -> bool:
    metadata = message.metadata.to_pybytes()
    batch = _inside(metadata, _fields(metadata, _position(metadata, 0))[HEADER])
    if message.type == DICTIONARY:
        batch = _inside(metadata, batch[DATA])
    return len(batch) > COMPRESSION and batch[COMPRESSION] is not None


def _position(data: bytes, at: int) -> int:
    """The target of a FlatBuffer reference."""
    position: int = at + struct.unpack_from("<I", data, at)[0]
    return position


def _fields(data: bytes, table: int) -> list[int | None]:
    """Offsets of the fields of a FlatBuffer table; None for missing fields."""
    names = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, names)[0]
    return [table + at if at else None for at in struct.unpack_from(f"<{size // 2 - 2}H", data, names + 4)]


def _inside(data: bytes, at: int | None) -> list[int | None]:
    """The fields of a table that a field refers to."""
    if at is None:
        raise ValueError("a message without content")
    return _fields(data, _position(data, at))
