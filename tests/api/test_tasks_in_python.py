"""`unseen.tasks` gives what the command gives."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unseen as package
from unseen.api.run import Run
from unseen.backbones.load import load_backbone
from unseen.device import on_gpu
from unseen.errors import UserError
from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS
from unseen.runs.data import RunData
from unseen.studies.plan import Plan
from unseen.studies.progress_bars import Bars

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., tuple[int, str, str]]
CODE = """
from torch import nn

from unseen.data.core.decoding.transform import Transform


def pixels():
    return nn.Sequential(nn.AvgPool2d((4, 2)), nn.Flatten()), Transform(size=8, resize=8)


def small():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveMaxPool2d(1), nn.Flatten()), Transform(size=8, resize=8)
"""


@pytest.fixture(autouse=True)
def few_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four ℓ2 constants instead of 45: what is tested here does not depend on them."""
    monkeypatch.setitem(PROTOCOLS, "ericsson-2021", replace(ERICSSON_2021, steps=4))


@pytest.fixture
def backbone(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(CODE)
    return f"{tmp_path / 'own.py'}:pixels"


def values(folder: Path) -> dict[str, Any]:
    """What each job gave, by its key."""
    return {path.stem: json.loads(path.read_text())["values"] for path in (folder / "results").glob("*.json")}


def test_images_as_on_the_command_line(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    plan = package.tasks(backbone, datasets="digits", limit=12, out=tmp_path / "python", dry_run=True)
    assert isinstance(plan, Plan)
    assert (plan.jobs, plan.jobs_left) == (3, 3)
    assert plan.to_frame()["train"].tolist() == [120]
    assert plan.disk > 0
    assert [notice.code for notice in plan.notices] == ["no-episodes"]
    assert not (tmp_path / "python").exists()

    asked = {"datasets": ["digits"], "limit": 12, "imagenet_top1": 20.0, "progress": False}
    run = package.tasks(load_backbone(backbone), out=tmp_path / "python", **asked)  # type: ignore[arg-type]
    assert isinstance(run, Run)
    options = ("--backbone", backbone, "--datasets", "digits", "--limit", 12, "--imagenet-top1", 20, "--workers", 1)
    code, _, error = unseen("tasks", *options, "--out", tmp_path / "command")
    assert code == 0, error
    python, command = values(run.folder), values(tmp_path / "command")
    assert python.keys() == command.keys() != set()
    assert python == command or on_gpu()  # which adds in an order of its own
    written = [json.loads((folder / "run.json").read_text()) for folder in (run.folder, tmp_path / "command")]
    assert all(each.pop("written") for each in written)  # when, and with which versions
    assert written[0] == written[1]
    plan = package.tasks(backbone, datasets="digits", limit=12, out=run, dry_run=True)
    assert isinstance(plan, Plan)
    assert (plan.jobs_left, plan.extraction, plan.probing, plan.disk) == (0, 0, 0, 0)


def test_features(unseen: Unseen, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "features/pets").mkdir(parents=True)
    for split in ("train", "val", "test"):
        y = np.arange(6).repeat(7)
        np.savez(tmp_path / f"features/pets/{split}.npz", X=np.eye(6)[y] + 0.4 * rng.normal(size=(42, 6)), y=y)
    run = package.tasks("mine", features=tmp_path / "features", out=tmp_path / "python", progress=False)
    assert isinstance(run, Run)
    assert isinstance(run.data, RunData)
    assert set(run.scores()["probe"]) == {"linear", "centroids"}
    options = ("--features", tmp_path / "features", "--backbone", "mine", "--workers", 1)
    code, _, error = unseen("tasks", *options, "--out", tmp_path / "command")
    assert code == 0, error
    assert values(run.folder) == values(tmp_path / "command") != {}
    page = run.report(tmp_path / "page.html")
    assert "pets (yours)" in page.read_text()
    pd.testing.assert_frame_equal(run.scores(), Run(tmp_path / "python").scores())


def test_fine_tuning(tmp_path: Path, backbone: str) -> None:
    small = load_backbone(backbone.replace(":pixels", ":small"))
    asked: dict[str, Any] = {"datasets": "digits", "finetune": True, "trials": 1, "steps": 1}
    plan = package.tasks(small, out=tmp_path / "run", dry_run=True, **asked)
    assert isinstance(plan, Plan)
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    run = package.tasks(small, out=tmp_path / "run", progress=False, **asked)
    assert isinstance(run, Run)
    assert set(run.scores()["probe"]) == {"fine-tuned"}
    again = package.tasks(small, out=tmp_path / "again", progress=False, **asked)
    assert isinstance(again, Run)
    assert again.scores()["value"].tolist() == run.scores()["value"].tolist()
    page = run.report(tmp_path / "page.html")
    assert "ericsson-2021-short" in page.read_text()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "no backbone was given"),
        ({"backbone": "x", "datasets": "digit"}, "no data set 'digit'; did you mean digits"),
        ({"backbone": "x", "protocol": "ericsson"}, "no protocol 'ericsson'"),
        ({"features": "x", "images": "y"}, "leave out images and limit"),
        ({"features": "nowhere"}, "no such folder"),
        ({"backbone": "x", "images": "nowhere"}, "nowhere: no such folder"),
        ({"finetune": True, "datasets": "digits"}, "give the backbone to fine-tune"),
        ({"finetune": True, "features": "x"}, "leave out features"),
        ({"invert": True, "grid": "4/2"}, "not used with invert: leave out grid"),
        ({"dense": True, "finetune": True, "exif": True}, "not used with dense and finetune: leave out exif"),
        ({"saliency": True, "sigmoid": True, "steps": 3}, "leave out steps and sigmoid"),
        ({"images": "x", "datasets": "digits", "examples": 2}, "leave out examples"),
        ({"finetune": True, "backbone": "x", "datasets": "digits", "seed": -1}, "seed must be from 0 to"),
        ({"finetune": True, "backbone": "x", "datasets": "digits", "trials": 41}, "try 1 to 40 of them"),
        ({"backbone": "x", "device": "gpu"}, "unknown device gpu"),
    ],
)
def test_mistakes(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        package.tasks(**asked, out=tmp_path / "run")


def test_one_backbone_given_twice(tmp_path: Path, backbone: str) -> None:
    with pytest.raises(UserError, match="give each once"):
        package.tasks([backbone, load_backbone(backbone)], datasets="digits", out=tmp_path / "run")


def test_a_watch_can_be_sent_to_processes() -> None:
    assert isinstance(pickle.loads(pickle.dumps(Bars())), Bars)


def test_one_probe_of_dense_tasks_may_be_a_string(tmp_path: Path) -> None:
    backbone = load_backbone("timm:test_vit", weights="random", patches=True)
    with pytest.raises(UserError, match="no patch probe 'patch-lin'; did you mean patch-linear"):
        package.tasks(backbone, dense=True, probes="patch-lin", out=tmp_path / "run")
