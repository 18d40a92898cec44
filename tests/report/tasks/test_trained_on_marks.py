"""Scores on training data of a backbone, on the page of the task study."""

from dataclasses import replace
from pathlib import Path

import pytest
from axis_folders import write_task_run

from unseen.report.core.metric_words import TRAINED_ON
from unseen.report.tasks.page import task_page
from unseen.report.tasks.results import page_of_results
from unseen.report.tasks.score_table import task_table
from unseen.runs.record import read_results, read_run


@pytest.mark.parametrize("change", [{}, {"limit": 20}, {"images": {"train": 90, "val": 10, "test": 20}}])
def test_a_part_of_training_data_is_marked_and_not_best(tmp_path: Path, change: dict[str, object]) -> None:
    folder = write_task_run(tmp_path, ("one", "two"), lambda name, *_: 0.8 if name == "one" else 0.6)
    data = read_run(folder)
    data = replace(
        data,
        backbones=[replace(each, training_data=["CIFAR-10"] * (each.name == "one")) for each in data.backbones],
        scored=[replace(each, **change) if each.domain == "cifar10" else each for each in data.scored],  # type: ignore[arg-type]
    )
    page = page_of_results(data, read_results(folder))
    own = task_table(page)
    marked = own[own["trained_on"]]
    assert {*marked["backbone"]} == {"one"}
    assert {name.partition(" (")[0] for name in marked["domain"]} == {"cifar10"}
    assert {*marked["domain"]} == {*own[own["domain"].str.startswith("cifar10")]["domain"]}
    cells = [
        cell for section in task_page(page).sections for of in section.tables for row in of.rows for cell in row.cells
    ]
    assert any(TRAINED_ON in cell.text for cell in cells)
