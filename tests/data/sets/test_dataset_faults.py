"""Copies that are missing, incomplete, wrong or malicious, and what is said of them."""

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import dataset_trees as trees
import numpy as np
import pytest
from numpy.typing import NDArray

from unseen.cli.ls.datasets import dataset_rows, state_rows
from unseen.data.core.dataset import Layout
from unseen.data.core.multi_label import join_classes, shown_classes, targets
from unseen.data.core.open_dataset import examine, open_dataset
from unseen.data.core.rows import numbered, pixels_listing
from unseen.data.formats.idx import idx_file, idx_shape, read_idx
from unseen.data.registry import DATASETS, task_sets
from unseen.errors import UserError

FASHION, CIFAR10 = (trees.without_packages(DATASETS[name]) for name in ("fashion-mnist", "cifar10"))


def test_a_data_set_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dtd: not found; expected dtd/dtd below .*; to get it: Oxford VGG.*dtd-r1.0.1"):
        open_dataset(DATASETS["dtd"], tmp_path)
    with pytest.raises(
        UserError, match="cifar100: not found; expected cifar-100-python or cifar-100-binary; to get it"
    ):
        open_dataset(DATASETS["cifar100"], None)


def test_images_that_were_not_downloaded(tmp_path: Path) -> None:
    trees.pets(tmp_path)
    (tmp_path / "oxford-iiit-pet/images/Abyssinian_2.jpg").unlink()
    missing = "1 of 16 images are missing or empty; the first is images/Abyssinian_2.jpg"
    with pytest.raises(UserError, match=f"pets: .*oxford-iiit-pet is incomplete: {missing}; to get it: Oxford"):
        open_dataset(DATASETS["pets"], tmp_path)
    state = examine(DATASETS["pets"], tmp_path)
    assert (state.state, state.images, state.reason) == ("partial", 15, missing)
    assert len(open_dataset(DATASETS["pets"], tmp_path, partial=True).manifest) == 15


@pytest.mark.parametrize(
    ("name", "image"),
    [("pets", "oxford-iiit-pet/images/Abyssinian_2.jpg"), ("eurosat", "eurosat/2750/River/River_2.jpg")],
)
def test_images_of_which_nothing_came(name: str, image: str, tmp_path: Path) -> None:
    getattr(trees, name)(tmp_path)
    (tmp_path / image).write_bytes(b"")
    state = examine(DATASETS[name], tmp_path)
    assert state.state == "partial"
    assert f"images are missing or empty; the first is {'/'.join(image.split('/')[-2:])}" in state.reason


def test_links_to_nothing(tmp_path: Path) -> None:
    trees.pets(tmp_path)
    link = tmp_path / "oxford-iiit-pet/images/Abyssinian_2.jpg"
    link.unlink()
    link.symlink_to(tmp_path / "nowhere.jpg")
    assert "1 of 16 images are missing" in examine(DATASETS["pets"], tmp_path).reason


def test_a_folder_without_any_of_its_images(tmp_path: Path) -> None:
    trees.dtd(tmp_path)
    (tmp_path / "dtd/dtd/images").rename(tmp_path / "elsewhere")
    (tmp_path / "dtd/dtd/images").mkdir()
    with pytest.raises(UserError, match="dtd/dtd has no images, not even images/banded/banded_0002.jpg; to get it"):
        open_dataset(DATASETS["dtd"], tmp_path, partial=True)


def test_a_folder_of_another_form_is_told_what_was_expected(tmp_path: Path) -> None:
    trees.class_folders(tmp_path, "flowers-102", {"rose": ["1.jpg"]})
    with pytest.raises(UserError, match="flowers-102 has no jpg; expected jpg, imagelabels.mat, setid.mat; to get it"):
        open_dataset(DATASETS["flowers"], tmp_path)
    assert examine(DATASETS["flowers"], tmp_path).state == "partial"


@pytest.mark.parametrize(
    ("name", "file", "content", "reason"),
    [
        (
            "aircraft",
            "fgvc-aircraft-2013b/data/images_variant_val.txt",
            "0000003\n",
            "line 1: expected an image and its",
        ),
        (
            "dtd",
            "dtd/dtd/labels/train1.txt",
            "banded/b 1.jpg\n",
            "1 of 5 images are missing or empty; the first is images/banded/b 1.jpg",
        ),
        ("food101", "food-101/meta/train.json", "[1", "damaged, or not JSON"),
        ("food101", "food-101/meta/train.json", '["apple_pie"]', "it has no keys"),
        (
            "pets",
            "oxford-iiit-pet/annotations/test.txt",
            "Abyssinian_1 1\n",
            "line 1: expected an image and three numbers",
        ),
        (
            "voc2007",
            "VOCdevkit/VOC2007/ImageSets/Main/cow_val.txt",
            "001000 2\n",
            "has the mark '2'; expected -1, 0 or 1",
        ),
        ("voc2007", "VOCdevkit/VOC2007/ImageSets/Main/cow_val.txt", "", "cow_val.txt does not contain image 001000"),
        ("chestx", "ChestX-Ray8/Data_Entry_2017.csv", "Image,Label\n", "no column 'Image Index'"),
        (
            "isic",
            "ISIC2018/ISIC2018_Task3_Training_GroundTruth/ISIC2018_Task3_Training_GroundTruth.csv",
            "image,MEL,NV,BCC,AKIEC,BKL,DF,VASC\nISIC_0024306,1.0,1.0,0,0,0,0,0\n",
            "line 2: expected one 1.0 among MEL,NV",
        ),
        ("cars", "stanford_cars/devkit/cars_meta.mat", "x", "not a MATLAB file"),
        ("flowers", "flowers-102/setid.mat", "x", "not a MATLAB file"),
    ],
)
def test_a_wrong_file_is_named(name: str, file: str, content: str, reason: str, tmp_path: Path) -> None:
    getattr(trees, name)(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(UserError, match=reason):
        open_dataset(DATASETS[name], tmp_path)
    assert examine(DATASETS[name], tmp_path).state == "partial"


@pytest.mark.parametrize("path", ["../../secret.jpg", "/etc/passwd", "a/../../secret.jpg"])
def test_lists_name_nothing_outside_their_folder(path: str, tmp_path: Path) -> None:
    trees.sun397(tmp_path)
    trees.write(tmp_path / "secret.jpg", trees.jpeg(0))
    trees.write(tmp_path / "SUN397/Testing_01.txt", f"/{path}\n")
    with pytest.raises(UserError, match="not an image below it"):
        open_dataset(DATASETS["sun397"], tmp_path, partial=True)


def test_names_that_are_not_plain_text(tmp_path: Path) -> None:
    trees.sun397(tmp_path)
    trees.write(tmp_path / "SUN397/Testing_01.txt", "/a/abbey/\x1b[2J.jpg\n")
    with pytest.raises(UserError, match="not plain text"):
        open_dataset(DATASETS["sun397"], tmp_path)


def test_classes_of_cars_without_a_name(tmp_path: Path) -> None:
    from scipy.io import savemat

    trees.cars(tmp_path)
    kind = [("class", "O"), ("fname", "O")]
    annotations = {"annotations": np.array([[(3, "00001.jpg")]], dtype=kind)}
    savemat(tmp_path / "stanford_cars/cars_test_annos_withlabels.mat", annotations)
    with pytest.raises(UserError, match="the class of 00001.jpg is not one of the 2 that have names"):
        open_dataset(DATASETS["cars"], tmp_path)
    savemat(tmp_path / "stanford_cars/cars_test_annos_withlabels.mat", {"annotations": np.array([[1, 2]])})
    with pytest.raises(UserError, match="no structure 'annotations' with the fields 'class' and 'fname'"):
        open_dataset(DATASETS["cars"], tmp_path)


def test_a_folder_without_images_of_its_class(tmp_path: Path) -> None:
    trees.eurosat(tmp_path)
    (tmp_path / "eurosat/2750/SeaLake").mkdir()
    with pytest.raises(UserError, match="eurosat/2750: no images in the folder SeaLake"):
        open_dataset(DATASETS["eurosat"], tmp_path, partial=True)


def test_idx_files(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    plain, packed = trees.write(tmp_path / "a", trees.idx(array)), tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(trees.idx(array)))
    for path in (plain, packed):
        assert np.array_equal(read_idx(path), array)
        assert idx_shape(path) == (2, 3, 4)
    for content in (trees.idx(array)[:-1], trees.idx(array) + b"0"):
        with pytest.raises(UserError, match=r"a: .* values, but its header says 2 × 3 × 4"):
            read_idx(trees.write(plain, content))
    for content in (b"", b"\0\0\x08\x03\0", b"\0\0\x0d\x01\0\0\0\0"):
        with pytest.raises(UserError, match="a: not an IDX file"):
            read_idx(trees.write(plain, content))
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(UserError, match="b.gz: not an IDX file"):
        read_idx(packed)
    with pytest.raises(UserError, match="neither c nor c.gz"):
        idx_file(tmp_path, "c")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_fashion_that_was_cut_off(suffix: str, tmp_path: Path) -> None:
    trees.fashion_mnist(tmp_path, suffix=suffix)
    file = tmp_path / f"FashionMNIST/raw/train-images-idx3-ubyte{suffix}"
    file.write_bytes(file.read_bytes()[:-100])
    state = examine(FASHION, tmp_path)
    assert state.state == "partial"
    assert f"train-images-idx3-ubyte{suffix}: " in state.reason
    with pytest.raises(UserError, match=r"^fashion-mnist: .*train-images-idx3.*; to get it: apt install"):
        open_dataset(FASHION, tmp_path, partial=True)


def test_a_compressed_file_longer_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(trees.idx(np.zeros((2, 3), np.uint8)) + bytes(5 << 20)))
    with pytest.raises(UserError, match="values, but its header says 2 × 3"):
        idx_shape(path)


def test_pixels_that_turn_out_damaged_when_they_are_opened(tmp_path: Path) -> None:
    def damaged() -> NDArray[np.uint8]:
        raise UserError("data_batch_3.png: damaged (checksum)")

    rows = [row for part in ("train", "test") for row in numbered(["airplane", "automobile"] * 5, part)]
    made = replace(CIFAR10, layouts=(Layout("made", (), lambda _: pixels_listing(rows, damaged)),))
    (tmp_path / "made").mkdir()
    with pytest.raises(UserError, match=r"^cifar10: data_batch_3.png: damaged \(.*; to get it: "):
        open_dataset(made, tmp_path, partial=True)


def test_what_a_reader_says_names_the_data_set_and_what_to_do(tmp_path: Path) -> None:
    trees.cropdiseases(tmp_path)
    (tmp_path / "plant-disease/dataset/train/Empty").mkdir()
    fault = "plant-disease/dataset/train: no images in the folder Empty"
    with pytest.raises(UserError, match=f"^cropdiseases: .*{fault}; to get it: "):
        open_dataset(DATASETS["cropdiseases"], tmp_path)
    state = examine(DATASETS["cropdiseases"], tmp_path)
    assert state.reason.endswith(fault)
    advice = next(row[-1] for row in state_rows(tmp_path)[1] if row[1] == "cropdiseases")
    assert advice == f"{state.reason}; {DATASETS['cropdiseases'].get}"


def test_the_way_to_a_data_set_is_one_sentence() -> None:
    # A run's notices are told apart by the full stops between them.
    assert not [name for name, dataset in task_sets().items() if ". " in dataset.get]


@pytest.mark.parametrize("name", ["drawings", "digits"])
def test_a_folder_of_the_same_name_hides_no_package(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    state = examine(DATASETS[name], tmp_path)
    assert state.state == "complete"
    assert state.place is not None
    assert state.place.resolve() != (tmp_path / name).resolve()
    assert Counter(open_dataset(DATASETS[name], tmp_path).manifest.splits) == DATASETS[name].counts


def test_the_first_whole_copy_is_read_and_else_the_fullest(tmp_path: Path) -> None:
    tiny = replace(CIFAR10, classes=2, counts={"train": 16, "val": 4, "test": 4})
    (tmp_path / "cifar-10-batches-py").mkdir()
    trees.cifar10_binary(tmp_path)
    assert examine(tiny, tmp_path).place == tmp_path / "cifar-10-batches-bin"
    assert len(open_dataset(tiny, tmp_path).manifest) == 24
    # Both are partial of the true data set: that with images is what there is to say something of.
    state = examine(CIFAR10, tmp_path)
    assert (state.state, state.place, state.images) == ("partial", tmp_path / "cifar-10-batches-bin", 24)


def test_fashion_with_other_labels(tmp_path: Path) -> None:
    trees.fashion_mnist(tmp_path)
    file = tmp_path / "FashionMNIST/raw/t10k-labels-idx1-ubyte"
    for labels in ([1, 2, 3], [1, 2, 3, 10]):
        file.write_bytes(trees.idx(np.array(labels, np.uint8)))
        with pytest.raises(UserError, match="expected a class from 0 to 9 for each of the 4 images of t10k-images"):
            open_dataset(FASHION, tmp_path)


def test_words_of_several_classes() -> None:
    assert join_classes(["dog", "cat"], ["chair"]) == "cat+chair?+dog"
    assert join_classes([]) == "none"
    assert shown_classes("cat+chair?+dog") == ["cat", "dog"]
    assert shown_classes("none") == shown_classes("chair?") == []
    found = targets(["cat+chair?", "none"], ["cat", "chair"])
    assert found.positives.tolist() == [[True, False], [False, False]]
    assert found.ignored.tolist() == [[False, True], [False, False]]
    with pytest.raises(UserError, match="'cow' names a class that is not one of cat, dog"):
        targets(["cow"], ["cat", "dog"])


def test_what_commands_list(tmp_path: Path) -> None:
    columns, rows = dataset_rows()
    assert {row[0] for row in rows} == set(task_sets())
    aircraft = dict(zip(columns, rows[0], strict=True))
    assert (aircraft["train"], aircraft["metric"], aircraft["validation"]) == ("3334", "mean-per-class", "author")
    with pytest.raises(UserError, match="nothing: no such folder; give the folder that contains"):
        state_rows(tmp_path / "nothing")
    trees.pets(tmp_path)
    columns, rows = state_rows(tmp_path)
    states = {row[1]: dict(zip(columns, row, strict=True)) for row in rows}
    assert (states["pets"]["state"], states["pets"]["images"], states["pets"]["expected"]) == ("partial", 16, 7349)
    assert "12 training images where 3,680 are expected; Oxford VGG" in states["pets"]["advice"]
    assert (states["cars"]["state"], states["cars"]["images"], states["cars"]["folder"]) == ("missing", 0, "")
    assert (states["drawings"]["state"], states["drawings"]["advice"]) == ("complete", "")
