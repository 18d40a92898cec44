"""Lines of JSON that are appended while others read them, also after a kill or on a full disk."""

import json
from pathlib import Path

import pytest

from unseen.reading.json_lines import append_objects, read_objects


def test_lines_after_a_torn_one_begin_on_their_own(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lines.jsonl"
    assert read_objects(path) == []
    append_objects(path, [{"a": 1}, {"b": "\udcff é"}])
    whole = path.read_bytes()
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        append_objects(path, [{"c": 3}], durable=True)
        read = read_objects(path)
        assert read[-1] == {"c": 3}
        assert read[:-1] == [{"a": 1}, {"b": "\udcff é"}][: len(read) - 1]
        assert len(read) == 1 + (end >= len(whole.split(b"\n")[0])) + (end >= len(whole) - 1)


def test_lines_that_are_no_object_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a": 1}\r\n\n[2]\n3\n{"b"\n\xff\xfe\n' + b"[" * 100_000 + b'\n{"c": 3}')
    assert read_objects(path) == [{"a": 1}, {"c": 3}]


def test_numbers_that_are_not_finite_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with pytest.raises(ValueError, match="JSON"):
        append_objects(path, [{"a": 1}, {"b": float("nan")}])
    assert not path.exists()


def test_full_disk(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match="space"):
        append_objects(tmp_path / "lines.jsonl", [json.loads('{"a": 1}')])
