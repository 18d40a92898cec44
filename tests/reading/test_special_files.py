"""A FIFO, a device and a socket are refused before they are opened, by every reader."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_any_reader import READERS

from unseen.data.core.folder import folder_images
from unseen.data.core.listing import list_images
from unseen.errors import UserError
from unseen.exchange.check import check_results
from unseen.files import atomic_write, read_table

HANGS = 10
"""Seconds after which a reader waits for a writer, or reads without end."""


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANGS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", READERS)
def test_a_special_file_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    path, read = READERS[name](tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match=str(tmp_path)):
        read()
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(UserError, match=str(tmp_path)):
        read()


def test_what_it_is_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    [finding] = check_results(tmp_path / "a.json")
    assert (finding.severity, "FIFO" in finding.text) == ("error", True)
    with pytest.raises(UserError, match=r"zero: a device"):
        list(read_table(Path("/dev/zero"), ["a"]))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        with pytest.raises(UserError, match=r"s: a socket"):
            list(read_table(tmp_path / "s", ["a"]))


def test_a_link_to_a_file_and_a_folder_are_no_special_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.csv").symlink_to("a.csv")
    assert [row for _, row in read_table(tmp_path / "b.csv", ["a"])] == [{"a": "1"}]
    with pytest.raises(UserError, match="directory"):
        list(read_table(tmp_path, ["a"]))


def test_an_image_in_a_folder_of_a_class(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "cat" / "a.png") as file:
        file.write(b"x")
    os.mkfifo(tmp_path / "cat" / "b.png")
    assert dict(list_images(tmp_path))
    images = folder_images(tmp_path)
    for number in range(len(images.entries)):
        if images.entries[number].id == "cat/b.png":
            with pytest.raises(UserError, match=r"b\.png: a FIFO"):
                images.read(number)
