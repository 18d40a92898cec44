"""The shift study in its folder: what is planned, resumed, added and refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from part_shares import planned_and_prepared
from shift_places import SETTINGS, StopAt, StoppedError, Telling, evaluate, make_sets, opened, seeded, table
from shift_runs import write_shift_run

from unseen.errors import UserError
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import own_jobs
from unseen.runs.record import read_record, read_run
from unseen.studies.shifts.plans import ModelPlan
from unseen.studies.shifts.predictions import read_predictions
from unseen.studies.shifts.request import ShiftRequest
from unseen.studies.study import Silent, plan_study, run_study


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[ModelPlan]:
    return seeded(tmp_path_factory.mktemp("models"), 1, 2)


def written(folder: Path) -> dict[str, int]:
    """When each file was written last."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != ".lock"]
    return {str(file.relative_to(folder)): file.stat().st_mtime_ns for file in files}


def test_a_part_is_planned_as_it_is_done(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    request = ShiftRequest(models, opened(root, "val", "imagenet-r"), SETTINGS)
    planned, done = planned_and_prepared(request, tmp_path, 2)
    assert planned == done == [2, 2]
    found, plan = request.prepare(tmp_path, ALONE, Silent()), plan_study(request, tmp_path)
    seconds = [found.seconds(own_jobs(found.jobs, (n, 2), shared=found.shared), tmp_path, ALONE) for n in (1, 2)]
    assert sum(seconds) == pytest.approx(plan.extraction + plan.probing)  # not all of it in each part
    assert min(seconds) > 0


def test_devices_find_what_one_process_finds(
    root: Path, tmp_path: Path, models: list[ModelPlan], two_devices: Means
) -> None:
    asked = ShiftRequest(models, opened(root, "val"), SETTINGS)
    one = run_study(asked, tmp_path / "one")
    two = run_study(asked, tmp_path / "two", means=two_devices)
    assert {(score.key, score.value) for score in one.scores} == {(score.key, score.value) for score in two.scores}
    assert table(tmp_path / "one") == table(tmp_path / "two")


def test_a_study_that_was_stopped_continues(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    sets = opened(root, "val", "imagenet-r")
    with pytest.raises(StoppedError):
        evaluate(models, sets, tmp_path, watch=StopAt("net-1", "imagenet-r"))
    data = read_run(tmp_path)
    assert [(score.backbone, score.domain, score.probe) for score in data.scores] == [("net-1", "val", "classifier")]
    assert "3 of 4 jobs have no result" in data.notice
    assert [row["val"] != "" for row in table(tmp_path)] == [True]
    plan = plan_study(ShiftRequest(models, sets, SETTINGS), tmp_path)
    assert (plan.jobs, plan.jobs_left) == (4, 3)
    assert [part["to compute"] for part in plan.parts] == [0, 15, 24, 15]
    assert plan.disk > (15 + 24 + 15) * 1000 * 2
    before, watch = written(tmp_path / "results"), Telling()
    evaluate(models, sets, tmp_path, watch=watch)
    assert watch.extracted == [("net-1", "imagenet-r"), ("net-2", "val"), ("net-2", "imagenet-r")]
    after = written(tmp_path / "results")
    assert len(after) == 4
    assert {name: after[name] for name in before} == before
    # Once more, it does nothing.
    before, watch = written(tmp_path), Telling()
    evaluate(models, sets, tmp_path, watch=watch)
    assert watch.extracted == []
    assert {**written(tmp_path), "run.json": 0} == {**before, "run.json": 0}
    # Tables that a kill left behind the results are made from these.
    (tmp_path / "accuracies.csv").unlink()
    (tmp_path / "columns.csv").unlink()
    evaluate(models[:1], sets[:1], tmp_path, watch=watch)
    assert [(row["model"], row["val"] != "", row["imagenet-r"] != "") for row in table(tmp_path)] == [
        ("net-1", True, True), ("net-2", True, True),
    ]  # fmt: skip
    assert watch.extracted == []


def test_rows_of_a_folder_without_a_record_are_kept(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    """As version 0.1 left it: tables, predictions and logits."""
    evaluate([replace(models[0], group="old")], opened(root, "val"), tmp_path)
    (before,) = table(tmp_path)
    (tmp_path / "run.json").unlink()
    shutil.rmtree(tmp_path / "results")
    evaluate([models[1]], opened(root, "val"), tmp_path)
    assert table(tmp_path)[0] == before
    assert [backbone.name for backbone in read_run(tmp_path).backbones] == ["net-2"]
    evaluate([models[0]], opened(root, "imagenet-r"), tmp_path)
    first, second = table(tmp_path)
    assert {name: first[name] for name in before} == before
    assert (first["imagenet-r"] != "", second["imagenet-r"]) == (True, "")
    assert set(read_predictions(tmp_path / "predictions/val.npz")) == {"labels", "net-1", "net-2"}


def test_another_classifier_takes_the_place_of_all_jobs_of_its_name(
    root: Path, tmp_path: Path, models: list[ModelPlan]
) -> None:
    evaluate(models[:1], opened(root, "val", "imagenet-r"), tmp_path)
    evaluate([replace(models[1], model="net-1")], opened(root, "val"), tmp_path)
    data, keys = read_record(tmp_path)
    assert [(each.backbone, each.domain) for each in data.features] == [("net-1", "val")]
    assert keys == [each.keys["test"] for each in data.features]


def test_damaged_images_are_a_flaw_of_the_run(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    shutil.copytree(root / "imagenet-r", tmp_path / "sets/imagenet-r")
    bad = next((tmp_path / "sets/imagenet-r").rglob("*.jpg"))
    bad.write_bytes(b"\xff\xd8 not all of a JPEG")
    sets, out = opened(tmp_path / "sets", "imagenet-r"), tmp_path / "out"
    evaluate(models[:1], sets, out, replace(SETTINGS, on_error="report"))
    (flaw,) = read_run(out).flaws
    assert (flaw.domain, flaw.count, flaw.total) == ("imagenet-r", 1, 15)
    with pytest.raises(UserError, match=bad.name):  # what must not be left out was
        evaluate(models[:1], sets, out)


def test_bad_requests_are_refused_before_any_model_is_loaded(
    root: Path, tmp_path: Path, models: list[ModelPlan]
) -> None:
    sets = opened(root, "val")
    with pytest.raises(UserError, match="'net-1' is given twice"):
        evaluate([models[0], models[0]], sets, tmp_path / "out")
    run = write_shift_run(tmp_path / "run", {"net-1": {"imagenet-sketch": 0.5}})
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"study": "shifts"', '"study": "tasks"'))
    with pytest.raises(UserError, match="a run of unseen tasks; choose another folder"):
        evaluate(models[:1], sets, run)
    (run / "run.json").write_text(text)
    with pytest.raises(UserError, match="differs in the number of the images of val"):
        evaluate(models[:1], sets, run)
    assert not (tmp_path / "out").exists()
