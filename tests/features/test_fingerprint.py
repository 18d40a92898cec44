"""Images of the same names and other pixels: told apart wherever images come from, in a few reads."""

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.classifier import classifier
from unseen.data.core.arrays import array_images
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.joined import joined_images
from unseen.data.core.manifest import Manifest, whole
from unseen.data.core.source import Entry, ImageSource
from unseen.data.sources.open_source import open_images
from unseen.features.extract import extract
from unseen.features.fingerprint import fingerprint
from unseen.features.logits import logit_backbone, logit_settings
from unseen.features.settings import Settings
from unseen.features.store import read_store

SETTINGS = Settings(batch=3, workers=0, shard_rows=4)
LABELS = (0, 1, 1, 0)


class Means(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.mean((2, 3))


def means() -> Backbone:
    transform = Transform(size=8, resize=8, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    return Backbone(Spec("file.py:means", "none", "output", "none", 3, 0, transform), Means())


def pixels(grey: int) -> np.ndarray:
    return np.full((len(LABELS), 28, 28), grey, dtype=np.uint8)


def encoded(grey: int) -> bytes:
    from io import BytesIO

    from PIL import Image

    file = BytesIO()
    Image.new("L", (28, 28), grey).save(file, "PNG")
    return file.getvalue()


def from_folder(root: Path, grey: int) -> ImageSource:
    for number, label in enumerate(LABELS):
        path = root / f"c{label}/{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(grey))
    return open_images(root)


def from_list(root: Path, grey: int) -> ImageSource:
    from_folder(root, grey)
    (root / "all.txt").write_text("".join(f"c{label}/{number}.png {label}\n" for number, label in enumerate(LABELS)))
    return open_images(root / "all.txt")


def from_tars(root: Path, grey: int) -> ImageSource:
    """Of WebDataset shards; files in tar files per class are read by the same code."""
    import tarfile
    from io import BytesIO

    root.mkdir()
    with tarfile.open(root / "000.tar", "w") as archive:
        for number, label in enumerate(LABELS):
            for part, content in (("png", encoded(grey)), ("cls", str(label).encode())):
                member = tarfile.TarInfo(f"{number}.{part}")
                member.size = len(content)
                archive.addfile(member, BytesIO(content))
    return open_images(root)


def from_arrow(root: Path, grey: int) -> ImageSource:
    """As Hugging Face's `save_to_disk` writes it."""
    root.mkdir()
    images = pa.array([{"bytes": encoded(grey), "path": None}] * len(LABELS))
    table = pa.table({"image": images, "label": pa.array(LABELS)})
    with pa.OSFile(str(root / "data.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    columns = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["a", "b"]}}
    (root / "dataset_info.json").write_text(json.dumps({"features": columns}))
    (root / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return open_images(root)


def from_torchvision(root: Path, grey: int) -> ImageSource:
    pytest.importorskip("torchvision", reason="reads the data set")
    raw = root / "FashionMNIST/raw"
    raw.mkdir(parents=True)
    for name in ("train", "t10k"):
        for kind, array in (("images-idx3", pixels(grey)), ("labels-idx1", np.array(LABELS, np.uint8))):
            header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
            (raw / f"{name}-{kind}-ubyte").write_bytes(header + array.tobytes())
    return open_images("torchvision:FashionMNIST", root=root)


def from_array(_root: Path, grey: int) -> ImageSource:
    return array_images(pixels(grey), LABELS)


def from_two(_root: Path, grey: int) -> ImageSource:
    return joined_images({"train": array_images(pixels(0), LABELS), "test": array_images(pixels(grey), LABELS)})


SOURCES = [from_folder, from_list, from_tars, from_arrow, from_torchvision, from_array, from_two]


@pytest.mark.parametrize("make", SOURCES)
def test_the_same_names_with_other_pixels_are_other_features(
    tmp_path: Path, make: Callable[[Path, int], ImageSource]
) -> None:
    stores = []
    for name, grey in (("a", 50), ("b", 200), ("a copy of a", 50)):
        source = make(tmp_path / name, grey)
        manifest = whole(source, "all")
        (store,) = extract(source, manifest, "all", [means()], tmp_path / "out", SETTINGS)
        stores.append(store)
        assert np.allclose(np.asarray(read_store(store).X)[-1], grey / 255, atol=1e-6)
    assert stores[0] == stores[2] != stores[1]  # where images lie does not matter


def test_logits_of_other_pixels(tmp_path: Path) -> None:
    spec = replace(means().spec, id="file.py:three")
    found = classifier(Means(), spec, ("a", "b", "c"), weights="none")
    sources = [array_images(pixels(grey), LABELS) for grey in (50, 200)]
    how = logit_settings(SETTINGS)
    stores = [extract(each, whole(each, "test"), "test", [logit_backbone(found)], tmp_path, how) for each in sources]
    assert stores[0] != stores[1]


class Counted:
    """A million images that are their own numbers."""

    def __init__(self) -> None:
        self.about = dict[str, str]()
        self.entries = list[Entry]()
        self.read_numbers: list[int] = []

    def read(self, number: int) -> bytes:
        self.read_numbers.append(number)
        return str(number).encode()


def test_sixteen_reads_from_the_first_image_to_the_last() -> None:
    source = Counted()
    fingerprint(source, range(10, 1_000_011))
    assert len(source.read_numbers) == 16
    assert (source.read_numbers[0], source.read_numbers[-1]) == (10, 1_000_010)
    gaps = np.diff(source.read_numbers)
    assert gaps.max() - gaps.min() <= 1
    source = Counted()
    fingerprint(source, [4, 2, 9])
    assert source.read_numbers == [4, 2, 9]


def test_the_same_on_every_machine() -> None:
    """The bytes that are hashed, written out."""
    expected = hashlib.sha256(b"1 bytes\n41 bytes\n22 bytes\n10").hexdigest()
    assert fingerprint(Counted(), [4, 2, 10]) == expected
    images = array_images(np.arange(12, dtype=np.uint8).reshape(2, 2, 3), ["a", "b"])
    parts = b"uint8 (2, 3)\n\x00\x01\x02\x03\x04\x05", b"uint8 (2, 3)\n\x06\x07\x08\x09\x0a\x0b"
    assert fingerprint(images, [0, 1]) == hashlib.sha256(b"".join(parts)).hexdigest()


def test_shapes_and_orders_in_memory() -> None:
    flat = np.arange(32, dtype=np.uint8).reshape(1, 4, 8)
    prints = {fingerprint(array_images(each, ["a"]), [0]) for each in (flat, flat.reshape(1, 8, 4))}
    assert len(prints) == 2
    turned = np.asfortranarray(flat[0])[None]  # the same image, its columns first in memory
    assert fingerprint(array_images(turned, ["a"]), [0]) in prints


def test_only_the_images_of_the_split_count(tmp_path: Path) -> None:
    sources = []
    for grey in (50, 200):
        images = pixels(50)
        images[1] = grey
        sources.append(array_images(images, LABELS))
    stores = {}
    for split in ("train", "test"):
        manifests = [Manifest(source.entries, ["train", "test", "train", "train"]) for source in sources]
        stores[split] = {
            extract(source, manifest, split, [means()], tmp_path, SETTINGS)[0]
            for source, manifest in zip(sources, manifests, strict=True)
        }
    assert (len(stores["train"]), len(stores["test"])) == (1, 2)


def test_a_damaged_image_counts_as_it_is(tmp_path: Path) -> None:
    source = from_folder(tmp_path / "images", 50)
    (tmp_path / "images/c1/2.png").write_bytes(encoded(50)[:40])
    arguments = source, whole(source, "all"), "all", [means()], tmp_path / "out", replace(SETTINGS, on_error="report")
    (store,) = extract(*arguments)
    assert extract(*arguments) == [store]
    assert read_store(store).provenance["damaged_count"] == 1
    (tmp_path / "images/c1/2.png").write_bytes(encoded(50))
    (repaired,) = extract(*arguments)
    assert read_store(repaired).X.shape == (4, 3)
    assert read_store(store).X.shape == (3, 3)
