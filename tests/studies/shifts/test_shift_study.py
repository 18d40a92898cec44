"""The study of shifts in its folder: what is planned, resumed, added, refused and run again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from shift_places import (
    HERE,
    StopAt,
    StoppedError,
    Telling,
    evaluate,
    make_sets,
    opened,
    seeded,
    shift_study,
    table,
)  # fmt: skip
from shift_runs import write_shift_run

from studies import given_of, plan_of, run_of, study_of
from unseen.errors import UserError
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import own_jobs
from unseen.runs.record import read_record, read_run
from unseen.runs.results import RESULTS
from unseen.studies.inputs.outputs import OutputStage
from unseen.studies.shifts.evaluate import OUTPUTS
from unseen.studies.shifts.plans import ModelPlan
from unseen.studies.shifts.predictions import read_predictions
from unseen.studies.stages import open_study
from unseen.studies.toml import find_study
from unseen.studies.watch import Silent


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
    study, given = given_of(shift_study(models), datasets=opened(root, "val", "imagenet-r"))
    [stage] = open_study(study, given, HERE, Silent()).stages
    assert isinstance(stage, OutputStage)
    plan, cells = stage.plan(tmp_path, ALONE), stage.prepare(tmp_path, ALONE, Silent()).cells
    parts = [(number, 2) for number in (1, 2)]
    own = [own_jobs(cells.jobs, part, cells.cost, cells.shared) for part in parts]
    assert [plan.share(part).jobs for part in parts] == [plan.share(part).jobs_left for part in parts] == [2, 2]
    assert [{job.backbone for job in jobs} for jobs in own] == [{"net-1"}, {"net-2"}]  # a model is loaded in one part
    seconds = [cells.seconds(jobs) for jobs in own]
    assert sum(seconds) == pytest.approx(plan.extraction + plan.probing)  # not all of it in each part
    assert min(seconds) > 0


def test_two_parts_are_the_whole(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    """Each part computes the outputs of its own models."""
    study, sets = shift_study(models), opened(root, "val", "imagenet-r")
    whole = run_of(study, tmp_path / "whole", datasets=sets, means=HERE)
    for part, logits in (((1, 2), 2), ((2, 2), 4)):
        run_of(study, tmp_path / "parts", datasets=sets, means=HERE, part=part)
        assert len(list((tmp_path / "parts/logits").iterdir())) == logits
    both = read_run(tmp_path / "parts")
    assert {(score.key, score.value) for score in both.scores} == {(score.key, score.value) for score in whole.scores}
    assert table(tmp_path / "parts") == table(tmp_path / "whole")


def test_devices_find_what_one_process_finds(
    root: Path, tmp_path: Path, models: list[ModelPlan], two_devices: Means
) -> None:
    study, sets = shift_study(models), opened(root, "val")
    one = run_of(study, tmp_path / "one", datasets=sets, means=HERE)
    two = run_of(study, tmp_path / "two", datasets=sets, means=two_devices)
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
    plan = plan_of(shift_study(models), tmp_path, datasets=sets)
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
    with pytest.raises(UserError, match="replace"):
        evaluate([replace(models[1], model="net-1")], opened(root, "val"), tmp_path)
    evaluate([replace(models[1], model="net-1")], opened(root, "val"), tmp_path, replacing=True)
    data, keys = read_record(tmp_path)
    assert [(each.backbone, each.domain) for each in data.features] == [("net-1", "val")]
    assert keys == [each.keys[OUTPUTS] for each in data.features]


def test_damaged_images_are_a_flaw_of_the_run(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    shutil.copytree(root / "imagenet-r", tmp_path / "sets/imagenet-r")
    bad = next((tmp_path / "sets/imagenet-r").rglob("*.jpg"))
    bad.write_bytes(b"\xff\xd8 not all of a JPEG")
    sets, out = opened(tmp_path / "sets", "imagenet-r"), tmp_path / "out"
    evaluate(models[:1], sets, out, on_error="skip")
    (flaw,) = read_run(out).flaws
    assert (flaw.domain, flaw.count, flaw.total) == ("imagenet-r", 1, 15)
    with pytest.raises(UserError, match=bad.name):  # what must not be left out was
        evaluate(models[:1], sets, out, replacing=True)


def test_bad_requests_are_refused_before_any_model_is_loaded(
    root: Path, tmp_path: Path, models: list[ModelPlan]
) -> None:
    sets = opened(root, "val")
    with pytest.raises(UserError, match="2 backbones are called net-1"):
        evaluate([models[0], models[0]], sets, tmp_path / "out")
    run = write_shift_run(tmp_path / "run", {"net-1": {"imagenet-sketch": 0.5}})
    with pytest.raises(UserError, match="differs in the number of the images of val"):
        evaluate(models[:1], sets, run)
    assert not (tmp_path / "out").exists()


def test_the_study_of_a_run_asks_for_the_same_jobs(
    root: Path, tmp_path: Path, models: list[ModelPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of a table with classes of their own, all test sets, a mapping and a list of classes in files."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(models[0].checkpoint or "", folder / "net.pth")
    (folder / "models.csv").write_text("model,backbone,group,checkpoint\nnet,timm:test_vit,untrained,net.pth\n")
    (folder / "pets.csv").write_text("wnid,class\nn02123045,cat\nn02123159,cat\nn02085620,dog\nn02085782,dog\n")
    (folder / "pets.txt").write_text("n02123045\nn02085620\n")
    sets = tmp_path / "sets"
    shutil.copytree(root / "imagenet-r", sets / "imagenet-r")
    monkeypatch.chdir(folder)
    study = study_of("shifts", backbones=["models.csv"], mapping="pets.csv", complete=False,
                     classes=["own", "pets.txt"])  # fmt: skip
    first = run_of(study, tmp_path / "first", data=sets, means=HERE)
    assert {domain.name for domain in first.domains} == {
        "imagenet-r", "imagenet-r-on-mapped-classes", "imagenet-r-on-mapped-pets-classes",
    }  # fmt: skip
    (folder / "pets.txt").unlink()
    (folder / "pets.csv").unlink()
    monkeypatch.chdir(tmp_path)
    again = run_of(find_study(str(tmp_path / "first/study.toml")), tmp_path / "second", data=sets, means=HERE)
    assert {(score.key, score.value) for score in again.scores} == {(score.key, score.value) for score in first.scores}
    keys = [sorted(path.name for path in (tmp_path / name / RESULTS).iterdir()) for name in ("first", "second")]
    assert keys[0] == keys[1]
    assert [each.category for each in again.backbones] == ["untrained"]


def test_a_limit_is_a_part_of_what_is_scored(root: Path, tmp_path: Path, models: list[ModelPlan]) -> None:
    """Two of the images of each class of the validation set; without the limit, its images would be others."""
    sets = opened(root, "val")
    (row,) = evaluate(models[:1], sets, tmp_path, limit=2)
    assert row.images == {"val": 12}
    assert read_run(tmp_path).domains[0].limit == 2
    with pytest.raises(UserError, match="differs in the number of the images of val"):
        evaluate(models[:1], sets, tmp_path)
