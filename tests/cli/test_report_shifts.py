"""`unseen report` on runs of shifts, alone and beside runs of other studies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from run_folders import write_concept_run
from shift_runs import made_up, write_shift_run

from unseen.report.of_runs import report
from unseen.runs.data import Backbone

Unseen = Callable[..., Any]
NAMES = [f"net-{number}" for number in range(6)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shift_run(tmp_path_factory.mktemp("runs") / "run", made_up(NAMES))


def test_a_run_of_shifts_has_accuracies_and_the_fits_that_its_test_sets_tell(
    unseen: Unseen, run: Path, tmp_path: Path
) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    answer = unseen("report", run, "--out", page, "--table", table)
    assert answer.code == 0
    lines = [line.split() for line in answer.out.splitlines() if line.startswith(("imagenet-r ", "imagenet-sketch "))]
    assert [line[:2] for line in lines] == [["imagenet-r", "6"], ["imagenet-sketch", "6"]]
    frame, accuracies = pd.read_csv(table), pd.read_csv(run / "accuracies.csv")
    assert frame[["model", "val", "imagenet-r"]].equals(accuracies[["model", "val", "imagenet-r"]])
    html = page.read_text()
    assert all(f"{100 * value:.2f}" in html for value in accuracies["imagenet-r"])
    assert "imagenet-r on val-on-imagenet-r-classes, imagenet-sketch on val" in html


def test_columns_can_be_chosen(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = unseen("report", run, "--id", "val,val-on-imagenet-r-classes", "--ood", "imagenet-r", "--out", page)
    assert answer.code == 0
    assert "Fits on val and val-on-imagenet-r-classes" in answer.out
    assert report(run, tmp_path / "python.html", id=["val", "val-on-imagenet-r-classes"], ood="imagenet-r").is_file()
    wrong = unseen("report", run, "--id", "vol", "--ood", "imagenet-r", "--out", page)
    assert (wrong.code, "no column 'vol' in these runs; did you mean val" in wrong.err) == (2, True)


def test_few_models_have_a_page_without_a_fit(unseen: Unseen, tmp_path: Path) -> None:
    few = write_shift_run(tmp_path / "few", made_up(NAMES[:2]))
    answer = unseen("report", few, "--out", tmp_path / "page.html")
    assert answer.code == 0
    assert (
        "2 models of the fit have accuracies on val-on-imagenet-r-classes, imagenet-r; 2 coefficients need 3"
        in answer.out
    )


def test_beside_a_run_of_concepts_they_are_an_axis(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    concepts = write_concept_run(tmp_path / "concepts", [Backbone(name, "yours") for name in NAMES], lambda *_: 0.5)
    answer = unseen("report", concepts, run, "--out", tmp_path / "axes.html")
    assert answer.code == 0
    assert "6 backbones across axes" in answer.out
    assert "Effective robustness" in (tmp_path / "axes.html").read_text()
    wrong = unseen("report", concepts, "--id", "val", "--out", tmp_path / "page.html")
    assert (wrong.code, "--id" in wrong.err) == (2, True)
