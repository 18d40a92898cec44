"""docs/run-folder.md against the records: every key is explained, and no other."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from unseen.features.about import BackboneAbout
from unseen.features.costs import BackboneCost, ForwardSpeed
from unseen.papers.comparability import ScoredData
from unseen.runs.data import Backbone, Domain, RunData, Step, Written
from unseen.runs.flaws import Flaw
from unseen.runs.notices import Notice
from unseen.runs.record import FORMAT, MEASURED
from unseen.runs.results import Result
from unseen.runs.setup import FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, SplitsUsed

PAGE = (Path(__file__).parents[2] / "docs/run-folder.md").read_text()
RECORDS = {
    "protocols": ProtocolUsed,
    "backbones": Backbone,
    "backbone": BackboneAbout,
    "cost": BackboneCost,
    "speed": ForwardSpeed,
    "domains": Domain,
    "features": FeatureKey,
    "levels": LevelsUsed,
    "splits": SplitsUsed,
    "images": ImagesUsed,
    "scored": ScoredData,
    "told": Notice,
    "flaws": Flaw,
    "steps": Step,
    "written": Written,
}


def explained(heading: str) -> list[str]:
    """The keys in the first column of the table below a heading."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE.partition(f"\n{heading}\n")[2].partition("\n#")[0], re.MULTILINE)
    return sorted(key for row in rows for key in re.findall(r"`(\w+)`", row))


def names(record: Any) -> set[str]:
    return {field.name for field in fields(record)}


@pytest.mark.parametrize("heading", RECORDS)
def test_each_record_is_explained(heading: str) -> None:
    assert explained(f"### {heading}") == sorted(names(RECORDS[heading]))


def test_the_files_are_explained() -> None:
    assert explained("## `run.json`") == sorted(names(RunData) - {*MEASURED} | {"format", "keys"})
    assert explained("## `results/KEY.json`") == sorted(names(Result))
    assert f"| `format` | version of this page, {FORMAT} |" in PAGE
