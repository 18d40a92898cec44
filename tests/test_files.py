"""Tables and atomic writes."""

import fcntl
import os
import signal
import stat
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

import pytest
from alone import start_telling
from hypothesis import given
from hypothesis import strategies as st

from unseen import files
from unseen.errors import UserError
from unseen.files import atomic_write, read_table, read_text, remove_unfinished, write_table

ACTING = ["Cs", "Cc", "Cf", "Zl", "Zp"]
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=ACTING), max_size=12).map(str.strip)


@given(st.lists(st.tuples(CELLS.filter(bool), CELLS), max_size=6))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.getbasetemp() / "table.csv"
    write_table(path, ["a", "b"], iter(rows))
    assert [(row["a"], row["b"]) for _, row in read_table(path, ["a", "b"])] == rows


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_fields_are_separated_as_in_the_header(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(separator.join(["a", '"b,;,;,\t"', "c"]) + "\n" + separator.join(["1", '"2,5"', "3"]) + "\n")
    assert list(read_table(path, ["a", "c"])) == [(2, {"a": "1", "b,;,;,": "2,5", "c": "3"})]


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"])
def test_a_spreadsheet_gets_a_hint(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "table.xlsx"
    path.write_bytes(start + bytes(range(256)))
    with pytest.raises(UserError, match="save the sheet as CSV"):
        list(read_table(path, ["a"]))


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
    (tmp_path / "plain.txt").write_text("x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new/result.txt", "plain.txt")]
    assert modes[0] == modes[1]
    assert (tmp_path / "new/result.txt").read_text() == "x"


def test_a_link_is_followed_and_a_pipe_is_written_into(tmp_path: Path) -> None:
    (tmp_path / "target.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "target.txt")
    with atomic_write(tmp_path / "link.txt") as file:
        file.write(b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(tmp_path / "pipe") as file:
        file.write(b"through")
    assert os.read(reader, 20) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


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


def test_a_text_that_is_too_long_or_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_CHARACTERS", 1000)
    (tmp_path / "long").write_text("x" * 1001)
    with pytest.raises(UserError, match="/long: larger than 1.0 kB"):
        read_text(tmp_path / "long")
    with pytest.raises(UserError, match="/dev/zero: a device"):
        read_text(Path("/dev/zero"))


@pytest.mark.parametrize("text", ["=1+2", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "'=1", "''-x", "-", "it's", "'s"])
def test_formulas_are_neutral_in_a_spreadsheet_and_the_same_when_read(tmp_path: Path, text: str) -> None:
    write_table(tmp_path / "t.csv", ["a", text], iter([[text, -0.5]]))
    written = (tmp_path / "t.csv").read_text().splitlines()
    assert not written[1].lstrip('"').startswith(("=", "+", "-", "@"))
    assert list(read_table(tmp_path / "t.csv", ["a"])) == [(2, {"a": text, text: "-0.5"})]


@pytest.mark.parametrize("number", ["-1", "+0.5", "-1e-05", "-inf"])
def test_numbers_stay_numbers(tmp_path: Path, number: str) -> None:
    write_table(tmp_path / "t.csv", ["a"], iter([[number]]))
    assert (tmp_path / "t.csv").read_text() == f"a\n{number}\n"


def write_without_end(path: Path, tell: Connection) -> None:
    with atomic_write(path) as file:
        file.write(b"half")
        tell.send(None)
        signal.pause()


def test_what_a_killed_write_leaves_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    """File times say nothing: clocks of several machines differ."""
    killed, told = start_telling(write_without_end, tmp_path / "results/a.json")
    told.recv()
    with atomic_write(tmp_path / "results/b.json") as file:
        for path in (tmp_path / "results").iterdir():
            os.utime(path, (0, 0))
        remove_unfinished(tmp_path)
        assert len([*(tmp_path / "results").iterdir()]) == 2
        killed.kill()
        killed.join()
        remove_unfinished(tmp_path)
        assert [path.name for path in (tmp_path / "results").iterdir()] == [Path(file.name).name]
        file.write(b"whole")
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["b.json"]
    assert (tmp_path / "results/b.json").read_bytes() == b"whole"


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, waited = fcntl.flock, list[Path]()

    def remove_first(file: IO[bytes], how: int) -> None:
        if not waited:
            waited.append(Path(file.name))
            remove_unfinished(tmp_path)
        lock(file, how)

    monkeypatch.setattr("fcntl.flock", remove_first)
    with atomic_write(tmp_path / "a.json") as file:
        file.write(b"whole")
    assert not waited[0].exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
