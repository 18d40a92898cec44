"""The authors' two files, in the format their code reads."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen.data.concepts.cog_files import import_levels, import_splits
from unseen.data.core.splits import Splits
from unseen.errors import UserError
from unseen.ontology.levels import load_levels


def write(path: Path, value: Any) -> Path:
    path.write_bytes(pickle.dumps(value, 3))
    return path


def test_the_published_levels_are_recognised(tmp_path: Path) -> None:
    levels = load_levels("cog-v2")
    lists = [list(reversed(levels.ids(i))) for i in range(1, 6)]
    assert import_levels(write(tmp_path / "m.pkl", lists)) == levels


def test_other_levels_keep_their_order(tmp_path: Path) -> None:
    found = import_levels(write(tmp_path / "m.pkl", [["n02123159", "n02084071"], ["n02958343"]]))
    assert [(c.level, c.rank, c.name, c.similarity) for c in found.concepts] == [
        (1, 0, "tiger_cat.n.02", None),
        (1, 1, "dog.n.01", None),
        (2, 2, "car.n.01", None),
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"n02123159": 1}, "expected a list of lists"),
        ([], "expected a list of lists"),
        ([["n02123159"], []], "expected a list of lists"),
        ([["n99999999"]], "level 1 contains 'n99999999'"),
        ([["n02123159"], [7]], "level 2 contains 7"),
        ([["n02123159", "n02123159"]], "level 1 contains a concept twice"),
        ([["n02123159"], ["n02123159"]], "n02123159 is in level 2 and also in an earlier one"),
    ],
)
def test_bad_levels_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        import_levels(write(tmp_path / "m.pkl", value))


def test_splits_with_folders_in_their_names(tmp_path: Path) -> None:
    table = {
        wnid: {
            "train": np.array([f"/{wnid}/{wnid}_{i}.JPEG" for i in (30, 4, 500)]),
            "test": np.array([f"/{wnid}/{wnid}_{i}.JPEG" for i in (7, 6)]),
        }
        for wnid in ("n02084071", "n02958343")
    }
    splits = import_splits(write(tmp_path / "s.pkl", table))
    assert list(splits.classes) == ["n02084071", "n02958343"]
    assert splits.classes["n02958343"].test == ("n02958343_6.JPEG", "n02958343_7.JPEG")
    assert len(splits.classes["n02084071"].train) == 3
    splits.write(tmp_path / "s.npz")
    assert Splits.read(tmp_path / "s.npz") == splits


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "expected a dictionary"),
        ({"n02084071": {"train": ["a"]}}, "'n02084071' lacks the lists 'train' and 'test'"),
        ({"n02084071": {"train": ["a"], "test": ["x/a"]}}, "in both train and test"),
        ({"n02084071": {"train": "abc", "test": []}}, "not a list of file names"),
        ({"n02084071": {"train": [1], "test": []}}, "not a list of file names"),
        ({"n02084071": {"train": ["x/a", "y/a"], "test": ["b"]}}, "repeated"),
        ({"n99999999": {"train": ["a"], "test": ["b"]}}, "n99999999 is not a noun synset"),
    ],
)
def test_bad_splits_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        import_splits(write(tmp_path / "s.pkl", value))
