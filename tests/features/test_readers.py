"""A user's own feature files, in every format, sound and not."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from unseen.errors import UserError
from unseen.features.features import Features, align
from unseen.features.readers import read_features

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3)).astype(np.float32)
Y = np.array([5, 2, 5, 9, 2, 9])


def save(path: Path, X: Any = X, y: Any = Y) -> Path:
    if path.suffix == ".npz":
        np.savez(path, X=X, y=y)
    elif path.suffix == ".safetensors":
        save_file({"X": X, "y": y}, path)
    elif path.suffix == ".pth":
        torch.save({"X": torch.from_numpy(X), "Y": torch.from_numpy(y), "name": "train"}, path)
    else:
        np.save(path, X)
        np.save(path.with_name(path.name.replace("X", "y")), y)
    return path


@pytest.mark.parametrize("name", ["f.npz", "f.safetensors", "X_Y.pth", "train_X.npy", "X_train.npy", "X.npy"])
def test_every_format_gives_the_same_features(tmp_path: Path, name: str) -> None:
    found = read_features(save(tmp_path / name))
    assert np.array_equal(np.asarray(found.X), X)
    assert found.classes == ("2", "5", "9")
    assert found.y.tolist() == [1, 0, 1, 2, 0, 2]
    assert len(found.provenance["content_hash"]) == 64


def test_class_names_and_string_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=[0, 1, 0, 2, 1, 2], classes=["cat", "dog", "owl"], ids=list("abcdef"))
    named = read_features(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=X, y=["cat", "dog", "cat", "owl", "dog", "owl"])
    worded = read_features(tmp_path / "b.npz")
    assert named.classes == worded.classes == ("cat", "dog", "owl")
    assert named.y.tolist() == worded.y.tolist()
    assert list(named.ids) == list("abcdef")
    np.savez(tmp_path / "c.npz", X=X, y=["cat", "dog", "cat", "owl", "dog", "owl"], classes=["cat", "dog", "owl"])
    assert read_features(tmp_path / "c.npz").y.tolist() == named.y.tolist()


def test_half_precision_tensors(tmp_path: Path) -> None:
    torch.save({"X": torch.from_numpy(X).bfloat16(), "Y": torch.from_numpy(Y)}, tmp_path / "f.pth")
    assert np.asarray(read_features(tmp_path / "f.pth").X) == pytest.approx(X, abs=0.02)


def test_the_hash_follows_the_content(tmp_path: Path) -> None:
    first = read_features(save(tmp_path / "a.npz")).provenance["content_hash"]
    assert read_features(save(tmp_path / "b.safetensors")).provenance["content_hash"] == first
    assert read_features(save(tmp_path / "c.npz", X + 1)).provenance["content_hash"] != first
    assert read_features(save(tmp_path / "d.npz", X, Y[::-1].copy())).provenance["content_hash"] != first


def broken(value: float) -> np.ndarray:
    array = X.copy()
    array[4, 1] = value
    return array


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": broken(np.nan), "y": Y}, "not finite in row 4"),
        ({"X": broken(np.inf), "y": Y}, "not finite in row 4"),
        ({"X": X[:, 0], "y": Y}, r"must be an \(n, d\) array of numbers, found shape \(6,\)"),
        ({"X": X, "y": Y[:4]}, r"6 rows but labels of shape \(4,\)"),
        ({"X": X, "y": Y, "classes": ["a", "b"]}, "row 0 has label 5, but there are 2 classes"),
        ({"X": X, "y": -Y, "classes": list("abcdefghi")}, "row 0 has label -5"),
        ({"X": X, "y": Y, "ids": ["a", "b", "c", "a", "d", "e"]}, "the id a occurs 2 times"),
        ({"X": X, "y": Y, "ids": ["a"]}, "6 rows but 1 ids"),
        ({"X": X[:0], "y": Y[:0]}, "no rows"),
        ({"X": X, "y": Y + 0.5}, "labels must be integers or strings"),
        ({"X": X, "y": Y + 0.5, "classes": list("abcdefghij")}, "labels must be integers or strings"),
        ({"X": X, "y": [0, 1] * 3, "classes": ["crane", "crane"]}, "two classes are called crane"),
        ({"X": X, "y": ["a", "b"] * 3, "classes": ["a", "c"]}, "the label b is not among its classes"),
        ({"X": X.astype(str), "y": Y}, "array of numbers"),
        ({"features": X, "y": Y}, "no array 'X' among features, y"),
        ({"X": X}, "no array 'y' among X"),
        ({"X": X, "y": np.array(["a", "b"] * 3, object)}, r"y is an array of Python objects.*y\.astype\(str\)"),
    ],
)
def test_unsound_features_are_refused_by_name(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(UserError, match=message) as error:
        read_features(tmp_path / "bad.npz")
    assert "bad.npz" in str(error.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_features(tmp_path / "none.npz")
    (tmp_path / "features.csv").write_text("1,2\n")
    with pytest.raises(UserError, match="features are read from"):
        read_features(tmp_path / "features.csv")
    torch.save({}, tmp_path / "empty.pth")
    with pytest.raises(UserError, match="no array 'X'"):
        read_features(tmp_path / "empty.pth")
    torch.save({0: torch.zeros(2)}, tmp_path / "number.pth")
    with pytest.raises(UserError, match="no array 'X' among 0"):
        read_features(tmp_path / "number.pth")
    (tmp_path / "text.npz").write_text("not a zip")
    with pytest.raises(UserError, match="pickled objects, or is not such a file"):
        read_features(tmp_path / "text.npz")
    for suffix in (".npz", ".safetensors", ".pth"):
        (tmp_path / f"junk{suffix}").write_bytes(b"junk")
        with pytest.raises(UserError, match="not features as"):
            read_features(tmp_path / f"junk{suffix}")
    np.save(tmp_path / "alone.npy", X)
    with pytest.raises(UserError, match=r"expected alone_y\.npy or alone_labels\.npy"):
        read_features(tmp_path / "alone.npy")


class Program:
    def __reduce__(self) -> Any:
        return print, ("run",)


def test_programs_are_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"X": Program(), "Y": torch.zeros(2)}, tmp_path / "evil.pth")
    np.savez(tmp_path / "evil.npz", X=np.array([Program()], dtype=object), y=[1])
    for name in ("evil.pth", "evil.npz"):
        with pytest.raises(UserError, match="pickled objects"):
            read_features(tmp_path / name)
    assert "run" not in capsys.readouterr().out


def features(labels: list[int], classes: tuple[str, ...], d: int = 3) -> Features:
    return Features(np.zeros((len(labels), d)), np.array(labels), classes)


def test_classes_are_matched_by_name() -> None:
    train, test = align(features([0, 1, 2], ("a", "b", "c")), features([0, 1, 2], ("c", "b", "a")))
    assert train.classes == test.classes == ("a", "b", "c")
    assert test.y.tolist() == [2, 1, 0]
    train, test = align(features([0, 2], ("a", "unused", "c")), features([1, 0], ("c", "a")))
    assert (train.y.tolist(), test.y.tolist(), train.classes) == ([0, 1], [0, 1], ("a", "c"))


def test_classes_that_do_not_match_are_named() -> None:
    with pytest.raises(UserError, match="class b has no test sample"):
        align(features([0, 1], ("a", "b")), features([0], ("a",)))
    with pytest.raises(UserError, match="class b has test samples but no training sample"):
        align(features([0], ("a",)), features([0, 1], ("a", "b")))
    with pytest.raises(UserError, match="classes b, c have test samples but no training sample"):
        align(features([0], ("a",)), features([0, 2, 1], ("a", "b", "c")))
    with pytest.raises(UserError, match="3 dimensions, test features 4"):
        align(features([0], ("a",)), features([0], ("a",), d=4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((4, 2), np.longdouble)}, "write it as float32 or float64"),
        ({"X": np.ones((4, 2), "M8[s]")}, "array of numbers"),
        ({"ids": np.array("a")}, "'ids' is a list of names"),
        ({"classes": np.array("a")}, "'classes' is a list of names"),
        ({"classes": np.ones((2, 2))}, "'classes' is a list of names"),
        ({"y": np.array([0.0, 1.0, np.inf, 0.0])}, "integers or strings"),
        ({"y": np.array([0.0, 1.0, np.nan, 0.0])}, "integers or strings"),
        ({"y": np.array([0, 1, 2**64 - 1, 0], np.uint64)}, "integers or strings"),
        ({"y": np.array(3)}, "4 rows but labels of shape"),
    ],
)
def test_arrays_of_other_kinds_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    if np.dtype(np.longdouble).itemsize == 8 and "float32" in message:
        pytest.skip("long double is double here")
    np.savez(tmp_path / "a.npz", **{"X": np.ones((4, 2)), "y": np.array([0, 1, 0, 1])} | change)
    with pytest.raises(UserError, match=message):
        read_features(tmp_path / "a.npz")


def test_numbers_of_the_other_byte_order_are_turned_round(tmp_path: Path) -> None:
    X = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.savez(tmp_path / "a.npz", X=X.astype(">f4"), y=np.array([0, 1, 0, 1], ">i8"))
    found = read_features(tmp_path / "a.npz")
    assert found.X.dtype.isnative
    assert found.y.dtype == np.int64
    np.testing.assert_array_equal(found.X[:], X)


def test_features_of_an_npz_are_mapped_and_not_copied(tmp_path: Path) -> None:
    """Every worker reads the file: what each of them would copy, all together could not hold."""
    X = np.ones((1 << 16, 256), dtype=np.float32)
    np.savez(tmp_path / "train.npz", X=X, y=np.arange(len(X)) % 10)
    tracemalloc.start()
    try:
        read_features(tmp_path / "train.npz")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.75 * X.nbytes
