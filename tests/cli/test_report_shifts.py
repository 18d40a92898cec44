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
    wide = frame.pivot_table(index="backbone", columns="domain", values="mean", sort=False)
    assert wide[["val", "imagenet-r"]].equals(accuracies.set_index("model")[["val", "imagenet-r"]])
    assert ({*frame["probe"]}, {*frame["metric"]}) == ({"classifier"}, {"top1"})
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
    assert "needs at least 3 models with accuracies on val-on-imagenet-r-classes, imagenet-r, and there are 2" in (
        answer.out
    )


PLAIN = {"photos": ("photos", "all"), "web": ("web", "all"), "sketches": ("sketches", "all")}
"""Test sets of plain folders, none of which is marked as in-distribution."""


def plain_run(folder: Path, models: int) -> Path:
    accuracy = made_up(NAMES[:models])
    columns = dict(zip(PLAIN, ("val", "imagenet-sketch", "imagenet-r"), strict=True))
    found = {name: {plain: of[column] for plain, column in columns.items()} for name, of in accuracy.items()}
    return write_shift_run(folder, found, columns=PLAIN)


def test_plain_folders_are_told_how_to_name_the_id_test_set(unseen: Unseen, tmp_path: Path) -> None:
    run = plain_run(tmp_path / "run", 6)
    answer = unseen("report", run, "--out", tmp_path / "page.html")
    assert answer.code == 0
    assert "--id" in answer.out
    assert "shifted = false" in answer.out
    assert "--classes" not in answer.out
    fitted = unseen("report", run, "--id", "photos", "--out", tmp_path / "page.html")
    assert fitted.code == 0
    lines = [line.split()[:2] for line in fitted.out.splitlines() if line.startswith(("web ", "sketches "))]
    assert lines == [["web", "6"], ["sketches", "6"]]


def test_a_chosen_fit_of_too_few_models_is_a_page_of_accuracies(unseen: Unseen, tmp_path: Path) -> None:
    run = plain_run(tmp_path / "run", 2)
    answer = unseen("report", run, "--id", "photos", "--ood", "web", "--out", tmp_path / "page.html")
    assert answer.code == 0
    html = (tmp_path / "page.html").read_text()
    assert "needs at least 3 models" in html
    assert all(f"{100 * value:.2f}" in html for value in pd.read_csv(run / "accuracies.csv")["web"])


def test_an_accuracy_is_bold_only_if_an_interval_supports_it(unseen: Unseen, tmp_path: Path) -> None:
    columns = {"close": ("close", "all"), "apart": ("apart", "all")}
    accuracy = {"a": {"close": 0.755, "apart": 0.9}, "b": {"close": 0.754, "apart": 0.7}}
    run = write_shift_run(tmp_path / "run", accuracy, columns=columns)
    answer = unseen("report", run, "--out", tmp_path / "page.html", "--export", tmp_path / "files")
    assert answer.code == 0
    assert (tmp_path / "files" / "accuracies.tex").read_text().count("textbf") == 1
    assert [line for line in answer.out.splitlines() if "highest" in line] == [
        "apart: a has the highest accuracy, 90.00%, beyond chance; the lowest is 70.00%."
    ]


def test_beside_a_run_of_concepts_they_are_an_axis(unseen: Unseen, run: Path, tmp_path: Path) -> None:
    concepts = write_concept_run(tmp_path / "concepts", [Backbone(name, "yours") for name in NAMES], lambda *_: 0.5)
    answer = unseen("report", concepts, run, "--out", tmp_path / "axes.html")
    assert answer.code == 0
    assert "6 backbones across axes" in answer.out
    assert "Effective robustness" in (tmp_path / "axes.html").read_text()
    wrong = unseen("report", concepts, "--id", "val", "--out", tmp_path / "page.html")
    assert (wrong.code, "--id" in wrong.err) == (2, True)
