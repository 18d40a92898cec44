"""torchvision's data sets, from small files in their true formats."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from picture_files import picture

from unseen.data.sources.open_source import open_images
from unseen.errors import UserError

pytest.importorskip("torchvision", reason="reads the data sets")


def write_idx(folder: Path, name: str, array: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    (folder / name).write_bytes(header + array.tobytes())


@pytest.fixture
def fashion(tmp_path: Path) -> Path:
    raw = tmp_path / "FashionMNIST/raw"
    for name, seed, labels in (("train", 0, [9, 0, 3]), ("t10k", 1, [1, 1])):
        pixels = np.random.default_rng(seed).integers(0, 256, (len(labels), 28, 28), dtype=np.uint8)
        write_idx(raw, f"{name}-images-idx3-ubyte", pixels)
        write_idx(raw, f"{name}-labels-idx1-ubyte", np.array(labels, np.uint8))
    return tmp_path


def test_a_set_with_training_and_test(fashion: Path) -> None:
    source = open_images("torchvision:FashionMNIST", root=fashion)
    assert [entry.label for entry in source.entries] == ["Ankle boot", "T-shirt/top", "Dress"]
    assert source.about["kind"] == "torchvision:FashionMNIST"
    pixels = np.random.default_rng(0).integers(0, 256, (3, 28, 28), dtype=np.uint8)
    again = pickle.loads(pickle.dumps(source))
    assert np.array_equal(again.read(2), np.stack([pixels[2]] * 3, axis=-1))
    test = open_images("torchvision:FashionMNIST", root=fashion, split="test")
    assert [entry.label for entry in test.entries] == ["Trouser"] * 2
    assert test.about["split"] == "test"


def test_a_set_of_files_with_named_splits(tmp_path: Path) -> None:
    root = tmp_path / "dtd/dtd"
    for folder in ("images/banded", "images/zigzagged", "labels", "imdb"):
        (root / folder).mkdir(parents=True)
    (root / "imdb/imdb.mat").touch()
    names = ["zigzagged/zigzagged_0002.jpg", "banded/banded_0001.jpg"]
    for seed, name in enumerate(names):
        picture(seed, 30, 20).save(root / "images" / name)
    (root / "labels/val1.txt").write_text("\n".join(names))
    (root / "labels/train1.txt").write_text(names[0])
    source = open_images("torchvision:DTD", root=tmp_path, split="val")
    assert [entry.label for entry in source.entries] == ["zigzagged", "banded"]
    assert source.read(1).shape == (20, 30, 3)  # type: ignore[union-attr]


def test_an_image_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    root = tmp_path / "dtd/dtd"
    for folder in ("images/banded", "labels"):
        (root / folder).mkdir(parents=True)
    picture(0, 30, 20).save(root / "images/banded/banded_0001.jpg")
    (root / "images/banded/banded_0002.jpg").write_bytes(b"no picture")
    for name in ("train", "val"):
        (root / f"labels/{name}1.txt").write_text("banded/banded_0001.jpg\nbanded/banded_0002.jpg")
    source = open_images("torchvision:DTD", root=tmp_path, split="val")
    source.read(0)
    with pytest.raises(UserError, match=r"torchvision:DTD: image 1 cannot be read from .* \(cannot identify image"):
        source.read(1)


def test_what_is_wrong_is_said(fashion: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no data set 'FashionMINST'; did you mean FashionMNIST"):
        open_images("torchvision:FashionMINST", root=fashion)
    with pytest.raises(UserError, match=r"give the folder of torchvision's files \(root\)"):
        open_images("torchvision:FashionMNIST")
    with pytest.raises(UserError, match="no split 'val'; its splits are train and test"):
        open_images("torchvision:FashionMNIST", root=fashion, split="val")
    with pytest.raises(UserError, match=r"torchvision:CIFAR10 cannot be read from .* download it there first"):
        open_images("torchvision:CIFAR10", root=tmp_path / "nothing")
    with pytest.raises(UserError, match="a data set of torchvision has no option 'label'"):
        open_images("torchvision:CIFAR10", root=tmp_path, label="fine")


def test_a_set_that_was_altered_is_not_unpickled(tmp_path: Path) -> None:
    """CIFAR-10's files are pickles; torchvision opens them only when their checksums are the published ones."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta"]:
        (folder / name).write_bytes(pickle.dumps({"data": 1}))
    with pytest.raises(UserError, match="cannot be read from"):
        open_images("torchvision:CIFAR10", root=tmp_path)
