"""Lists of classes by name and from files."""

from pathlib import Path

import pytest

from unseen.errors import UserError
from unseen.ontology.class_lists import CLASS_LISTS, class_list, list_name


def test_lists_of_the_package() -> None:
    sizes = {name: len(class_list(name)) for name in CLASS_LISTS if name != "imagenet-21k"}
    assert sizes == {"imagenet-1k": 1000, "imagenet-a": 200, "imagenet-r": 200, "cifar-10": 10}
    assert set(class_list("imagenet-r")) | set(class_list("imagenet-a")) < set(class_list("imagenet-1k"))
    assert "n01443537" in class_list("imagenet-r")  # the goldfish, first of its folders


def test_lists_from_files(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").write_text("class,name\nn1,cat\nn0,dog\n")
    (tmp_path / "pets.txt").write_text("n1\n\nn0\n")
    assert class_list(tmp_path / "pets.csv") == class_list(tmp_path / "pets.txt") == ("n1", "n0")
    assert (list_name("imagenet-r"), list_name(str(tmp_path / "pets.csv"))) == ("imagenet-r", "pets")
    (tmp_path / "pets.txt").write_text("n1\nn1\n")
    with pytest.raises(UserError, match="line 2: n1 occurs twice"):
        class_list(tmp_path / "pets.txt")
    with pytest.raises(UserError, match="no class list 'imagenet-q'.*did you mean imagenet-"):
        class_list("imagenet-q")
