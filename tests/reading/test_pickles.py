"""Other people's pickles: plain data comes through, programs do not run."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.reading.pickles import read_plain_pickle

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


def write(path: Path, value: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(value, protocol))
    return path


@given(PLAIN, st.integers(2, 5))
def test_plain_data_survives(tmp_path_factory: pytest.TempPathFactory, value: Any, protocol: int) -> None:
    assert read_plain_pickle(write(tmp_path_factory.getbasetemp() / "plain.pkl", value, protocol)) == value


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["<U24", ">U24", object])
def test_arrays_of_strings_become_lists(tmp_path: Path, protocol: int, dtype: Any) -> None:
    names = ["n01440764_1.JPEG", "é.jpg", ""]
    value = {"n01440764": {"train": np.array(names, dtype=dtype), "test": np.array(names[:1], dtype=dtype)}}
    found = read_plain_pickle(write(tmp_path / "arrays.pkl", value, protocol))
    assert found == {"n01440764": {"train": names, "test": names[:1]}}


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_of_bytes_is_one_item_that_is_no_name(tmp_path: Path, order: Any) -> None:
    pixels = np.asarray(np.arange(6, dtype=np.uint8).reshape(2, 3), order=order)
    path = write(tmp_path / "bytes.pkl", {b"data": pixels}, protocol=2)
    (found,) = read_plain_pickle(path, encoding="bytes")[b"data"]
    np.testing.assert_array_equal(found, pixels)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("dtype", ["<i8", ">i4", "u2", "|i1", ">f8", "<f4"])
def test_numbers_of_numpy_are_read_in_any_byte_order(tmp_path: Path, protocol: int, dtype: str) -> None:
    numbers = np.array([[1, 0], [100, 7]], dtype=dtype)
    value = {"many": numbers, "none": np.array([], dtype=dtype), "one": numbers[1, 0]}
    found = read_plain_pickle(write(tmp_path / "numbers.pkl", value, protocol))
    ((many,), (none,)) = found["many"], found["none"]
    np.testing.assert_array_equal(many, numbers)
    assert (none.shape, found["one"], type(found["one"])) == ((0,), 100, float if "f" in dtype else int)


@pytest.mark.parametrize("dtype", ["c16", "M8[s]", "bool", "V4"])
def test_other_types_of_numpy_are_refused(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(UserError, match="not a pickle of plain data"):
        read_plain_pickle(write(tmp_path / "other.pkl", np.zeros(2, dtype=dtype)))
    with pytest.raises(UserError, match="not a pickle of plain data"):
        read_plain_pickle(write(tmp_path / "other.pkl", np.zeros(2, dtype=dtype)[0]))


class Program:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def test_a_program_is_refused_and_does_not_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    path = write(tmp_path / "evil.pkl", [Program(str(made))])
    with pytest.raises(UserError, match=r"evil\.pkl: refused, not a pickle of plain data \(it names (posix|nt)\.mkdir"):
        read_plain_pickle(path)
    assert not made.exists()


@pytest.mark.parametrize(
    "code",
    [
        b"cbuiltins\neval\n(S'1+1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\nscalar\n.",
        b"cbuiltins\ngetattr\n.",
        b"garbage",
        b"",
        b"\x80\x04\x95",
    ],
)
def test_other_names_and_damage_are_refused(tmp_path: Path, code: bytes) -> None:
    (tmp_path / "bad.pkl").write_bytes(code)
    with pytest.raises(UserError, match="not a pickle of plain data"):
        read_plain_pickle(tmp_path / "bad.pkl")


def test_a_truncated_array_is_refused(tmp_path: Path) -> None:
    data = pickle.dumps(np.array(["abc", "de"]), 4)
    (tmp_path / "cut.pkl").write_bytes(data.replace(np.array(["abc", "de"]).tobytes(), b"abc"))
    with pytest.raises(UserError, match="not a pickle of plain data"):
        read_plain_pickle(tmp_path / "cut.pkl")


@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_crash(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.pkl"
    path.write_bytes(data)
    try:
        read_plain_pickle(path)
    except UserError as error:
        assert str(path) in str(error)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.pkl: no such file"):
        read_plain_pickle(tmp_path / "none.pkl")


@pytest.mark.parametrize("holder", ["dict", "set", "frozenset", "ordered"])
def test_keys_that_take_for_ever_to_hash_are_refused(tmp_path: Path, holder: str) -> None:
    """Of nested tuples that share their parts: 2 to the 60 steps."""
    nested = b"N" + b"2\x86" * 60  # None, then 60 times: duplicate the top, make a pair of both
    content = {
        "dict": b"}" + nested + b"K\x01s.",
        "set": b"\x8f(" + nested + b"\x90.",
        "frozenset": b"(" + nested + b"\x91.",
        "ordered": b"ccollections\nOrderedDict\n((" + nested + b"K\x01\x86l\x85R.",
    }[holder]
    (tmp_path / "slow.pkl").write_bytes(b"\x80\x04" + content)
    with pytest.raises(UserError, match=r"slow\.pkl: refused|slow\.pkl: damaged"):
        read_plain_pickle(tmp_path / "slow.pkl")


def test_what_is_not_data_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "build.pkl").write_bytes(b"\x80\x04cnumpy\ndtype\nN}\x8c\x04codeK\x07s\x86b.")
    with pytest.raises(UserError, match="it sets the state of an object that is not data"):
        read_plain_pickle(tmp_path / "build.pkl")
