"""Opening the data sets that a study names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_trees import write_birds
from PIL import Image
from targets import tiny_data

from studies import study_of
from unseen.data.registry import dense_sets, task_sets
from unseen.errors import UserError
from unseen.studies.opened import OpenedData, open_data
from unseen.studies.places import Places
from unseen.studies.probes import study_probes
from unseen.studies.watch import Silent


def opened(data: Path | None = None, given: Any = (), features: Path | None = None, **keys: Any) -> OpenedData:
    study = study_of("ericsson-2021", **keys)
    wanted = study_probes(study, lambda _: None).wanted
    return open_data(study, Places.of(data), wanted, Silent(), given=given, features=features)


def names(found: OpenedData) -> list[str]:
    return [each.name for each in found.data]


def test_what_is_not_there_is_missed_only_where_it_was_asked_for(tmp_path: Path) -> None:
    found = opened(tmp_path, datasets=["digits", "dtd"], limit=3)
    assert names(found) == ["digits"]
    assert [len(each.images.manifest) for each in found.data] == [90]  # three of ten classes in three splits
    assert [(each.code, each.domain) for each in found.missed] == [("left-out", "dtd")]
    every = opened(tmp_path)
    assert "dtd" in [each.domain for each in every.absent]
    assert every.missed == []


def test_nothing_to_open(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dtd: .*to get it"):
        opened(tmp_path, datasets="dtd")
    with pytest.raises(UserError, match="no such folder"):
        opened(tmp_path / "nowhere", datasets="digits")
    with pytest.raises(UserError, match="no features of any data set"):
        opened(tmp_path, probes="upernet", datasets="all", given=[], features=tmp_path)


def test_all_data_sets_are_those_whose_labels_a_probe_takes(tmp_path: Path) -> None:
    assert {"digits", "drawings"} <= {*names(opened(tmp_path))}
    assert {*names(opened(tmp_path, probes="patch-linear"))} == {"scenes-seen", "scenes-unseen"}
    boxes = names(opened(tmp_path, probes="detector-frozen"))
    assert {*boxes} == {"scenes-seen-boxes", "scenes-unseen-boxes"}
    both = names(opened(tmp_path, probes=["knn", "detector-frozen"]))
    assert {"digits", *boxes} <= {*both}


def test_data_sets_come_once_in_the_order_of_the_registry_and_then_the_users_own(tmp_path: Path) -> None:
    birds = write_birds(tmp_path / "birds", {"train": 5, "test": 2})
    words = [str(birds), "scenes-seen", "digits", "drawings", "digits"]
    order = [*task_sets(), *dense_sets(), "birds"]
    assert names(opened(datasets=words)) == sorted(["birds", "digits", "drawings", "scenes-seen"], key=order.index)
    assert names(opened(tmp_path, datasets=["birds"])) == ["birds"]  # below the folder of all data
    given = tiny_data("class")
    assert names(opened(given=[given])) == ["tiny"]  # instead of all
    assert names(opened(given=[given], datasets=["digits"])) == ["digits", "tiny"]
    assert names(opened(given=[given], datasets=["digits", "tiny"])) == ["digits", "tiny"]  # the study of that run


def test_all_data_sets_and_others_are_all_of_them(tmp_path: Path) -> None:
    birds = write_birds(tmp_path / "birds", {"train": 5, "test": 2})
    every = names(opened(tmp_path, datasets="all"))
    assert names(opened(tmp_path, datasets=["all", "digits", str(birds)])) == [*every, "birds"]


def test_equal_names_are_refused(tmp_path: Path) -> None:
    places = [write_birds(tmp_path / part / "birds", {"train": 5, "test": 1}) for part in "ab"]
    with pytest.raises(UserError, match="two data sets are named 'birds'"):
        opened(datasets=[str(place) for place in places])
    with pytest.raises(UserError, match="two data sets are named 'digits'"):
        opened(given=[tiny_data("class", "digits")], datasets=["digits"])


def test_unknown_names_are_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no data set 'digit'; did you mean digits"):
        opened(tmp_path, datasets="digit")
    with pytest.raises(UserError, match="your own are folders or .toml files"):
        opened(tmp_path, datasets="strange")


def test_a_limit_is_for_images(tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    with pytest.raises(UserError, match="limit applies to images"):
        opened(features=tmp_path, datasets="digits", limit=3)


def test_a_folder_without_splits_is_of_single_images_only_for_probes_of_these(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(tmp_path / "some/a.png")
    found = opened(probes="saliency", datasets=str(tmp_path / "some"))
    assert (found.folders, found.data) == ([tmp_path / "some"], [])
    with pytest.raises(UserError, match="some"):
        opened(probes="knn", datasets=str(tmp_path / "some"))


def test_keys_of_levels_need_levels() -> None:
    with pytest.raises(UserError, match="splits needs levels"):
        opened(splits="x.npz", datasets="digits")
    with pytest.raises(UserError, match="word-vectors needs levels"):
        opened(word_vectors="x.txt", datasets="digits")
