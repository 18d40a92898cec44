"""`unseen report` on runs of the task study, alone, several together, and beside runs of other studies."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from axis_folders import finetune_job, search_kept, write_task_run
from run_folders import write_concept_run

from unseen.probes.finetuning.grid import finetune_grid
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.record import extend_run, read_run, write_run

Unseen = Callable[..., Any]
SCORES = {
    "linear": 0.8123, "5-shot": 0.7234, "ece": 0.0612, "scaled-ece": 0.0213, "finetuned": 0.9345,
    "finetuned-ece": 0.0456, "finetuned-scaled-ece": 0.0124,
}  # fmt: skip
CAPTIONS = ("Linear probe", "Fine-tuned, each", "5-way 5-shot", "Expected calibration", "after temperature scaling")


def score(backbone: str, dataset: str, setting: str) -> float:
    return SCORES[setting] + (0.01 if backbone == "b" else 0) - (0.002 if dataset == "dtd" else 0)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Runs of `a` on two data sets, and of `a` and `b` on one."""
    folder, grid = tmp_path_factory.mktemp("runs"), finetune_grid()
    first = write_task_run(folder / "one", ("a",), score, grid=grid, top1={"a": 0.7})
    return first, write_task_run(folder / "two", ("a", "b"), score, datasets=("cifar10",), grid=grid, top1={"b": 0.6})


def test_one_task_run_prints_every_score_and_its_interval(
    unseen: Unseen, two: tuple[Path, Path], tmp_path: Path
) -> None:
    answer = unseen("report", two[0], "--out", tmp_path / "page.html", "--table", tmp_path / "table.csv")
    assert answer.code == 0
    assert all(caption in answer.out for caption in CAPTIONS)
    printed = ("81.23", "72.34 ± 1.00", "6.12", "2.13", "93.45", "4.56", "1.24", "72.14 ± 1.00")
    assert all(number in answer.out for number in printed)
    assert "± 0.0" not in answer.out
    table = pd.read_csv(tmp_path / "table.csv").set_index(["domain", "setting"])
    episodes = table.loc["cifar10", "5-shot"]
    assert (episodes["episode_low"], episodes["episode_high"]) == pytest.approx((0.7134, 0.7334))
    ends = ["episode_low", "episode_high"]
    assert table.drop(("cifar10", "5-shot")).drop(("dtd", "5-shot"))[ends].isna().all(axis=None)
    assert set(table["seeds"]) == {1}
    assert table[["deviation", "low", "high"]].isna().all(axis=None)
    assert {setting for _, setting in table.index} == {*SCORES, "imagenet"}


def test_several_task_runs_make_one_task_page(unseen: Unseen, two: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = unseen("report", *two, "--out", page, "--table", tmp_path / "table.csv")
    assert answer.code == 0
    assert re.findall(r'<section id="([^"]+)"', page.read_text())[:3] == ["many-shot", "fine-tuning", "few-shot"]
    table = pd.read_csv(tmp_path / "table.csv")
    cells = {(r.backbone, r.domain): r.mean for r in table[table["setting"] == "linear"].itertuples()}
    expected = {("a", "cifar10"): 0.8123, ("a", "dtd"): 0.8103, ("b", "cifar10"): 0.8223}
    assert cells == pytest.approx(expected)
    on_imagenet = table[table["setting"] == "imagenet"].set_index("backbone")["mean"]
    assert on_imagenet.to_dict() == {"a": 0.7, "b": 0.6}


def test_backbones_that_differ_have_the_names_of_their_runs(unseen: Unseen, tmp_path: Path) -> None:
    runs = [write_task_run(tmp_path / name, ("a",), lambda *_, v=v: v) for name, v in (("one", 0.5), ("two", 0.6))]
    assert unseen("report", *runs, "--out", tmp_path / "page.html", "--table", tmp_path / "table.csv").code == 0
    table = pd.read_csv(tmp_path / "table.csv")
    linear = table[(table["setting"] == "linear") & (table["domain"] == "dtd")].set_index("backbone")["mean"]
    assert linear.to_dict() == {"a": 0.5, "a (two)": 0.6}


def test_runs_of_several_studies_make_the_page_across_axes(
    unseen: Unseen, two: tuple[Path, Path], tmp_path: Path
) -> None:
    concepts = write_concept_run(tmp_path / "concepts", [Backbone("a", "yours")], lambda *_: 0.6)
    answer = unseen("report", concepts, two[0], "--out", tmp_path / "page.html")
    assert answer.code == 0, answer.err
    assert "1 backbone across axes" in answer.out
    assert (tmp_path / "page.html").is_file()
    refused = unseen("report", concepts, two[0], "--table", tmp_path / "t.csv")
    assert (refused.code, "--table" in refused.err) == (2, True)


def test_fine_tuning_alone_is_reported_too(unseen: Unseen, tmp_path: Path) -> None:
    job = finetune_job("a", "dtd", finetune_grid())
    data = RunData("tuned", (), [Domain("dtd", "DTD", axis="tasks")], [Backbone("a", "yours")], "a")
    write_run(tmp_path, data, [job.key])
    values = search_kept(job, [("top1", 0.5512), ("ece", 0.0333), ("scaled-ece", 0.0111)])
    list(run_here([job], tmp_path / "results", lambda _: values))
    answer = unseen("report", tmp_path, "--out", tmp_path / "page.html")
    assert answer.code == 0
    assert all(number in answer.out for number in ("55.12", "3.33", "1.11"))
    assert all(number in (tmp_path / "page.html").read_text() for number in ("55.12", "3.33", "1.11"))


def test_a_run_is_extended_by_data_sets_of_another_axis(tmp_path: Path) -> None:
    run = write_concept_run(tmp_path, [Backbone("a", "yours")], lambda *_: 0.6)
    concepts = read_run(run)
    data = RunData("tasks", (), [Domain("dtd", "DTD", axis="tasks")], [Backbone("a", "yours")], "a")
    extend_run(run, data, [finetune_job("a", "dtd", finetune_grid())])
    both = read_run(run)
    assert both.axes == ["concepts", "tasks"]
    assert both.on_axes("concepts").scores == concepts.scores


def test_accuracy_on_imagenet_stays_when_more_is_added(tmp_path: Path) -> None:
    run = write_task_run(tmp_path, ("a",), score, top1={"a": 0.7})
    data = read_run(run)
    extend_run(run, RunData("tasks", (), data.domains, [Backbone("a", "yours")], "a"), [])
    assert read_run(run).backbones[0].imagenet_top1 == 0.7
