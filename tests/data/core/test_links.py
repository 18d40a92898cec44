"""Symbolic links below a data set: followed inside its own folders, and out of them only if it says so."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unseen.data.core.links import links_within
from unseen.data.core.source import ImageSource
from unseen.data.own.description import describe
from unseen.data.own.one_split import open_test_set
from unseen.data.own.open_own import open_own
from unseen.data.own.own_data import OwnData
from unseen.data.sources.list_file import listed_images
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError


def picture(path: Path, shade: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 8, 3), shade, dtype=np.uint8)).save(path)
    return path


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A data set of two classes, and an image elsewhere on the machine."""
    number = 0
    for split in ("train", "val", "test"):
        for name in ("cat", "dog"):
            for each in range(3):
                picture(tmp_path / "creatures" / split / name / f"{each}.png", number := number + 1)
    return tmp_path / "creatures", picture(tmp_path / "home/private.png", 200)


def read_all(source: ImageSource) -> list[object]:
    return [source.read(number) for number in range(len(source.entries))]


def linked_image(pets: Path, secret: Path) -> ImageSource:
    (pets / "train/cat/9.png").symlink_to(secret)
    return open_images(pets / "train")


def linked_class(pets: Path, secret: Path) -> ImageSource:
    (pets / "train/owl").symlink_to(secret.parent)
    return open_images(pets / "train")


def listed(pets: Path, secret: Path) -> ImageSource:
    (pets / "train/cat/9.png").symlink_to(secret)
    (pets / "train/list.txt").write_text("cat/0.png cat\ncat/9.png cat\ndog/0.png dog\n")
    return open_images(pets / "train/list.txt")


def listed_below_a_link(pets: Path, secret: Path) -> ImageSource:
    (pets / "train/inner").symlink_to(secret.parent)
    (pets / "train/list.txt").write_text(f"inner/{secret.name} cat\ncat/0.png cat\ndog/0.png dog\n")
    return open_images(pets / "train/list.txt")


def table(pets: Path, secret: Path) -> ImageSource:
    (pets / "9.png").symlink_to(secret)
    (pets / "list.csv").write_text("path,label\ntrain/cat/0.png,cat\n9.png,dog\n")
    return open_test_set(OwnData(pets / "list.csv", name="mine")).source


def whole_machine(pets: Path, secret: Path) -> ImageSource:
    (pets / "list.txt").write_text(f"{str(secret)[1:]} cat\n{str(pets)[1:]}/train/dog/0.png dog\n")
    return listed_images(pets / "list.txt", root=Path("/"))


def tar(pets: Path, secret: Path) -> ImageSource:
    (pets / "shards").mkdir()
    (pets / "shards/a.tar").symlink_to(secret)
    return open_images(pets / "shards")


def beside_parquet(pets: Path, secret: Path) -> ImageSource:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (pets / "9.png").symlink_to(secret)
    images = pa.array([{"bytes": None, "path": "9.png"}], pa.struct({"bytes": pa.binary(), "path": pa.string()}))
    parquet.write_table(pa.table({"image": images, "label": ["cat"]}), pets / "a.parquet")
    return open_images(pets / "a.parquet")


PLACES = (linked_image, linked_class, listed, listed_below_a_link, table, whole_machine, tar, beside_parquet)


@pytest.mark.parametrize("make", PLACES)
def test_no_image_is_read_through_a_link_out_of_a_data_set(
    make: Callable[[Path, Path], ImageSource], places: tuple[Path, Path]
) -> None:
    with pytest.raises(UserError, match=r"follow_links = true") as caught:
        read_all(make(*places))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [each for each in PLACES if each is not tar])
def test_links_are_followed_if_the_data_set_says_so(
    make: Callable[[Path, Path], ImageSource], places: tuple[Path, Path]
) -> None:
    with links_within(follow=True):
        source = make(*places)
    # Sources are sent to other processes, which do as they were opened.
    assert places[1].read_bytes() in read_all(pickle.loads(pickle.dumps(source)))


def test_links_inside_a_data_set_and_to_its_root_are_followed(places: tuple[Path, Path], tmp_path: Path) -> None:
    pets, secret = places
    picture(pets / "extra/7.png", 99)
    (pets / "train/cat/7.png").symlink_to("../../extra/7.png")
    (tmp_path / "linked").symlink_to(pets)
    opened = open_own(describe(tmp_path / "linked"))
    assert (pets / "extra/7.png").read_bytes() in read_all(opened.source)
    (pets / "train/cat/8.png").symlink_to(secret)
    with pytest.raises(UserError, match="leads out"):
        open_own(describe(tmp_path / "linked"))
    # The folder of one split alone is another data set, which the first link leads out of.
    (pets / "train/cat/8.png").unlink()
    with pytest.raises(UserError, match="leads out"):
        open_images(pets / "train")


def test_the_setting_of_a_data_set(places: tuple[Path, Path], tmp_path: Path) -> None:
    pets, secret = places
    (pets / "train/cat/8.png").symlink_to(secret)
    text = 'name = "mine"\n' + "".join(f"{each}.images = 'creatures/{each}'\n" for each in ("train", "val", "test"))
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match="leads out"):
        open_own(describe(tmp_path / "mine.toml"))
    (tmp_path / "mine.toml").write_text(f"follow_links = true\n{text}")
    assert secret.read_bytes() in read_all(open_own(describe(tmp_path / "mine.toml")).source)


def test_the_whole_machine_is_no_data_set(places: tuple[Path, Path], tmp_path: Path) -> None:
    pets, secret = places
    (tmp_path / "list.txt").write_text(f"{str(secret)[1:]} cat\n{str(pets)[1:]}/train/dog/0.png dog\n")
    text = (
        'name = "mine"\ntrain = {images = "list.txt", root = "/"}\nval.images = "creatures/val"\n'
        'test.images = "creatures/test"\n'
    )
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match="root of the file system"):
        open_own(describe(tmp_path / "mine.toml"))
    assert open_own(describe(_with_links(tmp_path / "mine.toml", text))).source.entries


def _with_links(file: Path, text: str) -> Path:
    file.write_text(f"follow_links = true\n{text}")
    return file


def test_snapshots_of_the_hub_are_read_through_their_links(places: tuple[Path, Path], tmp_path: Path) -> None:
    pets, _ = places
    blobs = tmp_path / "datasets--a--b/blobs"
    blobs.mkdir(parents=True)
    (pets / "train/cat/0.png").rename(blobs / "abc")
    (tmp_path / "datasets--a--b/snapshots").mkdir()
    pets.rename(tmp_path / "datasets--a--b/snapshots/1")
    (tmp_path / "datasets--a--b/snapshots/1/train/cat/0.png").symlink_to("../../../../blobs/abc")
    source = open_images(tmp_path / "datasets--a--b/snapshots/1/train")
    assert (blobs / "abc").read_bytes() in read_all(source)
