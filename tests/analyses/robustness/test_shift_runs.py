"""Runs of shifts together, and which of their columns are fitted on which."""

from pathlib import Path

import pandas as pd
import pytest
from shift_runs import COLUMNS, made_up, write_shift_run

from unseen.analyses.robustness.fit_scores import RHO, fit_scores
from unseen.analyses.robustness.of_runs import RunTable, fit_chosen, fit_runs, scores_of_runs, table_of_runs
from unseen.api.shifts import effective_robustness
from unseen.errors import UserError
from unseen.runs.record import read_results, read_run

NAMES = [f"net-{number}" for number in range(8)]


def opened(*folders: Path) -> RunTable:
    return table_of_runs([(folder.name, read_run(folder), read_results(folder)) for folder in folders])


def test_each_ood_column_is_fitted_on_the_id_column_of_its_classes(tmp_path: Path) -> None:
    runs = opened(write_shift_run(tmp_path / "run", made_up(NAMES), groups={"net-0": "a"}))
    found = fit_runs(runs)
    assert found.notices == []
    assert found.fitted_on == {"imagenet-r": ["val-on-imagenet-r-classes"], "imagenet-sketch": ["val"]}
    (study,) = found.studies
    assert study.table.id_sets == ("val",)
    assert [fit.ood for fit in study.fits] == ["imagenet-r", "imagenet-sketch"]
    table = pd.read_csv(tmp_path / "run/accuracies.csv")
    for fit, on in zip(study.fits, ("val-on-imagenet-r-classes", "val"), strict=True):
        (plain,) = effective_robustness(table, id=on, ood=fit.ood, sizes={on: 1000, fit.ood: 1000}).fits
        assert fit.fit.r2 == plain.fit.r2
        assert [score.rho for score in fit.scores] == [score.rho for score in plain.scores]
    assert [score.group for score in study.fits[0].scores][:2] == ["a", "none"]
    scores = fit_scores(found.studies)
    assert next(score.value for score in scores if score.metric == RHO) == study.fits[0].scores[0].rho
    chosen = fit_chosen(runs, ["val", "val-on-imagenet-r-classes"], ["imagenet-r"]).studies[0]
    assert chosen.table.id_sets == ("val", "val-on-imagenet-r-classes")
    with pytest.raises(UserError, match="no column 'imagenet-s' in these runs; did you mean"):
        fit_chosen(runs, ["val"], ["imagenet-s"])


def test_what_cannot_be_fitted_is_told(tmp_path: Path) -> None:
    few = made_up(["a", "b"])
    for of in few.values():
        del of["val-on-imagenet-r-classes"]
    runs = opened(write_shift_run(tmp_path / "run", few))
    found = fit_runs(runs)
    assert found.studies == []
    assert [sentence.partition(" ")[0] for sentence in found.notices] == ["imagenet-r", "imagenet-sketch"]
    scores, notices = scores_of_runs(runs)
    assert {(score.domain, score.metric) for score in scores} == {("imagenet-r", "top1"), ("imagenet-sketch", "top1")}
    assert len(notices) == 2


def test_several_runs_are_one_table(tmp_path: Path) -> None:
    accuracy = made_up(NAMES)
    one = write_shift_run(tmp_path / "one", {name: accuracy[name] for name in NAMES[:5]})
    two = write_shift_run(tmp_path / "two", {name: accuracy[name] for name in NAMES[4:]})
    assert list(opened(one, two).to_frame()["model"]) == NAMES
    other = COLUMNS | {"imagenet-r": ("imagenet-r", "others")}
    three = write_shift_run(tmp_path / "three", {"net-9": {"imagenet-r": 0.5}}, columns=other)
    with pytest.raises(UserError, match="one and three: 'imagenet-r' has different images or classes"):
        opened(one, three)
