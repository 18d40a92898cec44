"""Runs of suites with made-up results: their pages and leaderboards, and which of their data sets are whole."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from run_folders import write_concept_run

from unseen.analyses.core.study_leaderboard import StudyLeaderboard
from unseen.analyses.core.suites import partial_datasets, suite_scores
from unseen.analyses.leaderboard import any_leaderboard
from unseen.data.registry import DATASETS
from unseen.papers.comparability import ScoredData
from unseen.papers.suites import SUITES
from unseen.report.of_runs import report_on, write_run_pages
from unseen.runs.data import Backbone
from unseen.runs.record import read_record, read_run, write_run

LEVELS = ("l1", "l2", "l3", "l4", "l5")
UNIC = SUITES["unic-15"]


def whole(backbone: str, dataset: str) -> ScoredData:
    known = DATASETS[dataset]
    return ScoredData(backbone, dataset, "cog-v2", known.classes, known.counts, "given")


def unic_run(folder: Path, datasets: Sequence[str], *, published: str = "cog-v2", backbone: str = "mine") -> Path:
    """A run of unic-15 on some of its data sets, of which all images are there."""
    write_concept_run(
        folder, [Backbone(backbone, "yours")], lambda _, domain, seed: 0.5 + 0.02 * UNIC.datasets.index(domain),
        domains=datasets, seeds=1, published=published,
    )  # fmt: skip
    data, keys = read_record(folder)
    domains = [each if each.name in LEVELS else replace(each, axis="tasks") for each in data.domains]
    scored = [*data.scored, *(whole(backbone, name) for name in datasets if name not in LEVELS)]
    write_run(folder, replace(data, domains=domains, scored=scored), keys)
    (folder / "study.toml").write_text('based-on = "unic-15"\n')
    return folder


@pytest.mark.parametrize("published", ["cog-v2", ""])
def test_levels_and_data_sets_without_seen_concepts_have_a_page(tmp_path: Path, published: str) -> None:
    folders = [unic_run(tmp_path / name, UNIC.datasets, published=published, backbone=name) for name in ("a", "b")]
    for given in (folders[:1], folders):
        found = report_on(given)
        assert found.page.sections[0].name == "suite-unic-15"
        [table] = found.page.sections[0].tables
        assert [row.backbone for row in table.rows] == ["a", "b"][: len(given)]
        assert all(cell.values for row in table.rows for cell in row.cells[2:])
        board = any_leaderboard(given)
        assert isinstance(board, StudyLeaderboard)
        assert len(board.rankings) == 2
    assert len(write_run_pages(folders[0])) == 2


def test_only_the_published_levels_are_those_of_the_suite(tmp_path: Path) -> None:
    data = read_run(unic_run(tmp_path / "run", UNIC.datasets))
    assert partial_datasets(UNIC, data) == []
    assert suite_scores(UNIC, data)[0].mean("mine") == pytest.approx(0.5 + 0.02 * 7)
    others = {
        "concepts": replace(data, published=""),
        "first version": replace(data, published="cog-v1"),
        "images": replace(data, scored=[replace(each, images={"train": 40, "test": 20}) for each in data.scored]),
        "classes": replace(data, scored=[replace(each, classes=100) for each in data.scored]),
        "part": replace(data, scored=[replace(each, limit=20) for each in data.scored]),
        "variant": replace(data, scored=[replace(each, variant="balanced") for each in data.scored]),
        "unknown": replace(data, scored=[]),
        "merged": replace(data, published="", parts=[("a", data), ("b", replace(data, published=""))]),
    }
    for name, other in others.items():
        assert {*LEVELS} <= {*partial_datasets(UNIC, other)}, name
        assert suite_scores(UNIC, other)[0].mean("mine") is None, name
    tasks_beside = replace(data, published="", parts=[("a", data), ("b", data.on_axes("tasks"))])
    assert partial_datasets(UNIC, tasks_beside) == []
