"""`unseen papers`, called as the command line calls them."""

import json
from pathlib import Path

import pandas as pd
import pytest

from unseen.cli.papers import claims, published_rows, tables
from unseen.errors import UserError
from unseen.papers import TABLES


def test_rows_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    tables("cog-v2", where=["model=ResNet50", "shots=all"], as_json=True)
    rows = json.loads(capsys.readouterr().out)
    assert [row["mean"] for row in rows] == [75.8, 67.9, 63.1, 59.0, 58.1, 52.0]
    assert rows[0] == {"model": "ResNet50", "domain": "in1k", "shots": "all", "mean": 75.8, "deviation": 0.0}


def test_a_table_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    tables("shi-2023", where=["table=3", "testset=imagenet-r"])
    captured = capsys.readouterr()
    header, *lines = captured.out.splitlines()
    assert TABLES["shi-2023"].link in captured.err
    assert header.split() == list(TABLES["shi-2023"].columns)
    assert len(lines) == 8
    assert lines[0].split() == ["3", "yfcc", "all", "103", "imagenet-r", "single-id", "r2", "0.879"]


def test_missing_values_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    tables("cog-v1", where=["table=2", "model=s-BYOL", "domain=l5"], as_json=True)
    [row] = json.loads(capsys.readouterr().out)
    assert (row["components"], row["value"], row["table"]) == (None, 52.0, 2)


def test_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables("ericsson-2021", where=["dataset=pets"], table=tmp_path / "pets.csv")
    assert len(pd.read_csv(tmp_path / "pets.csv")) == 14 * 5  # linear, fine-tuned, 5, 20 and 50 shots
    assert capsys.readouterr().out == ""


def test_notes(capsys: pytest.CaptureFixture[str]) -> None:
    tables("cog-v2", notes=True, as_json=True)
    assert any("63.5 and 64.0" in row["note"] for row in json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("domain", "--where takes column=value"),
        ("level=l5", "with one of the columns model, domain, shots"),
        ("domains=l5", "did you mean domain"),
        ("domain=l9", "no such row; domain is one of in1k, l1, l2, l3, l4, l5"),
        ("model=ResNet-50", "did you mean ResNet50"),
        ("=", "--where takes column=value"),
    ],
)
def test_conditions_that_nothing_meets(where: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        tables("cog-v2", where=[where])


def test_the_list_of_papers_counts_every_number() -> None:
    columns, rows = published_rows()
    assert {row[0] for row in rows} == set(TABLES)
    counts = [int(row[columns.index("numbers")].replace(",", "")) for row in rows]
    assert sum(counts) == 1674 + 1008 + (728 + 515) + 288


def test_claims_one_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    claims(as_json=True)
    assert len(json.loads(capsys.readouterr().out)) == 60
    claims("v2-harder")
    assert "d-CLIP rises from L3 to L4" in capsys.readouterr().out
    with pytest.raises(UserError, match="no claim 'v2-hard'; unseen papers claims lists them; did you mean v2-harder"):
        claims("v2-hard")
