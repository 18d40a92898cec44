"""`unseen demo --look`, on one drawing by one network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from unseen.demo import look


def test_looks_at_single_drawings(unseen: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "NETWORKS", ("supervised",))
    monkeypatch.setattr(look, "DRAWINGS", 1)
    monkeypatch.setattr(look, "GRID", "8/8")
    monkeypatch.setattr(look, "INVERTED", 1)
    monkeypatch.setattr(look, "STEPS", 2)
    found = unseen("demo", "--look", "--out", tmp_path / "look")
    assert found.code == 0, found.err
    scores = pd.read_csv(tmp_path / "look/scores.csv")
    [row] = scores[scores["setting"] == "saliency-diffusion"].to_dict("records")
    assert (row["backbone"], row["dataset"]) == ("demo:supervised", "drawings (1 image)")
    assert 0 < row["value"] < 1
    assert {"inversion-colour-red", "inversion-colour-green", "inversion-colour-blue"} < {*scores["setting"]}
    assert "masks of 8/8 pixels" in (tmp_path / "look/report.html").read_text()


def test_is_of_the_demos_own_networks(unseen: Callable[..., Any], tmp_path: Path) -> None:
    found = unseen("demo", "--look", "--full", "--out", tmp_path / "look")
    assert found.code == 2
    assert "own networks" in found.err
