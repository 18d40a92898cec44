"""Arrow files that cannot take the process down, whatever is in them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import arrow_fuzz
import pyarrow as pa
import pytest

from unseen.errors import UserError
from unseen.reading.arrow_tables import read_arrow


def written(path: Path, table: Any, new: Any = pa.ipc.new_stream, compression: str | None = None) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return path


def test_damage_is_refused_and_ends_no_process(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, arrow_fuzz.__file__, str(tmp_path), "400"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    read, refused = map(int, ran.stdout.split())
    assert read > 20  # where the damage is in padding or in a value
    assert refused > 200


@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_both_formats_are_read(tmp_path: Path, new: Any) -> None:
    table = pa.table({"a": ["x", None, "z"], "b": [1, 2, 3]})
    assert read_arrow(written(tmp_path / "t.arrow", table, new)).equals(table)


@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
@pytest.mark.parametrize("column", [[b"\0" * 100_000] * 10, pa.array(["\0" * 100_000] * 10).dictionary_encode()])
def test_what_would_unpack_is_refused_before_it_does(tmp_path: Path, new: Any, column: Any) -> None:
    place = written(tmp_path / "bomb.arrow", pa.table({"a": column}), new, "zstd")
    assert place.stat().st_size < 5000
    before = pa.total_allocated_bytes()
    with pytest.raises(UserError, match=r"bomb\.arrow: compressed"):
        read_arrow(place)
    assert pa.total_allocated_bytes() - before < 10_000


def test_a_file_that_was_cut_between_batches_is_refused(tmp_path: Path) -> None:
    """Arrow takes the end of a file for the end of the stream, and would just have fewer rows."""
    table = pa.table({"a": [1, 2]})
    place = written(tmp_path / "cut.arrow", table)
    place.write_bytes(place.read_bytes()[:-8])
    with pytest.raises(UserError, match="cut off"):
        read_arrow(place)


def test_rows_without_bytes_are_refused(tmp_path: Path) -> None:
    place = written(tmp_path / "rows.arrow", pa.table({"a": pa.Array.from_buffers(pa.null(), (1 << 31) - 1, [None])}))
    with pytest.raises(UserError, match="2,147,483,647 rows"):
        read_arrow(place)
