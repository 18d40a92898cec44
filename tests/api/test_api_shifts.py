"""`unseen.run` with the study of test sets under distribution shifts."""

from pathlib import Path
from typing import Any

import pytest
from shift_places import make_sets, seeded, shift_study

import unseen
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.studies.plan import Plan
from unseen.studies.shifts.plans import ModelPlan


def test_a_study_of_shifts(tmp_path: Path) -> None:
    root, (first, second) = make_sets(tmp_path / "sets"), seeded(tmp_path, 1, 2)
    given: dict[str, Any] = {"data": root, "out": tmp_path / "run", "workers": 0, "progress": False}
    both = shift_study([first, second], datasets=["val", "imagenet-r"], complete=False)
    plan = unseen.run(both, dry_run=True, **given)
    assert isinstance(plan, Plan)
    assert [(part["test set"], part["model"]) for part in plan.parts] == [
        ("val", "net-1"), ("imagenet-r", "net-1"), ("val", "net-2"), ("imagenet-r", "net-2"),
    ]  # fmt: skip
    assert not (tmp_path / "run").exists()
    run = unseen.run(shift_study([first], datasets="imagenet-r", complete=False), **given)
    assert isinstance(run, Run)
    assert run.scores()[["study", "backbone", "domain", "probe", "metric"]].to_numpy().tolist() == [
        ["shifts", "net-1", "imagenet-r", "classifier", "top1"]
    ]
    assert run.report(tmp_path / "page.html").is_file()
    (tmp_path / "bad.pth").write_bytes(b"nothing")
    bad = ModelPlan("bad", "timm:test_vit", checkpoint=tmp_path / "bad.pth")
    with pytest.raises(UserError, match=r"bad: .*bad\.pth: .*results are kept"):
        unseen.run(shift_study([second, bad], datasets="imagenet-r", complete=False), **given)
    assert set(run.scores()["backbone"]) == {"net-1", "net-2"}


def test_models_of_a_table(tmp_path: Path) -> None:
    root, plans = make_sets(tmp_path / "sets"), seeded(tmp_path, 1, 2)
    lines = [f"{plan.model},{plan.backbone},{plan.checkpoint}" for plan in plans]
    (tmp_path / "models.csv").write_text("\n".join(["model,backbone,checkpoint", *lines]))
    (tmp_path / "code.csv").write_text(f"model,backbone\nm,{tmp_path / 'own.py'}:net\n")
    (tmp_path / "own.py").write_text("raise SystemExit('executed')\n")
    study = unseen.study("shifts", datasets="imagenet-r", complete=False)
    given: dict[str, Any] = {"data": root, "out": tmp_path / "run", "workers": 0, "progress": False}
    run = unseen.run(study, tmp_path / "models.csv", **given)
    assert isinstance(run, Run)
    assert set(run.scores()["backbone"]) == {"net-1", "net-2"}
    for models in ([tmp_path / "code.csv"], ()):
        with pytest.raises(UserError, match="code that would run here"):
            unseen.run(study.replace(backbones=tmp_path / "code.csv"), models, **given)
    allowed = unseen.study("shifts", datasets="imagenet-r", complete=False, allow_code=True)
    assert "allow" not in allowed.to_toml()
    with pytest.raises(UserError, match="with a classifier of their own"):  # its file would be read next
        unseen.run(allowed, tmp_path / "code.csv", **given)


def test_wrong_models(tmp_path: Path) -> None:
    for wrong, message in (
        ((), "no backbone was given"),
        (["timm:a", "timm:a"], "2 backbones are called timm:a; give each once"),
        ([3], "3 is not an id"),
    ):
        with pytest.raises(UserError, match=message):
            unseen.run("shifts", wrong, data=tmp_path, out=tmp_path / "run")  # type: ignore[arg-type]
