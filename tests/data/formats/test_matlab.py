"""MATLAB files, against SciPy's reader and writer."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from unseen.data.formats.matlab import read_mat, whole_numbers
from unseen.errors import UserError

io = pytest.importorskip("scipy.io")

NUMBERS = st.sampled_from([np.dtype(kind) for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")])


@given(
    array=NUMBERS.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=2, max_dims=3, max_side=4))),
    compressed=st.booleans(),
)
@examples(60)
def test_numbers_of_every_type_and_shape(tmp_path_factory: Any, array: np.ndarray, compressed: bool) -> None:
    path = tmp_path_factory.mktemp("mat") / "x.mat"
    io.savemat(path, {"first": array, "second": array.T}, do_compression=compressed)
    found = read_mat(path)
    for name, expected in (("first", array), ("second", array.T)):
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], expected)


def write_annotations(path: Path, compressed: bool) -> None:
    kind = [("class", "O"), ("fname", "O")]
    records = np.array([[(1, "00001.jpg"), (196, "é 2.jpg"), (3, "")]], dtype=kind)
    cells = np.array([["AM General", "Audi", "x", np.array([[1, 2]])]], dtype=object)
    io.savemat(path, {"annotations": records, "class_names": cells}, do_compression=compressed)


@pytest.mark.parametrize("compressed", [False, True])
def test_structures_cells_and_text(tmp_path: Path, compressed: bool) -> None:
    write_annotations(tmp_path / "x.mat", compressed)
    found = read_mat(tmp_path / "x.mat")
    theirs = io.loadmat(tmp_path / "x.mat", squeeze_me=True)
    for ours, other in zip(found["annotations"], theirs["annotations"], strict=True):
        assert ours["class"].item() == int(other["class"])
        if ours["fname"]:  # SciPy makes an empty array of an empty text
            assert ours["fname"] == str(other["fname"])
    assert [image["fname"] for image in found["annotations"]] == ["00001.jpg", "é 2.jpg", ""]
    assert found["class_names"][:3] == ["AM General", "Audi", "x"]
    np.testing.assert_array_equal(found["class_names"][3], [[1, 2]])


def element(kind: int, data: bytes, order: str = ">") -> bytes:
    return struct.pack(f"{order}II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def header(order: str) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + (b"\x01\0MI" if order == ">" else b"\0\x01IM")


def test_big_endian(tmp_path: Path) -> None:
    """As old workstations wrote it, assembled by hand: a double array 1 × 3 whose values are stored as 16 bits."""
    flags, shape = element(6, struct.pack(">II", 6, 0)), element(5, struct.pack(">ii", 1, 3))
    matrix = flags + shape + element(1, b"labels") + element(3, struct.pack(">hhh", 1, -2, 300))
    (tmp_path / "x.mat").write_bytes(header(">") + element(14, matrix))
    found = read_mat(tmp_path / "x.mat")["labels"]
    assert found.dtype == np.float64
    assert found.tolist() == [[1.0, -2.0, 300.0]]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_cut_anywhere_or_changed_anywhere_is_refused_or_read(tmp_path: Path, compressed: bool) -> None:
    """Never anything but an error of the user's: no crash, no endless loop, no memory without bounds."""
    path = tmp_path / "x.mat"
    write_annotations(path, compressed)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [content[:size] for size in range(0, len(content), 7)]
    for _ in range(300):
        place, value = int(rng.integers(128, len(content))), int(rng.integers(256))
        damaged.append(content[:place] + bytes([value]) + content[place + 1 :])
    refused = 0
    for version in damaged:
        path.write_bytes(version)
        try:
            read_mat(path)
        except UserError as error:
            refused += 1
            assert "not a MATLAB file" in str(error)
    assert refused > 100


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    io.savemat(path, {"x": np.array([[1 + 2j]])})
    with pytest.raises(UserError, match="x is complex"):
        read_mat(path)
    io.savemat(path, {"x": np.array(["ab", "cd"])})
    with pytest.raises(UserError, match="text of several lines"):
        read_mat(path)
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\x02IM")
    with pytest.raises(UserError, match="it is version 7.3 .HDF5.; save it as version 7"):
        read_mat(path)
    path.write_bytes(b"<html>not found</html>" * 20)
    with pytest.raises(UserError, match="its first 128 bytes are not a MATLAB header"):
        read_mat(path)
    with pytest.raises(UserError, match=r"none.mat: no such file"):
        read_mat(tmp_path / "none.mat")


def test_whole_numbers() -> None:
    assert whole_numbers(np.array([[1.0, 3.0], [2.0, 4.0]])) == [1, 2, 3, 4]
    for value in (np.array([0.5]), np.array([np.nan]), np.array([np.inf]), "1", [1], None):
        assert whole_numbers(value) is None


def test_a_bomb_and_a_tower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.mat"
    monkeypatch.setattr("unseen.data.formats.matlab.MAX_BYTES", 1 << 20)
    packed = zlib.compress(bytes((1 << 20) + 1), 9)
    path.write_bytes(header("<") + struct.pack("<II", 15, len(packed)) + packed)
    with pytest.raises(UserError, match="it decompresses to more than 1 MiB"):
        read_mat(path)
    inner = b""
    for _ in range(2000):
        start = element(6, struct.pack("<II", 1, 0), "<") + element(5, struct.pack("<ii", 1, 1), "<")
        inner = element(14, start + element(1, b"", "<") + inner, "<")
    path.write_bytes(header("<") + inner)
    with pytest.raises(UserError, match="it is nested too deep"):
        read_mat(path)


def test_structures_that_take_no_bytes_are_refused(tmp_path: Path) -> None:
    """A few hundred bytes that say a billion structures without fields."""
    flags, shape = struct.pack("<IIII", 6, 8, 2, 0), struct.pack("<IIii", 5, 8, 1 << 30, 1)
    name, width = struct.pack("<II", 1, 0), struct.pack("<IIII", 5, 4, 8, 0)
    body = flags + shape + name + width + struct.pack("<II", 1, 0)
    header = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    (tmp_path / "a.mat").write_bytes(header + struct.pack("<II", 14, len(body)) + body)
    with pytest.raises(UserError, match="structures without fields"):
        read_mat(tmp_path / "a.mat")


def test_elements_are_bounded_not_only_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.empty(2_000, dtype=object)
    cells[:] = [np.empty((0, 0))] * len(cells)
    io.savemat(tmp_path / "cells.mat", {"a": cells}, do_compression=True)
    [found] = read_mat(tmp_path / "cells.mat").values()
    assert len(found) == len(cells)
    monkeypatch.setattr("unseen.data.formats.matlab.MAX_ELEMENTS", 2_000)
    with pytest.raises(UserError, match=r"cells\.mat: .* 2,000 "):
        read_mat(tmp_path / "cells.mat")
