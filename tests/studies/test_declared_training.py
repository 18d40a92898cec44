"""A backbone whose training data are declared, from the study to the page and the leaderboard."""

from pathlib import Path

from hub_trees import write_pets

import unseen
from unseen.report.tasks.results import page_of_run
from unseen.report.tasks.score_table import task_table
from unseen.runs.record import read_record


def test_scores_on_training_data_are_marked_and_not_ranked(tmp_path: Path) -> None:
    for number, split in enumerate(("train", "test")):
        write_pets(tmp_path / f"mypets/data/{split}-0.parquet", [0, 1] * 6, 100 * number)
    keys = {"one": {"id": "demo:supervised", "trained-on": ["imagenet-1k", "MyPets"]}, "two": {"id": "demo:simclr"}}
    study = unseen.study("ericsson-2021", datasets=[tmp_path / "mypets"], probes=["linear"], seeds=1, backbone=keys)
    run = unseen.run(study.replace(backbones=["one", "two"]), out=tmp_path / "run", workers=0, progress=False)
    record, _ = read_record(tmp_path / "run")
    assert [list(each.training_data or ()) for each in record.backbones] == [["imagenet-1k", "MyPets"], ["unknown"]]
    told = [dict(each.arguments) for each in record.told if each.code == "trained-on"]
    assert told == [{"backbone": "one", "title": "mypets"}]
    run.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("†") >= 2  # the score and what the mark means
    table = task_table(page_of_run(tmp_path / "run"))
    assert {*table.loc[table["backbone"] == "one", "trained_on"]} == {True}
    assert {*table.loc[table["backbone"] == "two", "trained_on"]} == {False}
    board = unseen.leaderboard(run).to_frame().set_index("backbone")
    assert (board.loc["one", "trained_on"], board.loc["two", "trained_on"]) == ("mypets", "")
    assert board.loc["one", ["rank", "value"]].isna().all()
    assert run.study.backbone["one"]["trained_on"] == ("imagenet-1k", "MyPets")
