"""Contributed models among those of Ericsson et al. 2021."""

from dataclasses import replace
from typing import Any

import pytest

from unseen.analyses.leaderboard import leaderboard_with_runs
from unseen.data.registry import DATASETS
from unseen.errors import UserError
from unseen.exchange.contributions import Contribution
from unseen.exchange.export import run_records
from unseen.papers.comparability import ScoredData
from unseen.probes.many_shot import ERICSSON_2021
from unseen.report.leaderboard.transfer import has_transfer, transfer_section
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.score import Score
from unseen.runs.setup import ProtocolUsed


def contribution(name: str, values: dict[str, float], **changes: Any) -> Contribution:
    """A model with linear probes on whole data sets."""
    scored = [
        ScoredData(name, each, "ericsson-2021", DATASETS[each].classes, DATASETS[each].counts, "given")
        for each in values
    ]
    scored = [replace(each, **changes) for each in scored]
    scores = [
        Score("tasks", "ericsson-2021", name, each, "linear", None, 0, DATASETS[each].metric, value)
        for each, value in values.items()
    ]
    domains = [Domain(each, DATASETS[each].title, axis="tasks") for each in values]
    used = [ProtocolUsed.of("linear", ERICSSON_2021)]
    data = RunData("", scores, domains, [Backbone(name, "")], name, scored=scored, protocols=used)
    return Contribution(name, ("x.json",), tuple(run_records(data)))


def test_own_models_come_first_by_the_mean_over_shared_data_sets() -> None:
    best, partly = contribution("best", {"dtd": 0.99, "pets": 0.97}), contribution("partly", {"dtd": 0.5})
    section = transfer_section([best, partly], {"best": "models/best.html", "partly": "p"})
    assert section is not None
    [table] = section.tables
    assert [column.names for column in table.columns] == [("model",), ("source",), ("dtd",), ("pets",), ("mean",)]
    assert len(table.rows) == 16
    first, last = table.rows[:2]
    assert [cell.text for cell in first.cells] == ["best", "contributed", "99.0", "97.0", "98.0"]
    assert first.cells[0].link == "models/best.html"
    assert [cell.text for cell in last.cells] == ["partly", "contributed", "50.0", "–", "–"]
    assert sum(row.cells[1].text == "paper" for row in table.rows) == 14
    [supervised] = [row for row in table.rows if row.cells[0].text == "Supervised"]
    # Table 1 of the paper: 72.23 and 91.45, whose mean is 81.84.
    assert [cell.text for cell in supervised.cells[2:]] == ["72.2", "91.5", "81.8"]


def test_models_of_other_tasks_may_be_on_a_site_without_a_rank() -> None:
    models = [contribution("mine", {"dtd": 0.7})]
    assert has_transfer(models)
    board = leaderboard_with_runs([], models, elsewhere=True)
    assert not any(entry.yours for entry in board.entries)
    with pytest.raises(UserError, match="mine .*no results on the concepts of ImageNet-CoG"):
        leaderboard_with_runs([], models)


def test_other_data_are_not_set_beside_them_and_that_is_said() -> None:
    part = contribution("part", {"dtd": 0.99}, limit=5)
    assert transfer_section([part], {"part": "p"}) is None
    assert not has_transfer([part])
    section = transfer_section([part, contribution("whole", {"dtd": 0.5})], {"part": "p", "whole": "w"})
    assert section is not None
    assert "part" not in [row.cells[0].text for row in section.tables[0].rows]
    assert "Not comparable: part, dtd: a part of its images." in section.note
