"""Readers of data sets with boxes and maps, on small copies in their true form, and on damaged ones."""

import shutil
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dense_trees import OBJECT, ade20k_tree, class_map, photograph, voc_segmentation_tree, voc_tree
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from unseen.data.core.dense.label_survey import survey_labels
from unseen.data.core.dense.labels import IGNORED, Objects
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.formats.map_files import read_indices
from unseen.data.registry import dense_sets, get_dataset
from unseen.errors import UserError


def opened(name: str, root: Path) -> OpenDataset:
    """A small copy, which has other counts than the whole data set."""
    return open_dataset(replace(get_dataset(name), counts={}), root)


def test_voc_boxes_are_edges_and_parts_are_not_objects(tmp_path: Path) -> None:
    found = opened("voc-detection", voc_tree(tmp_path))
    assert [*found.manifest.splits] == ["train"] * 4 + ["test"]
    objects = found.labels(0)
    assert isinstance(objects, Objects)
    assert objects.boxes.tolist() == [[0, 0, 10, 20], [10, 4, 40, 30]]
    assert [found.classes[number] for number in objects.classes] == ["dog", "person"]
    assert objects.ignored.tolist() == [False, True]


def test_the_counts_of_a_whole_copy_are_expected(tmp_path: Path) -> None:
    voc_tree(tmp_path)
    with pytest.raises(UserError, match="16,551"):
        open_dataset(get_dataset("voc-detection"), tmp_path)
    assert len(open_dataset(get_dataset("voc-detection"), tmp_path, partial=True).manifest) == 5


def test_voc_2007_alone_is_an_incomplete_copy(tmp_path: Path) -> None:
    shutil.rmtree(voc_tree(tmp_path) / "VOCdevkit/VOC2012")
    with pytest.raises(UserError, match=r"2 training images where 16,551 are expected; .*VOCtrainval_11-May-2012"):
        open_dataset(get_dataset("voc-detection"), tmp_path)
    found = open_dataset(get_dataset("voc-detection"), tmp_path, partial=True)
    assert [*found.manifest.splits] == ["train", "train", "test"]
    assert len(found.labels(2)) == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<annotation><object>", "damaged XML"),
        ('<!DOCTYPE a [<!ENTITY b "cc">]><annotation/>', "document type"),
        ("<annotation><object><name>unicorn</name></object></annotation>", "unicorn"),
        ("<annotation><object><name>dog</name></object></annotation>", "four numbers"),
        ("<annotation><object><name>dog</name><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>4</xmax><ymax>9</ymax></bndbox>"
         "</object></annotation>", "no area"),
        ("<annotation><object><name>dog</name><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>99</xmax><ymax>9</ymax>"
         "</bndbox></object></annotation>", "outside the image"),
    ],
)  # fmt: skip
def test_a_damaged_annotation_is_named_and_the_others_are_read(tmp_path: Path, content: str, expected: str) -> None:
    voc_tree(tmp_path)
    path = tmp_path / "VOCdevkit/VOC2007/Annotations/000001.xml"
    path.write_text(content)
    found = opened("voc-detection", tmp_path)
    with pytest.raises(UserError, match=expected) as error:
        found.labels(0)
    assert str(path) in str(error.value)
    assert len(found.labels(1)) == 2


def test_an_image_without_objects_has_none(tmp_path: Path) -> None:
    voc_tree(tmp_path)
    (tmp_path / "VOCdevkit/VOC2007/Annotations/000001.xml").write_text("<annotation></annotation>")
    assert len(opened("voc-detection", tmp_path).labels(0)) == 0


def test_a_missing_file_of_either_kind_is_named(tmp_path: Path) -> None:
    voc_tree(tmp_path)
    (tmp_path / "VOCdevkit/VOC2007/Annotations/000002.xml").unlink()
    with pytest.raises(
        UserError, match=r"1 of 5 images are missing or empty; the first is VOC2007/Annotations/000002\.xml"
    ):
        opened("voc-detection", tmp_path)


def test_voc_maps_keep_their_palette_numbers(tmp_path: Path) -> None:
    found = opened("voc-segmentation", voc_segmentation_tree(tmp_path))
    values = found.labels(0)
    assert isinstance(values, np.ndarray)
    assert (values == 12).sum() == 25
    assert (values == IGNORED).sum() == 7
    assert found.classes[12] == "dog"


def test_ade20k_counts_classes_from_1_and_ignores_0(tmp_path: Path) -> None:
    found = opened("ade20k", ade20k_tree(tmp_path))
    values = found.labels(1)
    assert isinstance(values, np.ndarray)
    assert values[0, 0] == 149
    assert (values == IGNORED).sum() == 30 * 20 - 1
    assert (values == 0).sum() == 30 * 20
    assert len(found.classes) == len(set(found.classes)) == 150


def test_labels_beyond_the_classes_and_maps_of_another_size_are_named(tmp_path: Path) -> None:
    ade20k_tree(tmp_path)
    place = tmp_path / "ADEChallengeData2016/annotations/training/ADE_train_00000001.png"
    class_map(place, np.full((30, 40), 151, dtype=np.uint8))
    with pytest.raises(UserError, match="150 is none of the 150") as error:
        opened("ade20k", tmp_path).labels(0)
    assert str(place) in str(error.value)
    class_map(place, np.full((20, 40), 1, dtype=np.uint8))
    with pytest.raises(UserError, match="40 × 20"):
        opened("ade20k", tmp_path).labels(0)
    photograph(place, 0)
    with pytest.raises(UserError, match="mode RGB"):
        opened("ade20k", tmp_path).labels(0)
    place.write_bytes(place.read_bytes()[:100])
    with pytest.raises(UserError, match="damaged image"):
        opened("ade20k", tmp_path).labels(0)


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("palette", [False, True])
def test_maps_have_the_numbers_of_their_files(tmp_path: Path, bits: int, palette: bool) -> None:
    """PNG files written byte by byte, since PIL changes numbers as it writes and reads them."""
    if palette and bits == 16:
        pytest.skip("PNG has no such palettes")
    values = np.random.default_rng(0).integers(0, min(2**bits, 256), (5, 7)).astype(np.uint8)
    values[0, 0] = min(2**bits, 256) - 1
    png(tmp_path / "map.png", values, bits, palette=palette)
    assert np.array_equal(read_indices(tmp_path / "map.png"), values)


def png(path: Path, values: NDArray[np.uint8], bits: int, *, palette: bool) -> None:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = []
    for row in values:
        text = "".join(f"{value:0{bits}b}" for value in row)
        text += "0" * (-len(text) % 8)
        rows.append(b"\0" + int(text, 2).to_bytes(len(text) // 8, "big"))
    height, width = values.shape
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 3 if palette else 0, 0, 0, 0))
        + (chunk(b"PLTE", bytes(3 * min(2**bits, 256))) if palette else b"")
        + chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + chunk(b"IEND", b"")
    )


def test_maps_that_would_lose_their_numbers_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((4, 4), dtype=np.uint8)).save(tmp_path / "map.png", format="JPEG")
    with pytest.raises(UserError, match="PNG"):
        read_indices(tmp_path / "map.png")
    Image.fromarray(np.full((4, 4), 300, dtype=np.uint16)).save(tmp_path / "map.png")
    with pytest.raises(UserError, match="300"):
        read_indices(tmp_path / "map.png")


def test_a_bad_box_is_left_out_and_the_others_of_its_image_are_used(tmp_path: Path) -> None:
    path = voc_tree(tmp_path) / "VOCdevkit/VOC2007/Annotations/000001.xml"
    text = path.read_text()
    unicorn = OBJECT.format(name="unicorn", difficult=0, box=(1, 1, 10, 20))
    flat, odd = (OBJECT.format(name="dog", difficult=0, box=box) for box in ((5, 5, 4, 9), ("x", 1, 10, 20)))
    path.write_text(text.replace("</annotation>", f"{unicorn}{flat}{odd}</annotation>"))
    found = opened("voc-detection", tmp_path)
    objects = found.labels(0)
    assert isinstance(objects, Objects)
    assert objects.boxes.tolist() == [[0, 0, 10, 20], [10, 4, 40, 30]]
    assert len(objects.left_out) == 3
    assert [each.id for each in survey_labels(found).left_out["train"]] == ["VOC2007/JPEGImages/000001.jpg"] * 3


def nyuv2_tree(root: Path, rooms: int = 3) -> Path:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    base, rng = root / "nyuv2", np.random.default_rng(0)
    base.mkdir()
    with h5py.File(base / "nyu_depth_v2_labeled.mat", "w") as file:
        file["images"] = rng.integers(0, 255, (rooms, 3, 40, 30), dtype=np.uint8)
        file["depths"] = rng.uniform(0.5, 10, (rooms, 40, 30)).astype(np.float32)
    savemat(base / "splits.mat", {"trainNdxs": [[1], [3]], "testNdxs": [[2]]})
    for room in range(rooms):
        colours = np.full((30, 40, 3), 128, dtype=np.uint8)
        colours[..., 2] = 255  # towards the camera
        (base / "normals_gt/normals").mkdir(parents=True, exist_ok=True)
        Image.fromarray(colours).save(base / f"normals_gt/normals/{room:04d}.png")
        mask = np.full((30, 40), 255, dtype=np.uint8)
        mask[:5] = 0
        class_map(base / f"normals_gt/masks/{room:04d}.png", mask)
    return root


def test_nyuv2_rooms_lie_on_their_side_in_the_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    found = opened("nyuv2-depth", nyuv2_tree(tmp_path))
    assert [*found.manifest.splits] == ["train", "train", "test"]
    with h5py.File(tmp_path / "nyuv2/nyu_depth_v2_labeled.mat") as file:
        assert np.array_equal(found.source.read(1), file["images"][2].transpose(2, 1, 0))
        assert np.array_equal(found.labels(1), file["depths"][2].T)


def test_nyuv2_is_in_its_own_file_and_not_larger_than_images(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    nyuv2_tree(tmp_path)
    place = tmp_path / "nyuv2/nyu_depth_v2_labeled.mat"
    place.rename(tmp_path / "other.mat")
    (tmp_path / "raw").write_bytes(bytes(3 * 40 * 30 * 4))
    virtual = h5py.VirtualLayout((3, 40, 30), np.float32)
    virtual[:] = h5py.VirtualSource(str(tmp_path / "other.mat"), "depths", (3, 40, 30))
    makers = {
        "not an array stored in the file itself": lambda file: file.__setitem__(
            "depths", h5py.ExternalLink(str(tmp_path / "other.mat"), "depths")
        ),
        "takes its values from other files": lambda file: file.create_dataset(
            "depths", (3, 40, 30), np.float32, external=[(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)]
        ),
        "refused": lambda file: file.create_virtual_dataset("depths", virtual),
        "larger than images may be": lambda file: file.create_dataset(
            "depths", (3, 1 << 20, 1 << 20), np.float32, chunks=(1, 1 << 10, 1 << 10), compression="gzip"
        ),
        "0.2 GB, of which only 0.0 kB": lambda file: file.create_dataset(
            "depths", (3, 4_000, 4_000), np.float32, chunks=(1, 1_000, 1_000), compression="gzip", fillvalue=2
        ),
    }
    for message, make in makers.items():
        place.unlink(missing_ok=True)
        with h5py.File(place, "w") as file:
            make(file)
        with pytest.raises(UserError, match=message):
            opened("nyuv2-depth", tmp_path).labels(0)


def test_a_file_of_nyuv2_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    found, path = opened("nyuv2-depth", nyuv2_tree(tmp_path)), tmp_path / "nyuv2/nyu_depth_v2_labeled.mat"
    before = found.source.read(0)
    with h5py.File(tmp_path / "new.mat", "w") as file:
        file["images"] = np.full((3, 3, 40, 30), 7, dtype=np.uint8)
        file["depths"] = np.full((3, 40, 30), 2, dtype=np.float32)
    path.write_bytes((tmp_path / "new.mat").read_bytes())  # in place, as a copy or a download does
    for read in (found.source.read, found.labels):
        with pytest.raises(UserError, match="changed since it was opened"):
            read(0)
    again = opened("nyuv2-depth", tmp_path)
    assert (again.source.read(0) == 7).all()
    assert not (before == 7).all()
    assert (np.asarray(again.labels(0)) == 2).all()


def test_nyuv2_normals_have_length_1_where_they_are_known(tmp_path: Path) -> None:
    values = opened("nyuv2-normals", nyuv2_tree(tmp_path)).labels(0)
    assert isinstance(values, np.ndarray)
    assert np.allclose(np.linalg.norm(values[5:], axis=2), 1)
    assert not values[:5].any()
    assert values[10, 10, 2] > 0.99


def test_a_truncated_nyuv2_is_a_users_error(tmp_path: Path) -> None:
    path = nyuv2_tree(tmp_path) / "nyuv2/nyu_depth_v2_labeled.mat"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(UserError, match="damaged"):
        opened("nyuv2-depth", tmp_path).labels(0)


def test_names_are_distinct_and_a_wrong_one_is_explained() -> None:
    assert len(dense_sets()) >= 5
    with pytest.raises(UserError, match="did you mean"):
        get_dataset("ade20")
