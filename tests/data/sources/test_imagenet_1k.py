"""ImageNet-1K in each of the layouts it is found in."""

from pathlib import Path

import pytest
from picture_files import tar_of

from unseen.data.core.source import ImageSource
from unseen.data.sources.imagenet_1k import imagenet_1k, read_truth
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError

TRUTH = {1: "n01751748", 2: "n09193705", 3: "n01751748"}
VALIDATION = {f"ILSVRC2012_val_{number:08d}.JPEG": str(number).encode() for number in TRUTH}
EXPECTED = [
    ("n01751748/ILSVRC2012_val_00000001.JPEG", "n01751748", b"1"),
    ("n01751748/ILSVRC2012_val_00000003.JPEG", "n01751748", b"3"),
    ("n09193705/ILSVRC2012_val_00000002.JPEG", "n09193705", b"2"),
]
KAGGLE = "ImageId,PredictionString\n" + "".join(
    f"ILSVRC2012_val_{number:08d},{wnid} 111 108 441 193 {wnid} 1 2 3 4\n" for number, wnid in reversed(TRUTH.items())
)


def contents(source: ImageSource) -> list[tuple[str, str, bytes]]:
    return [(entry.id, entry.label, bytes(source.read(i))) for i, entry in enumerate(source.entries)]


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    (tmp_path / "val").mkdir()
    for name, content in VALIDATION.items():
        (tmp_path / "val" / name).write_bytes(content)
    return tmp_path


def test_a_flat_folder_with_kaggle_s_csv(flat: Path) -> None:
    (flat / "LOC_val_solution.csv").write_text(KAGGLE)
    source = imagenet_1k(flat, split="val")
    assert contents(source) == EXPECTED
    assert source.about["truth"] == "LOC_val_solution.csv"
    assert contents(open_images(flat / "val")) == EXPECTED


def test_a_flat_folder_with_synset_ids(flat: Path) -> None:
    (flat / "truth.txt").write_text("\n".join(TRUTH.values()))
    assert contents(imagenet_1k(flat, split="val", truth=flat / "truth.txt")) == EXPECTED


def test_a_flat_folder_with_the_development_kit(flat: Path) -> None:
    data = flat / "ILSVRC2012_devkit_t12/data"
    data.mkdir(parents=True)
    (data / "ILSVRC2012_validation_ground_truth.txt").write_text("490\n361\n490\n")
    with pytest.raises(UserError, match=r"order of the development kit's meta\.mat; put map_clsloc\.txt"):
        imagenet_1k(flat, split="val")
    # The list of ids without numbers, which is in another order, is not enough.
    (data / "synsets.txt").write_text("n01751748\nn09193705\n")
    with pytest.raises(UserError, match=r"put map_clsloc\.txt"):
        imagenet_1k(flat, split="val")
    (data / "map_clsloc.txt").write_text("n09193705 361 alp\nn01751748 490 sea_snake\n")
    assert contents(imagenet_1k(flat, split="val")) == EXPECTED


def test_the_official_tar_files(tmp_path: Path) -> None:
    train = {"n01751748": {"n01751748_1.JPEG": b"a"}, "n09193705": {"n09193705_1.JPEG": b"b"}}
    inner = {f"{name}.tar": tar_of(files) for name, files in train.items()}
    (tmp_path / "ILSVRC2012_img_train.tar").write_bytes(tar_of(inner))
    (tmp_path / "ILSVRC2012_img_val.tar").write_bytes(tar_of(VALIDATION))
    (tmp_path / "truth.txt").write_text("\n".join(TRUTH.values()))
    assert contents(open_images(tmp_path, split="val", truth=tmp_path / "truth.txt")) == EXPECTED
    assert [data for *_, data in contents(open_images(tmp_path, split="train"))] == [b"a", b"b"]
    # Another truth is another index.
    (tmp_path / "truth.txt").write_text("\n".join(reversed(["n09193705", "n09193705", "n01751748"])))
    assert [e.label for e in open_images(tmp_path, split="val", truth=tmp_path / "truth.txt").entries] == [
        "n01751748", "n09193705", "n09193705",
    ]  # fmt: skip


def test_class_folders_and_tar_files_per_class(tmp_path: Path) -> None:
    for id_, _, content in EXPECTED:
        (tmp_path / "validation" / id_).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "validation" / id_).write_bytes(content)
    (tmp_path / "train").mkdir()
    (tmp_path / "train/n01751748.tar").write_bytes(tar_of({"n01751748_1.JPEG": b"a"}))
    assert contents(open_images(tmp_path, split="val")) == EXPECTED
    assert contents(open_images(tmp_path, split="train")) == [("n01751748/n01751748_1.JPEG", "n01751748", b"a")]


def test_kaggle_s_folders(tmp_path: Path, flat: Path) -> None:
    root = tmp_path / "kaggle"
    (root / "ILSVRC/Data/CLS-LOC").mkdir(parents=True)
    (flat / "val").rename(root / "ILSVRC/Data/CLS-LOC/val")
    (root / "LOC_val_solution.csv").write_text(KAGGLE)
    assert contents(open_images(root, split="val")) == EXPECTED


def test_what_is_missing_is_said(flat: Path) -> None:
    with pytest.raises(UserError, match=r"need their classes; put one of LOC_val_solution\.csv, .* beside them"):
        imagenet_1k(flat, split="val")
    with pytest.raises(
        UserError, match=r"no images of the split 'train' in it; expected train or ILSVRC2012_img_train"
    ):
        imagenet_1k(flat, split="train")
    with pytest.raises(UserError, match="no split 'vall'; did you mean val"):
        imagenet_1k(flat, split="vall")
    with pytest.raises(UserError, match="several splits; .*val"):
        open_images(flat)
    (flat / "truth.txt").write_text("n01751748\nsnake\n")
    with pytest.raises(UserError, match=r"no synset id for the image ILSVRC2012_val_00000002\.JPEG \('snake'"):
        imagenet_1k(flat, split="val", truth=flat / "truth.txt")
    (flat / "truth.txt").write_text("n01751748\nn01751748\n")
    with pytest.raises(UserError, match=r"image ILSVRC2012_val_00000003\.JPEG \(nothing"):
        imagenet_1k(flat, split="val", truth=flat / "truth.txt")


def test_a_folder_with_training_and_test_images(tmp_path: Path) -> None:
    for split, image in (("train", "1.png"), ("test", "2.png")):
        (tmp_path / split / "cat").mkdir(parents=True)
        (tmp_path / split / "cat" / image).touch()
    with pytest.raises(UserError, match="train or test$"):
        open_images(tmp_path)
    assert [entry.id for entry in open_images(tmp_path, split="test").entries] == ["cat/2.png"]


def test_numbers_beyond_the_development_kit_are_refused(flat: Path) -> None:
    (flat / "truth.txt").write_text("1\n7\n1\n")
    (flat / "map_clsloc.txt").write_text("n02119789 1 kit_fox\n")
    assert read_truth(flat / "truth.txt")["ILSVRC2012_val_00000003"] == "n02119789"
    with pytest.raises(UserError, match=r"image ILSVRC2012_val_00000002\.JPEG \('7' where one was expected"):
        imagenet_1k(flat, split="val", truth=flat / "truth.txt")
