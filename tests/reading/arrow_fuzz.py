"""Reads many damaged Arrow files; run as a process of its own, which a fault of the reader would end by a signal."""

import random
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa

from unseen.errors import UserError
from unseen.reading.arrow_tables import read_arrow

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def contents() -> list[bytes]:
    """The same rows in the stream and the file format, in several batches, with a dictionary."""
    table = pa.table(
        {
            "image": pa.array([{"bytes": bytes(range(40)), "path": f"{row}.jpg"} for row in range(6)], IMAGE),
            "label": pa.array([0, 1, 0, 1, 1, 0]),
            "name": pa.array(["cat", "dog", "cat", None, "dog", "cat"]).dictionary_encode(),
        }
    )
    found = []
    for new in (pa.ipc.new_stream, pa.ipc.new_file):
        sink = pa.BufferOutputStream()
        with new(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
        found.append(sink.getvalue().to_pybytes())
    return found


def damaged(content: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.2:
        return content[: draw.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def main(folder: Path, count: int) -> None:
    """Print how many files were read and how many refused; anything else ends the process."""
    draw, files, outcome = random.Random(0), contents(), Counter[str]()
    for number in range(count):
        path = folder / "damaged.arrow"
        path.write_bytes(damaged(files[number % 2], draw))
        try:
            table = read_arrow(path)
        except UserError as error:
            assert str(path) in str(error)
            outcome["refused"] += 1
            continue
        for column in table.columns:
            if not pa.types.is_struct(column.type) or column.type == IMAGE:
                [value.as_py() for value in column]
        outcome["read"] += 1
    print(outcome["read"], outcome["refused"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
