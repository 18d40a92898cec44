"""`unseen.shifts`."""

from pathlib import Path

import pytest
from shift_places import make_sets, seeded

import unseen
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.studies.plan import Plan
from unseen.studies.shifts.plans import ModelPlan


def test_a_study_of_shifts(tmp_path: Path) -> None:
    root, (first, second) = make_sets(tmp_path / "sets"), seeded(tmp_path, 1, 2)
    sets, out = {"sets": root, "partial": True, "workers": 0, "device": "cpu"}, tmp_path / "run"
    plan = unseen.shifts([first, second], only=["val", "imagenet-r"], out=out, dry_run=True, **sets)
    assert isinstance(plan, Plan)
    assert list(plan.to_frame()["test set"]) == ["val", "imagenet-r"] * 2
    assert not out.exists()
    run = unseen.shifts(first, only="imagenet-r", out=out, **sets)
    assert isinstance(run, Run)
    assert run.scores()[["study", "backbone", "domain", "probe", "metric"]].to_numpy().tolist() == [
        ["shifts", "net-1", "imagenet-r", "classifier", "top1"]
    ]
    assert run.report(tmp_path / "page.html").is_file()
    (tmp_path / "bad.pth").write_bytes(b"nothing")
    bad = ModelPlan("bad", "timm:test_vit", checkpoint=tmp_path / "bad.pth")
    with pytest.raises(UserError, match="1 of 2 models could not be loaded"):
        unseen.shifts([second, bad], only="imagenet-r", out=out, **sets)
    assert set(run.scores()["backbone"]) == {"net-1", "net-2"}
    for wrong, message in (
        ([], "models must be ids of backbones"),
        (["a:b", "a:b"], "given twice"),
        ([3], "models must be ids"),
    ):
        with pytest.raises(UserError, match=message):
            unseen.shifts(wrong, only="val", out=out, **sets)
