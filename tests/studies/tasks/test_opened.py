"""Opening the data sets that a study is asked for."""

from pathlib import Path

import pytest

from unseen.errors import UserError
from unseen.studies.tasks.opened import open_datasets


def test_what_is_not_there_is_missed_only_where_it_was_asked_for(tmp_path: Path) -> None:
    asked = open_datasets(["digits", "dtd"], tmp_path, limit=3)
    assert [each.dataset.name for each in asked.datasets] == ["digits"]
    assert [len(each.manifest) for each in asked.datasets] == [90]  # three of ten classes in three splits
    assert [(each.code, each.domain) for each in asked.missed] == [("left-out", "dtd")]
    every = open_datasets([], tmp_path)
    assert "dtd" in [each.domain for each in every.absent]
    assert every.missed == []


def test_nothing_to_open(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dtd: .*to get it"):
        open_datasets(["dtd"], tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        open_datasets(["digits"], tmp_path / "nowhere")
