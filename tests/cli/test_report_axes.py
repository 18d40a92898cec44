"""`unseen report` across axes, as a user types it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axis_folders import write_task_run
from run_folders import write_concept_run

from unseen.runs.data import Backbone

Unseen = Callable[..., Any]


def test_it_needs_no_data(unseen: Unseen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    answer = unseen("report", "--published", "--out", "axes.html")
    assert answer.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in answer.out.splitlines()[2:8]}
    # Table 5: 74.3% of SwAV on IN-1K is second to ResNet50's 75.8; its 63.4% is first on the levels.
    assert rows["s-SwAV"][:5] == ["2", "(74.3)", "1", "(63.4,", "−10.9"]
    assert "No data on shifts" in answer.out
    assert "With 6 backbones, intervals are wide" in answer.out
    assert answer.out.endswith("Report: axes.html\n")
    assert (tmp_path / "axes.html").stat().st_size > 1_000_000


@pytest.mark.parametrize("width", [60, 100, 200, 300])
def test_a_narrow_terminal_has_a_row_for_each_backbone(
    unseen: Unseen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = unseen("report", "--published", "--out", tmp_path / "axes.html").out
    assert sum(line.startswith(("s-", "ResNet50 ")) for line in out.split("\n\n")[0].splitlines()) == 6
    assert ("1 Seen concepts, 2 Unseen concepts" in out) == (width < 160)
    assert ("(74.3)" in out) == (width == 300)


def test_own_runs(unseen: Unseen, tmp_path: Path) -> None:
    names = ("good", "bad")
    concepts = write_concept_run(
        tmp_path / "c", [Backbone(name, "yours") for name in names], lambda b, d, s: 0.7 if b == "good" else 0.6
    )
    tasks = write_task_run(tmp_path / "t", names, lambda b, d, s: 0.7 if b == "bad" else 0.6)
    answer = unseen("report", concepts, tasks, "--out", tmp_path / "axes.html")
    assert answer.code == 0
    assert "No correlations between axes: they need 4 backbones" in answer.out
    assert "good. Strongest on Unseen concepts" in answer.out
    assert "bad. Strongest on Few-shot Kornblith" in answer.out


def test_one_backbone_is_one(unseen: Unseen, tmp_path: Path) -> None:
    run = write_concept_run(tmp_path, [Backbone("mine", "yours")], lambda *_: 0.6)
    assert "1 backbone across axes" in unseen("report", "--axes", run, "--out", tmp_path / "axes.html").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no runs to report on"),
        (["--axes"], "no runs to report on"),
        (["nowhere"], "nowhere: no run.json in it, so it is not the folder of a run"),
        (["--shifts", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--published", "--out", "axes.pdf"], "axes.pdf: --out must end in .html"),
        (["--published", "--table", "t.csv"], "write them with --export, not --table"),
        (["nowhere", "--compare", "a", "b", "--published"], "leave out --published"),
    ],
)
def test_mistakes_are_one_sentence(
    unseen: Unseen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = unseen("report", *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
