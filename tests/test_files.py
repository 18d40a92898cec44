"""Tables and atomic writes."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.files import atomic_write, read_table, write_table

CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12).map(str.strip)


@given(st.lists(st.tuples(CELLS.filter(bool), CELLS), max_size=6))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.getbasetemp() / "table.csv"
    write_table(path, ["a", "b"], iter(rows))
    assert [(row["a"], row["b"]) for _, row in read_table(path, ["a", "b"])] == rows


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.txt"]


def test_a_written_file_is_readable_by_others(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "new/result.txt") as file:
        file.write(b"x")
    assert (tmp_path / "new/result.txt").stat().st_mode & stat.S_IRUSR
    assert (tmp_path / "new/result.txt").read_text() == "x"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/x\.csv: cannot be written"), atomic_write(tmp_path / "file/x.csv"):
        pass


def test_a_folder_is_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        list(read_table(tmp_path, ["a"]))


def test_a_repeated_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,a\n1,2\n")
    with pytest.raises(UserError, match="occurs twice"):
        list(read_table(tmp_path / "t.csv", ["a"]))
