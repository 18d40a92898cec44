"""Sizes of the pages of Parquet files, compared with what PyArrow reads."""

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unseen.errors import UserError
from unseen.reading import parquet_pages
from unseen.reading.parquet_pages import Pages, pages


def columns_of(path: Path) -> list[tuple[Any, Pages]]:
    metadata = pq.ParquetFile(path).metadata
    chunks = [
        metadata.row_group(group).column(number)
        for group in range(metadata.num_row_groups)
        for number in range(metadata.num_columns)
    ]
    with path.open("rb") as file:
        return [(chunk, pages(path, file, chunk)) for chunk in chunks]


@pytest.mark.parametrize("options", [
    {}, {"compression": "zstd"}, {"compression": "none", "use_dictionary": False}, {"data_page_version": "2.0"},
    {"write_page_checksum": True, "data_page_size": 200, "write_batch_size": 8}, {"write_page_index": True},
])  # fmt: skip
def test_pages_add_up_to_what_the_footer_states(tmp_path: Path, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    texts = [rng.bytes(int(size)) for size in rng.integers(0, 9000, 60)]
    lists = [list(range(number % 4)) for number in range(60)]
    table = pa.table({"a": pa.array(texts), "b": pa.array(range(60)), "c": pa.array(lists, pa.list_(pa.int64()))})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=25, **options)
    found = columns_of(path)
    assert len(found) == 9
    for chunk, each in found:
        stated = chunk.total_uncompressed_size  # of pages and their headers
        inside = sum(each.sizes) + each.dictionary
        assert inside < stated <= inside + 300 * (len(each.sizes) + 1) + (20_000 if chunk.path_in_schema == "a" else 0)
        assert each.values == chunk.num_values
        assert (each.dictionary > 0) == chunk.has_dictionary_page


def test_values_within_a_limit_wherever_they_are() -> None:
    assert Pages((10, 10, 10), 0, 300).rows_within(1000) == 300
    assert Pages((10, 40, 10), 0, 300).rows_within(55) == 2
    assert Pages((10, 40, 10), 0, 300).rows_within(5) == 1
    assert Pages((10, 10), 20, 300).rows_within(100) == 5
    assert Pages((10, 10), 200, 300).rows_within(100) == 1


def test_a_page_that_expands_too_far_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [bytes(1 << 20)] * 3}), path, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(parquet_pages, "MOST_PAGE", 1 << 21)
    assert path.stat().st_size < 10_000
    with pytest.raises(UserError, match=r"t\.parquet: a page of the column 'a' expands to 3\.1 MB"):
        columns_of(path)


def test_any_damage_of_headers_is_an_error_or_another_size(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [b"x" * 50, b"y" * 9] * 4}), path)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(300):
        start = chunk.dictionary_page_offset
        damaged = bytearray(whole)
        for place in rng.integers(start, start + chunk.total_compressed_size, 3):
            damaged[place] = rng.integers(256)
        with contextlib.suppress(ValueError, UserError):
            found = pages(path, io.BytesIO(damaged), chunk)
            assert all(0 <= size <= parquet_pages.MOST_PAGE for size in (found.dictionary, *found.sizes))
