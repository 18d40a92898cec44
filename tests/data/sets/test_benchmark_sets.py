"""Data sets of benchmarks, from tiny copies in their true formats: counts, labels by hand, and copies at fault."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import benchmark_trees as trees
import numpy as np
import pytest
from dataset_trees import write

from unseen.data.core.dataset import Dataset
from unseen.data.core.open_dataset import OpenDataset, examine, open_dataset
from unseen.data.registry import DATASETS
from unseen.data.sets import clevr as clevr_set
from unseen.errors import UserError


def clevr(root: Path) -> None:
    """Twenty training images of 3 and 10 objects, at distances of 7.9 and 9.2, and two validation images."""
    near, far = [9.9, 7.9, 12.0], [9.2, *[20.0] * 9]
    trees.clevr(root, {"train": [near, far] * 10, "val": [near, far]})


COPIES: dict[str, tuple[Callable[[Path], None], dict[str, int], int]] = {
    "svhn": (trees.svhn, {"train": 16, "val": 4, "test": 4}, 2),
    "patch-camelyon": (trees.patch_camelyon, {"train": 4, "val": 2, "test": 2}, 2),
    "resisc45": (trees.resisc45, {"train": 48, "val": 16, "test": 16}, 2),
    "diabetic-retinopathy": (trees.diabetic_retinopathy, {"train": 4, "val": 2, "test": 2}, 2),
    "clevr-count": (clevr, {"train": 18, "val": 2, "test": 2}, 2),
    "clevr-distance": (clevr, {"train": 18, "val": 2, "test": 2}, 2),
    "dmlab": (trees.dmlab, {"train": 4, "val": 2, "test": 2}, 2),
    "kitti-distance": (trees.kitti, {"train": 32, "val": 4, "test": 4}, 4),
    "dsprites-location": (trees.dsprites, {"train": 128, "val": 16, "test": 16}, 16),
    "dsprites-orientation": (trees.dsprites, {"train": 128, "val": 16, "test": 16}, 16),
    "smallnorb-azimuth": (trees.smallnorb, {"train": 36, "val": 36, "test": 36}, 18),
    "smallnorb-elevation": (trees.smallnorb, {"train": 36, "val": 36, "test": 36}, 9),
    "inaturalist-2018": (trees.inaturalist, {"train": 8, "val": 2, "test": 6}, 2),
    "inaturalist-2019": (trees.inaturalist_2019, {"train": 8, "val": 2, "test": 6}, 2),
    "cub": (trees.cub, {"train": 10, "val": 2, "test": 4}, 2),
    "stl10": (trees.stl10, {"train": 16, "val": 4, "test": 4}, 2),
    "country211": (trees.country211, {"train": 6, "val": 2, "test": 4}, 2),
    "gtsrb": (trees.gtsrb, {"train": 10, "val": 2, "test": 4}, 2),
}


def tiny(name: str, root: Path) -> Dataset:
    """The data set as if a tiny copy, which is made, were all of it; small parts need not have every class."""
    make, counts, classes = COPIES[name]
    make(root)
    return replace(DATASETS[name], counts=counts, classes=classes, gaps=True)


def opened(name: str, root: Path) -> OpenDataset:
    return open_dataset(tiny(name, root), root)


def labels(data: OpenDataset) -> dict[str, str]:
    return {entry.id: entry.label for entry in data.manifest.entries}


@pytest.mark.parametrize("name", COPIES)
def test_every_reader(name: str, tmp_path: Path) -> None:
    dataset = tiny(name, tmp_path)
    data = open_dataset(dataset, tmp_path)
    assert Counter(data.manifest.splits) == dataset.counts
    assert len(data.classes) == dataset.classes
    shapes = {image.shape for n in range(len(data.manifest)) if isinstance(image := data.source.read(n), np.ndarray)}
    assert len(shapes) <= 1
    assert examine(dataset, tmp_path).state == "complete"
    assert examine(DATASETS[name], tmp_path).state == "partial"


@pytest.mark.parametrize(
    ("name", "images", "classes"),
    [
        ("svhn", 99_289, 10), ("patch-camelyon", 327_680, 2), ("resisc45", 31_500, 45),
        ("diabetic-retinopathy", 88_702, 5), ("clevr-count", 85_000, 8), ("clevr-distance", 85_000, 6),
        ("dmlab", 110_913, 6), ("kitti-distance", 7481, 4), ("dsprites-location", 737_280, 16),
        ("smallnorb-azimuth", 48_600, 18), ("smallnorb-elevation", 48_600, 9), ("inaturalist-2018", 461_939, 8142),
        ("inaturalist-2019", 268_243, 1010), ("cub", 11_788, 200), ("stl10", 13_000, 10), ("country211", 63_300, 211),
        ("gtsrb", 51_839, 43),
    ],
)  # fmt: skip
def test_counts_of_the_authors(name: str, images: int, classes: int) -> None:
    assert (DATASETS[name].images, DATASETS[name].classes) == (images, classes)


def test_ten_is_the_digit_zero_and_the_last_axis_counts_images(tmp_path: Path) -> None:
    data = opened("svhn", tmp_path)
    assert [entry.label for entry in data.source.entries][:4] == ["1", "0", "1", "0"]
    assert np.array_equal(data.source.read(21), trees.svhn_pixels(4)[:, :, :, 1])


def test_patches_are_read_from_the_file_of_their_part(tmp_path: Path) -> None:
    data = opened("patch-camelyon", tmp_path)
    assert [e.label for e in data.source.entries] == ["no tumour", "tumour"] * 4
    assert data.source.entries[5].id == "val/00000001"
    assert np.array_equal(data.source.read(5), trees.patches(2)[1])
    assert np.array_equal(data.source.read(3), trees.patches(4)[3])


def test_grades_of_retinas_and_the_leaderboards(tmp_path: Path) -> None:
    data = opened("diabetic-retinopathy", tmp_path)
    assert labels(data)["train/13_left.jpeg"] == "4"
    parts = dict(zip((entry.id for entry in data.manifest.entries), data.manifest.splits, strict=True))
    assert parts["test/0_1_left.jpeg"] == "val"
    assert parts["test/1_1_left.jpeg"] == "test"


@pytest.mark.parametrize(
    ("distances", "count", "distance"),
    [
        ([9.0, 12.0, 9.5], "03 objects", "2: 8.5 to 9"),  # 9.0 is not above 9, so that it is in the class below
        ([9.000001, 12.0, 9.5], "03 objects", "3: 9 to 9.5"),
        ([8.0, 12.0, 9.5, 11.0], "04 objects", "0: 0 to 8"),
        ([10.5] * 10, "10 objects", "5: 10 to 100"),
        ([8.0 + 1e-9, 12.0, 9.5], "03 objects", "0: 0 to 8"),  # 8 in 32 bits, as the benchmark compares
    ],
)
def test_rules_of_clevr(distances: list[float], count: str, distance: str) -> None:
    objects = [{"pixel_coords": [93, 41, each]} for each in distances]
    assert clevr_set.count(objects, "a scene") == count
    assert clevr_set.distance(objects, "a scene") == distance


def test_a_scene_of_clevr(tmp_path: Path) -> None:
    assert labels(opened("clevr-count", tmp_path))["images/train/CLEVR_train_000003.png"] == "10 objects"
    assert (
        labels(open_dataset(replace(DATASETS["clevr-distance"], counts={}, classes=2), tmp_path))[
            "images/val/CLEVR_val_000000.png"
        ]
        == "0: 0 to 8"
    )
    with pytest.raises(UserError, match="a scene: 7.. is not above 0 and at most 100"):
        clevr_set.distance([{"pixel_coords": [93, 41, 777]}], "a scene")
    with pytest.raises(UserError, match="an object without three 'pixel_coords'"):
        clevr_set.distance([{"pixel_coords": [93, 41]}], "a scene")


def test_rules_of_kitti(tmp_path: Path) -> None:
    found = labels(opened("kitti-distance", tmp_path))
    expected = ["2: 20 to 999", "0: -100 to 8", "3: no vehicle", "1: 8 to 20"]  # a pedestrian at 8.41 m is no vehicle
    assert [found[f"training/image_2/{number:06d}.png"] for number in range(4)] == expected


def test_videos_of_kitti_are_in_one_part_each(tmp_path: Path) -> None:
    data = opened("kitti-distance", tmp_path)
    order = [int(text) - 1 for text in (tmp_path / "kitti/mapping/train_rand.txt").read_text().split(",")]
    parts = dict(zip((entry.id for entry in data.manifest.entries), data.manifest.splits, strict=True))
    videos: dict[int, set[str]] = {}
    for number, line in enumerate(order):
        videos.setdefault(line // 4, set()).add(parts[f"training/image_2/{number:06d}.png"])
    assert Counter(part for of in videos.values() for part in of) == {"train": 8, "val": 1, "test": 1}
    rng = np.random.RandomState(123)
    names = [f"2011_09_26_drive_{number:04d}_sync" for number in range(10)]
    test = rng.choice(names, 1, replace=False)[0]
    val = rng.choice([name for name in names if name != test], 1, replace=False)[0]
    assert (videos[names.index(test)], videos[names.index(val)]) == ({"test"}, {"val"})


def test_rules_of_dsprites(tmp_path: Path) -> None:
    trees.dsprites(tmp_path)
    for name, column, each in (("dsprites-location", 4, 2.0), ("dsprites-orientation", 3, 2.5)):
        data = open_dataset(replace(DATASETS[name], counts=COPIES[name][1], gaps=True), tmp_path)
        found = labels(data)
        for number in range(160):
            factors = [number % count for count in (1, 3, 6, 40, 32, 32)]
            assert found[f"train/{number:08d}"] == f"{int(factors[column] // each):02d}"
        place = [entry.id for entry in data.source.entries].index("train/00000007")
        assert np.array_equal(data.source.read(place), trees.sprites(160)[7] * 255)


def test_toys_of_the_first_camera(tmp_path: Path) -> None:
    for name, label in (("smallnorb-azimuth", "07"), ("smallnorb-elevation", "07")):
        data = opened(name, tmp_path)
        assert labels(data)["train/00000025"] == label  # azimuth 14 in tens of degrees, and elevation 7
        place = [entry.id for entry in data.source.entries].index("test/00000070")
        assert np.array_equal(data.source.read(place), trees.toys(72)[70, 0])


def test_planes_of_stl_10_are_column_by_column(tmp_path: Path) -> None:
    data = opened("stl10", tmp_path)
    image = data.source.read(21)
    assert isinstance(image, np.ndarray)
    assert np.array_equal(image[3, 5], trees.stl10_pixels(4)[1, :, 5, 3])
    assert data.source.entries[21].label == "bird"


def test_frames_of_the_agent(tmp_path: Path) -> None:
    data = opened("dmlab", tmp_path)
    assert [entry.id for entry in data.source.entries][:2] == ["train/train0.jpg", "train/train1.jpg"]
    assert labels(data)["val/validation1.jpg"] == "5"
    assert bytes(data.source.read(3)).startswith(b"\xff\xd8")


def test_birds_signs_and_species(tmp_path: Path) -> None:
    assert labels(opened("cub", tmp_path))["images/002.Laysan_Albatross/Laysan_Albatross_0000_1.jpg"].startswith("002")
    assert labels(opened("gtsrb", tmp_path))["Final_Test/Images/00001.ppm"] == "42"
    assert labels(opened("inaturalist-2018", tmp_path))["train_val2018/Plantae/1/9.jpg"] == "0001"
    assert labels(opened("country211", tmp_path))["valid/ZW/0.jpg"] == "ZW"


def test_a_species_with_one_image_keeps_it_for_training(tmp_path: Path) -> None:
    trees.inaturalist(tmp_path, few=1)
    dataset = replace(DATASETS["inaturalist-2018"], classes=2, counts={"train": 8, "val": 1, "test": 6})
    data = open_dataset(dataset, tmp_path)
    pairs = Counter(zip(data.manifest.splits, (entry.label for entry in data.manifest.entries), strict=True))
    assert (pairs["train", "0001"], pairs["val", "0001"], pairs["val", "0000"]) == (1, 0, 1)
    with pytest.raises(UserError, match="inaturalist-2018: 0001 has 1 training images"):
        open_dataset(replace(dataset, gaps=False), tmp_path)


FAULTS = [
    ("svhn", "svhn/test_32x32.mat", lambda content: content[:200], "damaged, or not a MATLAB file"),
    ("patch-camelyon", "pcam/camelyonpatch_level_2_split_test_x.h5", lambda content: content[:500], "damaged"),
    (
        "diabetic-retinopathy", "diabetic-retinopathy-detection/trainLabels.csv",
        lambda content: content + b"11_left,5\n", "line 6: the level is '5'; expected 0 to 4",
    ),
    (
        "clevr-count", "CLEVR_v1.0/scenes/CLEVR_val_scenes.json",
        lambda text: text.replace(b'"objects": [', b'"objects": [], "other": [', 1), "0 objects; expected 3 to 10",
    ),
    ("clevr-distance", "CLEVR_v1.0/scenes/CLEVR_val_scenes.json", lambda content: content[:-9], "not JSON"),
    (
        "kitti-distance", "kitti/training/label_2/000000.txt",
        lambda content: content + b"Car 1 2\n", "expected 15 fields per line, found 'Car 1 2'",
    ),
    (
        "kitti-distance", "kitti/training/label_2/000000.txt",
        lambda content: content.replace(b"58.49", b"1e6"), "1e.06 is not above -100 and at most 999",
    ),
    ("kitti-distance", "kitti/training/label_2/000003.txt", lambda _: b"", "000003.txt: no objects in it"),
    ("kitti-distance", "kitti/training/label_2/000003.txt", lambda _: b"\n", "000003.txt: no objects in it"),
    ("kitti-distance", "kitti/training/label_2/000003.txt", lambda content: content[:-9], "expected 15 fields"),
    ("kitti-distance", "kitti/mapping/train_rand.txt", lambda content: content + b",999", "names lines that"),
    ("dsprites-location", f"dsprites/{'dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz'}", gzip.compress, "damaged"),
    (
        "smallnorb-azimuth", "smallnorb/smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat",
        lambda content: content[:-1], "bytes, but its header says 36 × 2 × 96 × 96 values",
    ),
    (
        "smallnorb-azimuth", "smallnorb/smallnorb-5x46789x9x18x6x2x96x96-training-info.mat",
        gzip.compress, "unpack it if it is compressed",
    ),
    (
        "smallnorb-elevation", "smallnorb/smallnorb-5x01235x9x18x6x2x96x96-testing-info.mat",
        lambda content: content[:24] + b"\x09" + content[25:], "a value of 9 where 0 to 8 in steps of 1",
    ),
    (
        "inaturalist-2018", "inaturalist-2018/val2018.json",
        lambda content: json.dumps(json.loads(content) | {"annotations": []}).encode(), "has no category",
    ),
    (
        "inaturalist-2018", "inaturalist-2018/val2018.json",
        lambda content: content.replace(b"train_val2018/Plantae/0/", b"../../../etc/", 1), "not an image below it",
    ),
    ("cub", "CUB_200_2011/train_test_split.txt", lambda content: content[:-5], "without a class in"),
    ("stl10", "stl10_binary/train_X.bin", lambda content: content[:-1], "images of 27,648 bytes have labels"),
    ("stl10", "stl10_binary/test_y.bin", lambda _: b"\1\2\3\1", "labels from 1 to 3; class_names.txt has 2 names"),
    (
        "gtsrb", "GTSRB/GT-final_test.csv",
        lambda content: content.replace(b";42\n", b";43\n", 1), "line 3: the class is '43'; expected 0 to 42",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "change", "reason"), FAULTS)
def test_a_copy_at_fault(name: str, file: str, change: Callable[[bytes], bytes], reason: str, tmp_path: Path) -> None:
    dataset = tiny(name, tmp_path)
    place = tmp_path / file
    write(place, change(place.read_bytes()))
    with pytest.raises(UserError, match=reason) as caught:
        open_dataset(dataset, tmp_path)
    assert str(caught.value).startswith(f"{name}: ")
    assert "\n" not in str(caught.value)
    assert examine(dataset, tmp_path).state == "partial"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("smallnorb-azimuth", "smallnorb/smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat"),
        ("smallnorb-azimuth", "smallnorb/smallnorb-5x01235x9x18x6x2x96x96-testing-info.mat"),
        ("kitti-distance", "kitti/mapping/train_rand.txt"),
        ("kitti-distance", "kitti/training/label_2/000002.txt"),
        *(("cub", f"CUB_200_2011/{each}") for each in ("images.txt", "classes.txt", "train_test_split.txt")),
        ("gtsrb", "GTSRB/GT-final_test.csv"),
        ("diabetic-retinopathy", "diabetic-retinopathy-detection/trainLabels.csv"),
        *(("stl10", f"stl10_binary/{each}") for each in ("train_X.bin", "test_y.bin", "class_names.txt")),
        ("patch-camelyon", "pcam/camelyonpatch_level_2_split_test_y.h5"),
        ("dmlab", "dmlab/dmlab-train.tfrecord-00000-of-00002"),
    ],
)
def test_a_pointer_of_git_lfs_is_named_with_its_file(name: str, file: str, tmp_path: Path) -> None:
    dataset = tiny(name, tmp_path)
    write(tmp_path / file, b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(UserError, match=f"{Path(file).name}: a Git LFS pointer"):
        open_dataset(dataset, tmp_path)


def test_damaged_records_are_named_when_they_are_read(tmp_path: Path) -> None:
    dataset = tiny("dmlab", tmp_path)
    place = tmp_path / "dmlab/dmlab-train.tfrecord-00000-of-00002"
    whole = place.read_bytes()
    write(place, whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])  # in the first image
    with pytest.raises(UserError, match="the record at byte 12 is damaged"):
        open_dataset(dataset, tmp_path).source.read(0)
    write(place, bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(UserError, match="checksum of the length of the record at byte 0 is wrong"):
        open_dataset(dataset, tmp_path)
    write(place, whole[:-1])
    with pytest.raises(UserError, match="ends in the middle of a record"):
        open_dataset(dataset, tmp_path)


def test_sprites_that_are_not_black_and_white(tmp_path: Path) -> None:
    trees.dsprites(tmp_path)
    place = next((tmp_path / "dsprites").glob("*.npz"))
    with np.load(place) as arrays:
        latents = arrays["latents_classes"]
    np.savez(place, imgs=trees.sprites(160) * 255, latents_classes=latents)
    counts = COPIES["dsprites-location"][1]
    data = open_dataset(replace(DATASETS["dsprites-location"], counts=counts, gaps=True), tmp_path)
    with pytest.raises(UserError, match="a pixel of 255; expected 0 and 1"):
        data.source.read(0)


def test_more_patches_than_there_can_be(tmp_path: Path) -> None:
    import h5py

    dataset = tiny("patch-camelyon", tmp_path)
    shape = (1 << 40, 96, 96, 3)
    with h5py.File(tmp_path / "pcam/camelyonpatch_level_2_split_test_x.h5", "w") as file:
        file.create_dataset("x", shape, np.uint8, chunks=(1, 96, 96, 3), compression="gzip")
    with h5py.File(tmp_path / "pcam/camelyonpatch_level_2_split_test_y.h5", "w") as file:
        file.create_dataset("y", (1 << 40, 1, 1, 1), np.uint8, chunks=(1024, 1, 1, 1), compression="gzip")
    with pytest.raises(UserError, match=r"test_x\.h5: .* 30,399,297\.5 GB"):
        open_dataset(dataset, tmp_path)


def test_patches_that_were_replaced_are_read_anew(tmp_path: Path) -> None:
    import h5py

    data = opened("patch-camelyon", tmp_path)
    data.source.read(0)
    for kind, array in (("x", np.full((4, 96, 96, 3), 7, np.uint8)), ("y", np.array([1, 1, 1, 0], np.uint8))):
        with h5py.File(tmp_path / "new.h5", "w") as file:
            file[kind] = array
        (tmp_path / "new.h5").replace(tmp_path / f"pcam/camelyonpatch_level_2_split_train_{kind}.h5")
    with pytest.raises(UserError, match="changed since it was opened"):
        data.source.read(0)
    again = open_dataset(replace(DATASETS["patch-camelyon"], counts=COPIES["patch-camelyon"][1], gaps=True), tmp_path)
    assert [entry.label == "tumour" for entry in again.source.entries][:4] == [True, True, True, False]
    assert (np.asarray(again.source.read(3)) == 7).all()
