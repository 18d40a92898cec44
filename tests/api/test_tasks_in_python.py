"""`unseen.run` gives what the command gives, for studies of tasks."""

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


def tasks(backbone: Any, out: Any, *, dry_run: bool = False, **given: Any) -> Any:
    """The run of the study of tasks, or its plan; what is not an argument of `unseen.run` is a key of it."""
    own = {key: given.pop(key) for key in ("data", "features") if key in given}
    study = package.study("ericsson-2021").replace(**given)
    return package.run(study, backbone, out=out, dry_run=dry_run, progress=False, **own)


def values(folder: Path) -> dict[str, Any]:
    """What each job gave, by its key."""
    return {path.stem: json.loads(path.read_text())["values"] for path in (folder / "results").glob("*.json")}


def test_images_as_on_the_command_line(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    keys = {"datasets": "digits", "limit": 12, "backbone": {"imagenet_top1": 20.0}}
    study = package.study("ericsson-2021", **keys)
    plan = package.run(study, backbone, out=tmp_path / "python", dry_run=True)
    assert isinstance(plan, Plan)
    assert (plan.jobs, plan.jobs_left) == (3, 3)
    assert plan.to_frame()["train"].tolist() == [120]
    assert plan.disk > 0
    [notice] = plan.notices  # 36 images of each class are too few for episodes of 50 shots
    assert (notice.code, dict(notice.arguments)["shots"]) == ("skipped-episodes", "50")
    assert not (tmp_path / "python").exists()

    run = package.run(study, load_backbone(backbone), out=tmp_path / "python", progress=False)
    assert isinstance(run, Run)
    keys_as_options = ("--limit", 12, "--set", "backbone.imagenet-top1=20", "--workers", 1)
    options = ("--backbone", backbone, "--datasets", "digits", *keys_as_options)
    code, _, error = unseen("run", "ericsson-2021", *options, "--out", tmp_path / "command")
    assert code == 0, error
    python, command = values(run.folder), values(tmp_path / "command")
    assert python.keys() == command.keys() != set()
    assert python == command or on_gpu()  # which adds in an order of its own
    written = [json.loads((folder / "run.json").read_text()) for folder in (run.folder, tmp_path / "command")]
    assert all(each.pop("written") for each in written)  # when, and with which versions
    speeds = [each["cost"].pop("speed") for record in written for each in record["backbones"]]
    assert {(speed["images"] > 0, speed["seconds"] > 0) for speed in speeds} == {(True, True)}
    assert written[0] == written[1]
    plan = package.run(study, backbone, out=run, dry_run=True)
    assert isinstance(plan, Plan)
    assert (plan.jobs_left, plan.extraction, plan.probing, plan.disk) == (0, 0, 0, 0)


def test_features(unseen: Unseen, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "features/pets").mkdir(parents=True)
    for split in ("train", "val", "test"):
        y = np.arange(6).repeat(7)
        np.savez(tmp_path / f"features/pets/{split}.npz", X=np.eye(6)[y] + 0.4 * rng.normal(size=(42, 6)), y=y)
    run = tasks("mine", tmp_path / "python", features=tmp_path / "features")
    assert isinstance(run, Run)
    assert isinstance(run.data, RunData)
    assert set(run.scores()["probe"]) == {"linear", "centroids"}
    options = ("--features", tmp_path / "features", "--backbone", "mine", "--workers", 1)
    code, _, error = unseen("run", "ericsson-2021", *options, "--out", tmp_path / "command")
    assert code == 0, error
    assert values(run.folder) == values(tmp_path / "command") != {}
    page = run.report(tmp_path / "page.html")
    assert "pets (yours)" in page.read_text()
    pd.testing.assert_frame_equal(run.scores(), Run(tmp_path / "python").scores())


def test_fine_tuning(tmp_path: Path, backbone: str) -> None:
    small = load_backbone(backbone.replace(":pixels", ":small"))
    study = package.study("finetune", datasets="digits", fine_tuned={"trials": 1, "steps": 1})
    plan = package.run(study, small, out=tmp_path / "run", dry_run=True)
    assert isinstance(plan, Plan)
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    run = package.run(study, small, out=tmp_path / "run", progress=False)
    assert isinstance(run, Run)
    assert set(run.scores()["probe"]) == {"fine-tuned"}
    again = package.run(study, small, out=tmp_path / "again", progress=False)
    assert isinstance(again, Run)
    assert again.scores()["value"].tolist() == run.scores()["value"].tolist()
    page = run.report(tmp_path / "page.html")
    assert "ericsson-2021-short" in page.read_text()


@pytest.mark.parametrize(
    ("backbone", "given", "message"),
    [
        ((), {}, "no backbone was given"),
        ("demo:untrained", {"datasets": "digit"}, "no data set 'digit'; did you mean digits"),
        ("x:y", {"linear": {"protocol": "ericsson"}}, 'not "ericsson"; did you mean ericsson-2021'),
        ((), {"features": "x", "data": "y"}, "not both"),
        ((), {"features": "x", "limit": 3}, "x: no such folder"),
        ((), {"features": "nowhere"}, "no such folder"),
        ("x:y", {"data": "nowhere"}, "nowhere: no such folder"),
        ((), {"probes": "fine-tuned", "datasets": "digits"}, "no backbone was given"),
        ((), {"probes": "fine-tuned", "features": "x"}, "fine-tuned needs images"),
        ("x:y", {"probes": "inversion", "saliency": {"grid": "4/2"}}, "saliency is not among the probes"),
        ("x:y", {"probes": "saliency", "inversion": {"steps": 3}}, "inversion is not among the probes"),
        ("x:y", {"probes": "inversion", "inversion": {"grid": "4/2"}}, "no key 'grid'"),
        ("x:y", {"probes": "fine-tuned", "fine-tuned": {"seed": -1}}, "no key 'seed'"),
        (
            "x:y",
            {"probes": "fine-tuned", "datasets": "digits", "fine-tuned": {"trials": 41}},
            "must be at most 40",
        ),
    ],
)
def test_mistakes(tmp_path: Path, backbone: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        tasks(backbone, tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_keys_that_no_probe_reads_are_told(tmp_path: Path, backbone: str, caplog: pytest.LogCaptureFixture) -> None:
    tasks(backbone, tmp_path / "run", datasets="digits", limit=5, examples=2, dry_run=True)
    assert "key examples is not used" in caplog.text


def test_one_backbone_given_twice(tmp_path: Path, backbone: str) -> None:
    with pytest.raises(UserError, match="give each once"):
        tasks([backbone, load_backbone(backbone)], tmp_path / "run", datasets="digits")


def test_a_backbone_with_patches_is_for_probes_of_patches(tmp_path: Path) -> None:
    """Its features are not those of whole images, so they are not probed as such."""
    backbone = load_backbone("timm:test_vit", weights="random", patches=True)
    with pytest.raises(UserError, match="loaded with patches, but linear needs one vector per image"):
        tasks(backbone, tmp_path / "run", datasets="digits", limit=5)
    assert not (tmp_path / "run").exists()


def test_a_watch_can_be_sent_to_processes() -> None:
    assert isinstance(pickle.loads(pickle.dumps(Bars())), Bars)


def test_one_probe_of_a_study_may_be_a_string(tmp_path: Path) -> None:
    study = package.study("dense").replace(probes="patch-linear")
    assert study.probes == ("patch-linear",)
    backbone = load_backbone("timm:test_vit", weights="random", patches=True)
    with pytest.raises(UserError, match="no probe 'patch-lin' in this study; did you mean patch-linear"):
        package.run(study.replace(probes="patch-lin"), backbone, out=tmp_path / "run")
