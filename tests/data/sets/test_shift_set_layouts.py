"""Test sets in their true layouts, and wrong ones."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from shift_trees import SYNSETS, cifar_arrays, folders, objectnet, photograph

from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.formats.named_folders import CIFAR_10, imagenet_classes
from unseen.data.registry import DATASETS, shift_sets
from unseen.data.test_sets import get_sets, sets_below
from unseen.errors import UserError

TESTBED = Path(__file__).parents[4] / "shared/data/imagenet_testbed_top1.csv"


def opened(name: str, root: Path) -> OpenDataset:
    return open_dataset(DATASETS[name], root, partial=True)


def rows(found: OpenDataset) -> list[tuple[str, str]]:
    return [(entry.id, entry.label) for entry in found.manifest.entries]


def test_names_of_test_sets_of_imagenet_are_the_testbeds() -> None:
    """So that a model's accuracies can go into its table; all but ObjectNet's, as docs/shift-models.md says."""
    if not TESTBED.is_file():
        pytest.skip("needs imagenet_testbed_top1.csv in ../shared/data")
    theirs = TESTBED.read_text().partition("\n")[0].split(",")
    ours = [found.name for found in shift_sets().values() if found.space == "imagenet-1k"]
    assert [name for name in ours if name not in theirs] == ["objectnet"]
    page = (Path(__file__).parents[3] / "docs/shift-models.md").read_text()
    assert "objectnet-1.0-beta" in theirs
    assert "ObjectNet, which is `objectnet-1.0-beta` there" in " ".join(page.split())


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("imagenetv2-matched-frequency-format-val", "imagenetv2-matched-frequency-format-val"),
        ("imagenetv2-threshold-0.7-format-val", "imagenetv2-threshold0.7-format-val"),
        ("imagenetv2-top-images-format-val", "imagenet-v2/imagenetv2-top-images-format-val"),
    ],
)
def test_imagenet_v2_folders_are_numbers_not_their_alphabetic_order(name: str, folder: str, tmp_path: Path) -> None:
    folders(tmp_path / folder, ["0", "1", "10", "100", "409", "999"], images=1, suffix=".jpeg")
    labels = {id_.split("/")[0]: label for id_, label in rows(opened(name, tmp_path))}
    assert labels["0"] == "n01440764"  # tench
    assert labels["1"] == "n01443537"  # goldfish; in alphabetic order "10" would come before 2
    assert labels["409"] == "n02708093"  # analog clock
    assert labels["999"] == "n15075141"  # toilet tissue, the last of ImageNet's classes
    assert imagenet_classes()[10] == labels["10"] == "n01530575"  # brambling


@pytest.mark.parametrize("folder", ["1000", "-1", "01", "n01440764"])
def test_imagenet_v2_refuses_other_folders(folder: str, tmp_path: Path) -> None:
    folders(tmp_path / "imagenetv2-top-images-format-val", ["3", folder], images=1)
    with pytest.raises(UserError, match=f"unexpected folder {folder}.* numbers of classes, 0 to 999"):
        opened("imagenetv2-top-images-format-val", tmp_path)


@pytest.mark.parametrize("name", ["imagenet-r", "imagenet-a", "imagenet-sketch"])
def test_sets_of_synset_folders(name: str, tmp_path: Path) -> None:
    folders(tmp_path / name, SYNSETS, suffix=".jpg")
    (tmp_path / name / "README.txt").write_text("n00000000 is not a class")
    found = opened(name, tmp_path)
    assert {label for _, label in rows(found)} == set(SYNSETS)
    assert len(found.manifest) == 10
    assert set(found.manifest.splits) == {f"{name}-r1"}
    number = found.manifest.numbers(found.source)[3]
    place = tmp_path / name / found.manifest.entries[3].id
    assert found.source.read(number) == place.read_bytes()


def test_a_folder_that_is_no_class_is_refused(tmp_path: Path) -> None:
    folders(tmp_path / "imagenet-r", [*SYNSETS, "n00007846"])  # person: a synset, but none of the thousand
    with pytest.raises(UserError, match="unexpected folder n00007846.*synset ids such as n01440764"):
        opened("imagenet-r", tmp_path)


def test_objectnet_maps_by_its_own_files_and_loses_its_border(tmp_path: Path) -> None:
    place = objectnet(tmp_path)
    found = opened("objectnet", tmp_path)
    assert rows(found) == [
        ("alarm_clock/alarm_clocka1.png", "n02708093+n03196217"),  # analog clock, digital clock
        ("banana/bananaa1.png", "n07753592"),
    ]
    whole = np.asarray(Image.open(place / "images/alarm_clock/alarm_clocka1.png"))
    assert (whole[0] == (255, 0, 0)).all()
    assert (whole[1, :, 0] == 255).all()
    pixels = found.source.read(0)
    assert isinstance(pixels, np.ndarray)
    np.testing.assert_array_equal(pixels, whole[2:18, 2:28])


def test_objectnet_damage_is_left_to_the_decoder(tmp_path: Path) -> None:
    place = objectnet(tmp_path)
    file = place / "images/banana/bananaa1.png"
    file.write_bytes(file.read_bytes()[:200])
    found = opened("objectnet", tmp_path)
    with pytest.raises(UserError, match="damaged image"):
        decode(found.source.read(1), Transform(size=8, resize=8))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("objectnet_to_imagenet_1k.json", {"Banana": "bananna"}, "'bananna' names no classes of ImageNet-1K"),
        ("objectnet_to_imagenet_1k.json", {"Banana": "crane"}, "'crane' names 2 classes"),  # the bird and the machine
        ("objectnet_to_imagenet_1k.json", {"Banana": 7}, "Banana: must be text, not 7"),
        ("objectnet_to_imagenet_1k.json", ["Banana"], "it has no keys"),
        ("folder_to_objectnet_label.json", {"banana": "Banana"}, "unexpected folder air_freshener"),
    ],
)
def test_objectnet_refuses_other_mappings(file: str, content: object, message: str, tmp_path: Path) -> None:
    place = objectnet(tmp_path)
    (place / "mappings" / file).write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        opened("objectnet", tmp_path)


def test_objectnet_without_mappings_says_what_is_expected(tmp_path: Path) -> None:
    place = objectnet(tmp_path)
    (place / "mappings/folder_to_objectnet_label.json").unlink()
    with pytest.raises(UserError, match="has no mappings/folder_to_objectnet_label.json; expected images, mappings"):
        opened("objectnet", tmp_path)


@pytest.mark.parametrize("version", ["v4", "v6"])
def test_cifar_10_1(version: str, tmp_path: Path) -> None:
    images, labels = cifar_arrays()
    (tmp_path / "cifar-10.1").mkdir()
    np.save(tmp_path / f"cifar-10.1/cifar10.1_{version}_data.npy", images)
    np.save(tmp_path / f"cifar-10.1/cifar10.1_{version}_labels.npy", labels)
    found = opened(f"cifar-10.1-{version}", tmp_path)
    assert [label for _, label in rows(found)] == list(CIFAR_10) * 2
    np.testing.assert_array_equal(found.source.read(13), images[13])


def test_cifar_10_2(tmp_path: Path) -> None:
    images, labels = cifar_arrays()
    (tmp_path / "cifar-10.2").mkdir()
    np.savez(tmp_path / "cifar-10.2/cifar102_test.npz", images=images, labels=labels, label_names=np.array(CIFAR_10))
    found = opened("cifar-10.2", tmp_path)
    assert rows(found)[13][1] == "cat"  # 13 modulo 10 is 3, CIFAR's number for cats
    np.testing.assert_array_equal(found.source.read(13), images[13])


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("a pickle was run",)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((4, 32, 32)), np.zeros(4, int), "expected bytes of shape"),
        (np.zeros((4, 32, 32, 3), np.uint8), np.array([0, 1, 2, 10]), "labels from 0 to 9"),
        (np.zeros((4, 32, 32, 3), np.uint8), np.zeros(5, int), "expected 4 labels"),
        (np.zeros((4, 32, 32, 3), np.uint8), np.array([0.5] * 4), "expected 4 labels"),
        (np.zeros((4, 32, 32, 3), np.uint8), np.array([_Runs()] * 4), "pickled objects"),
    ],
)
def test_other_arrays_are_refused(images: np.ndarray, labels: np.ndarray, message: str, tmp_path: Path) -> None:
    (tmp_path / "cifar-10.2").mkdir()
    np.savez(tmp_path / "cifar-10.2/cifar102_test.npz", images=images, labels=labels)
    with pytest.raises(UserError, match=message):
        opened("cifar-10.2", tmp_path)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cifar-10.2").mkdir()
    (tmp_path / "cifar-10.2/cifar102_test.npz").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(UserError, match="cifar102_test.npz: damaged, or not the arrays"):
        opened("cifar-10.2", tmp_path)


def test_cinic_10_with_and_without_the_images_of_cifar(tmp_path: Path) -> None:
    test = tmp_path / "CINIC-10/test"
    folders(test, CIFAR_10, images=1, suffix=".png", prefix="n02691156_")
    folders(test, CIFAR_10, images=1, suffix=".png", prefix="cifar10-train-")
    folders(tmp_path / "CINIC-10/train", CIFAR_10, images=3, suffix=".png")
    assert len(opened("cinic-10", tmp_path).manifest) == 20
    alone = opened("cinic-10-imagenet", tmp_path)
    assert len(alone.manifest) == 10
    assert {label for _, label in rows(alone)} == set(CIFAR_10)
    assert all("cifar10" not in id_ for id_, _ in rows(alone))
    number = alone.manifest.numbers(alone.source)[4]
    assert alone.source.read(number) == (test / alone.manifest.entries[4].id).read_bytes()


@pytest.mark.parametrize("place", ["imagenet-c/fog/3", "imagenet-c/weather/fog/3"])
def test_imagenet_c_on_disk(place: str, tmp_path: Path) -> None:
    folders(tmp_path / place, SYNSETS)
    assert len(opened("imagenet-c.fog.3_on-disk", tmp_path).manifest) == 10
    with pytest.raises(UserError, match="expected imagenet-c/fog/4 or imagenet-c/weather/fog/4 below"):
        opened("imagenet-c.fog.4_on-disk", tmp_path)


def test_imagenet_c_in_memory_is_the_same_every_time_and_differs_by_image(tmp_path: Path) -> None:
    for number, wnid in enumerate(SYNSETS):
        photograph(tmp_path / f"imagenet/val/{wnid}/ILSVRC2012_val_{number + 1:08d}.JPEG", 5, size=(280, 260))
    first, second = (opened("imagenet-c.gaussian_noise.2_in-memory", tmp_path).source for _ in range(2))
    plain = decode(opened("val", tmp_path).source.read(0), Transform(224, 256, "bilinear"))
    pixels = first.read(0)
    assert isinstance(pixels, np.ndarray)
    np.testing.assert_array_equal(pixels, second.read(0))
    assert not np.array_equal(pixels, first.read(1))  # the same photograph under another id
    middle = (plain > 100) & (plain < 155)  # where noise of 0.12 is hardly ever cut off
    noise = (pixels.astype(float) - plain)[middle] / 255
    assert noise.std() == pytest.approx(0.12, rel=0.05)


def test_cifar_10_is_its_test_images_alone(tmp_path: Path) -> None:
    place = tmp_path / "cifar-10-batches-bin"
    place.mkdir()
    images, labels = cifar_arrays(10)
    (place / "batches.meta.txt").write_text("\n".join(CIFAR_10))
    for number, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        planes = (images + number).transpose(0, 3, 1, 2).reshape(10, -1)
        (place / f"{name}.bin").write_bytes(np.hstack([labels[:, None].astype(np.uint8), planes]).tobytes())
    found = opened("cifar-10", tmp_path)
    assert len(found.manifest) == 10
    number = found.manifest.numbers(found.source)[7]
    np.testing.assert_array_equal(found.source.read(number), images[7] + 5)


def test_an_incomplete_copy_is_refused_unless_asked_for(tmp_path: Path) -> None:
    folders(tmp_path / "imagenet-r", SYNSETS)
    with pytest.raises(UserError, match="10 test images where 30,000 are expected.*score what is there"):
        open_dataset(DATASETS["imagenet-r"], tmp_path)


def test_names_patterns_and_what_is_there(tmp_path: Path) -> None:
    assert len(get_sets(["imagenet-c.*_on-disk"])) == 19 * 5
    assert len(get_sets(["imagenet-c.*_in-memory"])) == 15 * 5
    assert [found.name for found in get_sets(["val", "imagenetv2-*", "val"])][:2] == [
        "val",
        "imagenetv2-matched-frequency-format-val",
    ]
    with pytest.raises(UserError, match="no test set 'imagenet-s'; did you mean"):
        get_sets(["imagenet-s"])
    folders(tmp_path / "imagenet-r", SYNSETS[:1])
    folders(tmp_path / "imagenet/val", SYNSETS[:1])
    assert [found.name for found in sets_below(tmp_path)] == ["val", "imagenet-r"]
    for without_files in ("objectnet-1.0/images", "cifar-10.2", "imagenet-a"):
        (tmp_path / without_files).mkdir(parents=True)
    assert [found.name for found in sets_below(tmp_path)] == ["val", "imagenet-r"]
    with pytest.raises(UserError, match="no such folder"):
        sets_below(tmp_path / "nowhere")
