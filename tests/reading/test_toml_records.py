"""TOML files that users write."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from unseen.errors import UserError
from unseen.reading.toml_records import beside, read_toml


@dataclass(frozen=True)
class Part:
    images: str
    limit: int = 3


@dataclass(frozen=True)
class Book:
    name: str
    metric: Literal["top1", "mean-per-class"] = "top1"
    classes: tuple[str, ...] = ()
    train: Part | None = None


def written(folder: Path, text: str) -> Path:
    path = folder / "book.toml"
    path.write_text(text)
    return path


def test_a_record_has_the_types_of_its_fields(tmp_path: Path) -> None:
    text = '\ufeffname = "a"\nclasses = ["x", "y"]\nmetric = "mean-per-class"\n[train]\nimages = "i"\n'
    found = read_toml(written(tmp_path, text), Book)
    assert found == Book("a", "mean-per-class", ("x", "y"), Part("i"))
    assert read_toml(written(tmp_path, 'name = "a"'), Book) == Book("a")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = \nx = 1", r"book\.toml: damaged, or not TOML .*line 1"),
        ('nam = "a"', "unknown key 'nam'; did you mean name"),
        ('nam = "a"\n[train]\nimage = "i"', r"did you mean name\?; .*\[train\]: unknown key 'image'"),
        ('name = "a"\nzebra = 1', "unknown key 'zebra'; there are name, metric, classes, train"),
        ('name = "a"\n[train]\nimage = "i"', r"book\.toml, \[train\]: unknown key 'image'; did you mean images"),
        ("classes = []", "the key 'name' is missing"),
        ('name = "a"\n[train]\nlimit = 1', "train: the key 'images' is missing"),
        ("name = 1979-05-27", 'name: must be text, not "1979-05-27"'),
        ('name = "a"\ntrain = "x"', "train: must be keys and values"),
        ('name = "a"\nmetric = "top5"', "metric: must be one of top1, mean-per-class"),
        ('name = "a"\nclasses = [1]', "classes, item 1: must be text, not 1"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        read_toml(written(tmp_path, text), Book)


def test_paths_are_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "set.toml"
    assert beside(file, "images/train") == tmp_path / "images/train"
    assert beside(file, "/data") == Path("/data")
