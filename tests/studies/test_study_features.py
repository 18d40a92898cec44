"""What stores of features say of themselves."""

from pathlib import Path

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.features.store import MANIFEST, write_store
from unseen.studies.stored_features import about_finished, damaged_images, read_about


def store(folder: Path, damaged: list[dict[str, str]]) -> Path:
    write_store(folder, [(np.ones((1, 2)), np.zeros(1))], ["a"], provenance={"damaged": damaged})
    return folder


def test_damaged_images_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    assert damaged_images("l1, train", store(tmp_path / "whole", [])) == ""
    one = damaged_images("l1, train", store(tmp_path / "one", [{"id": "a.jpg", "reason": "cut off"}]))
    assert one.startswith("l1, train: 1 damaged image was left out, first a.jpg: cut off")
    two = [{"id": name, "reason": "cut off"} for name in ("a", "b")]
    assert "2 damaged images were" in damaged_images("l1", store(tmp_path / "two", two))


def test_a_store_that_is_not_finished_says_nothing(tmp_path: Path) -> None:
    assert about_finished(tmp_path) is None
    with pytest.raises(UserError, match="unfinished"):
        read_about(tmp_path)
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(UserError, match="damaged"):
        read_about(tmp_path)
