"""CIFAR's pickles, which are read without being run, and its other files."""

import os
import pickle
from pathlib import Path

import dataset_trees as trees
import numpy as np
import pytest

from unseen.data.sets.cifar10 import read_binary, read_python
from unseen.data.sets.cifar100 import read_binary as read_binary_100
from unseen.errors import UserError


def test_the_tiny_pickles_are_true_ones(tmp_path: Path) -> None:
    """Python's own reader gets the same from them, as torchvision calls it."""
    trees.cifar10(tmp_path)
    with (tmp_path / "cifar-10-batches-py/data_batch_3").open("rb") as file:
        theirs = pickle.load(file, encoding="latin1")
    data, labels = trees.cifar_batch(seed=2, count=4, classes=2)
    assert np.array_equal(theirs["data"], data)
    assert theirs["labels"] == labels


@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles_that_python_3_wrote(protocol: int, tmp_path: Path) -> None:
    """Subsets that people save again have text keys, and bytes in another way."""
    trees.cifar10(tmp_path)
    folder = tmp_path / "cifar-10-batches-py"
    data, labels = trees.cifar_batch(seed=0, count=4, classes=2)
    (folder / "data_batch_1").write_bytes(pickle.dumps({"data": data, "labels": labels}, protocol))
    pixels = read_python(folder).open().read(0)
    assert np.array_equal(np.asarray(pixels).transpose(2, 0, 1).ravel(), data[0])


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("evil",)


def test_a_pickle_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trees.cifar10(tmp_path)
    folder = tmp_path / "cifar-10-batches-py"
    (folder / "data_batch_2").write_bytes(pickle.dumps({b"data": Evil(), b"labels": []}))
    with pytest.raises(UserError, match=r"data_batch_2: refused, .* \(it names posix.mkdir, which is not data"):
        read_python(folder)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a pickle of plain data"),
        (b"\x80\x02}.", "expected images of 3,072 bytes under 'data' and a list 'labels'"),
        (b"\x80\x02].", "a dictionary"),
        (trees.python_2_pickle(np.zeros((2, 100), np.uint8), {"labels": [0, 1]}), "expected images of 3,072 bytes"),
        (trees.python_2_pickle(np.zeros((2, 3072), np.uint8), {"labels": [0]}), "2 images but 1 labels"),
        (trees.python_2_pickle(np.zeros((1, 3072), np.uint8), {"labels": [9]}), "a class without a name"),
        (pickle.dumps({b"data": np.zeros((1, 3072)), b"labels": [0]}, 2), "expected images of 3,072 bytes"),
    ],
)
def test_wrong_pickles_are_named(content: bytes, reason: str, tmp_path: Path) -> None:
    trees.cifar10(tmp_path)
    (tmp_path / "cifar-10-batches-py/data_batch_4").write_bytes(content)
    with pytest.raises(UserError, match=f"data_batch_4: .*{reason}"):
        read_python(tmp_path / "cifar-10-batches-py")


def test_names_of_classes_are_needed(tmp_path: Path) -> None:
    trees.cifar10(tmp_path)
    (tmp_path / "cifar-10-batches-py/batches.meta").write_bytes(trees.python_2_pickle(trees.NOTHING, {"names": ["x"]}))
    with pytest.raises(UserError, match=r"batches.meta: contains no list 'label_names' of class names"):
        read_python(tmp_path / "cifar-10-batches-py")


def test_plain_bytes(tmp_path: Path) -> None:
    trees.cifar10_binary(tmp_path)
    folder = tmp_path / "cifar-10-batches-bin"
    good = (folder / "test_batch.bin").read_bytes()
    (folder / "test_batch.bin").write_bytes(good[:-1])
    with pytest.raises(UserError, match=r"test_batch.bin: 12,291 bytes, not a multiple of the record size, 1 \+ 3,072"):
        read_binary(folder)
    (folder / "test_batch.bin").write_bytes(b"\x07" + good[1:])
    with pytest.raises(UserError, match=r"test_batch.bin: a class beyond the 2 that have names"):
        read_binary(folder)


def test_fine_classes_are_the_second_byte(tmp_path: Path) -> None:
    pixels = bytes(3072)
    for part in ("train", "test"):
        trees.write(tmp_path / f"{part}.bin", b"\x01\x00" + pixels + b"\x00\x02" + pixels)
    trees.write(tmp_path / "fine_label_names.txt", "apple\nfish\nbaby\n")
    assert [row.label for row in read_binary_100(tmp_path).rows] == ["apple", "baby"] * 2
