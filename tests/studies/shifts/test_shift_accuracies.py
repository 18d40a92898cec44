"""The tables, predictions and sentences that studies of shifts in one folder leave there."""

import csv
import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shift_places import (
    CATS,
    PLAN,
    StopAt,
    StoppedError,
    Telling,
    evaluate,
    make_sets,
    opened,
    seeded,
    shift_study,
    table,
)

from studies import plan_of
from unseen.errors import JobsError, UserError
from unseen.files import write_table
from unseen.runs.record import read_run
from unseen.studies.shifts.accuracies import ABOUT
from unseen.studies.shifts.plans import ModelPlan
from unseen.studies.shifts.predictions import read_predictions, write_predictions


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sets(tmp_path_factory.mktemp("sets"))


def test_two_calls_fill_one_table(root: Path, tmp_path: Path) -> None:
    """The second call adds a model and a test set, and replaces one of the first's models."""
    one, two, three = seeded(tmp_path, 1, 2, 3)
    sets, out = opened(root, "val", "imagenet-r"), tmp_path / "out"
    first = evaluate([one, two], sets[:1], out)
    watch = Telling()
    second = evaluate([three, replace(two, group="again")], sets, out, classes=["own", "imagenet-r"], watch=watch)
    rows = table(out)
    assert [(row["model"], row["group"]) for row in rows] == [("net-1", ""), ("net-2", "again"), ("net-3", "")]
    for row, scored in zip(rows, (first[0], second[1], second[0]), strict=True):
        found = {name: float(cell) for name, cell in row.items() if name not in ABOUT and cell}
        assert found == pytest.approx(scored.accuracy, abs=1e-6)
    assert list(rows[0]) == [*ABOUT, "val", "imagenet-r", "val-on-imagenet-r-classes"]
    assert (rows[0]["imagenet-r"], rows[2]["val"] != "") == ("", True)
    facts = list(csv.DictReader(io.StringIO((out / "columns.csv").read_text())))
    assert [(line["column"], line["test_set"], line["images"]) for line in facts] == [
        ("val", "val", "24"), ("imagenet-r", "imagenet-r", "15"), ("val-on-imagenet-r-classes", "val", "12"),
    ]  # fmt: skip
    assert not [sentence for sentence in watch.told if "replaces a row" in sentence]  # the same accuracy as before
    # Another model under an old name, on fewer test sets: its old accuracies and predictions are not kept beside.
    with pytest.raises(UserError, match="replace"):
        evaluate([replace(one, model="net-3")], sets[:1], out)
    evaluate([replace(one, model="net-3")], sets[:1], out, watch=watch, replacing=True)
    assert (table(out)[2]["imagenet-r"], table(out)[2]["val"]) == ("", rows[0]["val"])
    assert set(read_predictions(out / "predictions/imagenet-r.npz")) == {"labels", "net-2"}
    assert "net-3: replaces a row of that name, which had other accuracies on" in watch.told[-1]


def test_a_test_set_that_is_added_blanks_no_other(root: Path, tmp_path: Path) -> None:
    """The same model on one more test set, without its group: the same table as by one call with both."""
    (plan,) = seeded(tmp_path, 1)
    plan, out = replace(plan, group="untrained"), tmp_path / "out"
    watch = Telling()
    evaluate([plan], opened(root, "val"), out)
    evaluate([replace(plan, group="")], opened(root, "imagenet-r"), out, watch=watch)
    evaluate([plan], opened(root, "val", "imagenet-r"), tmp_path / "once")
    assert table(out) == table(tmp_path / "once")
    assert table(out)[0]["val"] != ""
    assert not [sentence for sentence in watch.told if "replaces a row" in sentence]
    assert set(read_predictions(out / "predictions/val.npz")) == {"labels", "net-1"}
    # A table without digests, as of an earlier version: nothing says that its models are these.
    (tmp_path / "old").mkdir()
    lines = [row | {"classifier": ""} for row in table(out)]
    shutil.copy(out / "columns.csv", tmp_path / "old/columns.csv")
    write_table(tmp_path / "old/accuracies.csv", list(lines[0]), (list(line.values()) for line in lines))
    evaluate([plan], opened(root, "imagenet-r"), tmp_path / "old", watch=watch)
    assert (table(tmp_path / "old")[0]["val"], "replaces a row" in watch.told[-1]) == ("", True)


def test_a_column_of_other_classes_or_images_is_refused(root: Path, tmp_path: Path) -> None:
    """The classes that val shares with two sets can be as many and not the same."""
    val, first, other = opened(root, "val", "imagenet-r", "imagenet-a")
    evaluate([PLAN], [val, first], tmp_path, classes=["shared"])
    before = {path: path.read_bytes() for path in tmp_path.glob("*.csv")}
    with pytest.raises(UserError, match="'val-on-shared-classes' was val on 3 classes, and now is val on 3 others"):
        evaluate([PLAN], [val, other], tmp_path, classes=["shared"])
    facts = (tmp_path / "columns.csv").read_text()
    (tmp_path / "columns.csv").write_text(facts.replace(",12,", ",13,"))
    with pytest.raises(UserError, match="had 13 images, and now has 12; choose another folder"):
        evaluate([PLAN], [val, first], tmp_path, classes=["shared"])
    (tmp_path / "columns.csv").write_text(facts)
    assert {path: path.read_bytes() for path in tmp_path.glob("*.csv")} == before
    (tmp_path / "columns.csv").unlink()
    with pytest.raises(UserError, match=r"columns.csv beside it does not describe the column 'val-on-shared-classes'"):
        evaluate([PLAN], [val, first], tmp_path, classes=["shared"])


def test_a_model_that_cannot_be_loaded_does_not_lose_the_others(root: Path, tmp_path: Path) -> None:
    good = seeded(tmp_path, 1, 2)
    (tmp_path / "bad.pth").write_bytes(b"no checkpoint")
    bad = ModelPlan("bad", "timm:test_vit", checkpoint=tmp_path / "bad.pth")
    out, sets, models = tmp_path / "out", opened(root, "imagenet-r"), [good[0], bad, good[1]]
    plan = plan_of(shift_study(models), out, datasets=sets)
    assert [notice.domain for notice in plan.notices] == ["bad"]
    with pytest.raises(JobsError, match=r"bad: .*bad.pth") as error:  # exit code 1
        evaluate(models, sets, out)
    assert error.value.done == 2
    assert [row["model"] for row in table(out)] == ["net-1", "net-2"]
    assert "bad.pth" in read_run(out).notice
    with pytest.raises(JobsError, match="results are kept, and the same command"):  # though nothing else is to do
        evaluate(models, sets, out)
    with pytest.raises(UserError, match="no model is scored; bad: .*bad.pth"):
        evaluate([bad], sets, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_models_done_are_written_when_a_later_one_stops_the_run(root: Path, tmp_path: Path) -> None:
    plans, out = seeded(tmp_path, 1, 2), tmp_path / "out"
    with pytest.raises(StoppedError):
        evaluate(plans, opened(root, "imagenet-r"), out, watch=StopAt("net-2", "imagenet-r"))
    assert [row["model"] for row in table(out)] == ["net-1"]


def test_predictions_lead_to_agreement(root: Path, tmp_path: Path) -> None:
    """Of each column: the share of right predictions is the accuracy, and agreements are those of a loop."""
    from unseen.analyses.robustness.agreement import study_agreement

    sets, out = opened(root, "val", "imagenet-r", "cifar-10.2"), tmp_path / "out"
    cifar = ModelPlan("cifar", "timm:test_vit", classes="cifar-10", weights="random")
    names = ("file", "a/b", "c")
    plans = [replace(plan, model=name) for plan, name in zip(seeded(tmp_path, 1, 2, 3), names, strict=True)]
    rows = evaluate([*plans, cifar], sets, out, classes=["own", "imagenet-r"])
    for row in rows:
        for column, accuracy in row.accuracy.items():
            made = read_predictions(out / f"predictions/{column}.npz")
            assert len(made["labels"]) == row.images[column]
            assert (made[row.model] == made["labels"]).mean() == pytest.approx(accuracy)
    assert list(read_predictions(out / "predictions/cifar-10.2.npz")) == ["labels", "cifar"]
    known, shifted = (out / f"predictions/{name}.npz" for name in ("val-on-imagenet-r-classes", "imagenet-r"))
    on_ood = read_predictions(shifted)
    write_predictions(known, dict(read_predictions(known)) | {"only-id": on_ood["c"][:12]})
    study = study_agreement(known, shifted)
    assert (study.models, study.left_out) == (("file", "a/b", "c"), ("only-id",))
    expected = [
        np.mean([int(p) == int(q) for p, q in zip(on_ood[a], on_ood[b], strict=True)])
        for a, b in (("file", "a/b"), ("file", "c"), ("a/b", "c"))
    ]
    ends = {0.0: 0.5 / 16, 1.0: 15.5 / 16}  # of 15 images
    assert study.line.ood_agreement == pytest.approx([ends.get(share, share) for share in map(float, expected)])
    with pytest.raises(UserError, match="cannot be named 'labels'"):
        evaluate([replace(PLAN, model="labels")], sets, tmp_path / "bad")


def test_predictions_of_other_images_are_refused(root: Path, tmp_path: Path) -> None:
    evaluate([PLAN], opened(root, "imagenet-r"), tmp_path)
    path = tmp_path / "predictions/imagenet-r.npz"
    made = dict(read_predictions(path))
    write_predictions(path, made | {"labels": made["labels"][::-1]})
    before = (tmp_path / "accuracies.csv").read_bytes()
    with pytest.raises(UserError, match=r"imagenet-r.npz: has predictions of other images, or of other classes"):
        evaluate([replace(PLAN, model="new")], opened(root, "imagenet-r"), tmp_path)
    assert (tmp_path / "accuracies.csv").read_bytes() == before


def test_images_left_out_are_counted(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "imagenet-r", tmp_path / "sets/imagenet-r")
    for number in (1, 3):
        (tmp_path / f"sets/imagenet-r/{CATS[0]}/art_{number}.jpg").write_bytes(b"\xff\xd8 not all of a JPEG")
    watch = Telling()
    rows = evaluate(
        seeded(tmp_path, 1, 2), opened(tmp_path / "sets", "imagenet-r"), tmp_path / "out",
        on_error="skip", watch=watch,
    )  # fmt: skip
    assert [row.images for row in rows] == [{"imagenet-r": 13}] * 2
    said = [sentence for sentence in watch.told if "damaged" in sentence]
    assert said == ["imagenet-r: 2 of 15 images are damaged and were left out"]
