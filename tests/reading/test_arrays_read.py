"""Arrays from files: bounded by what the file has, and never unpickled."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.reading import arrays
from unseen.reading.arrays import read_npy, read_npz
from unseen.reading.guard import reading


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(7),
        np.array(["a", "bcd"]),
        np.empty((0, 4), np.float16),
        np.array([True, False]),
        np.arange(3, dtype=">i4"),
    ],
)
def test_the_same_as_numpys_reader(tmp_path: Path, array: Any) -> None:
    (tmp_path / "a.npy").write_bytes(npy(array))
    np.savez_compressed(tmp_path / "a.npz", a=array)
    for found in (read_npy(tmp_path / "a.npy"), read_npz(tmp_path / "a.npz")["a"]):
        assert found.dtype == array.dtype
        assert found.flags.writeable
        np.testing.assert_array_equal(found, array)


def test_arrays_that_are_not_wanted_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", x=np.ones(3), unused=np.zeros(1 << 20))
    monkeypatch.setattr(arrays, "memory", lambda: 1 << 20)
    assert list(read_npz(tmp_path / "bomb.npz", ("x", "y"))) == ["x"]
    with pytest.raises(UserError, match=r"bomb\.npz: unpacks to 8.4 MB, more than the memory"):
        read_npz(tmp_path / "bomb.npz")


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", content)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        npy(np.arange(9))[:-1],
        npy(np.arange(9)) + b"x",
        npy(np.arange(9)).replace(b"(9,)", b"(9" + b"9" * 15 + b",)"),
        npy(np.array([{}], dtype=object)),
        b"\x93NUMPY\x09\x00" + bytes(100),
    ],
)
def test_what_is_not_what_its_header_says_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.npy: damaged, or not an array"), reading(tmp_path / "a.npy", "an array"):
        read_npy(tmp_path / "a.npy")
    (tmp_path / "a.npz").write_bytes(zipped(content))
    with pytest.raises(UserError, match=r"a\.npz: damaged"), reading(tmp_path / "a.npz", "arrays"):
        read_npz(tmp_path / "a.npz")
