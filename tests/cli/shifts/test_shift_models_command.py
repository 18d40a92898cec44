"""The commands of `unseen shifts` that start from models and test sets."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner
from unseen.cli.ls.commands import shift_sets

from unseen.cli.command import Command
from unseen.cli.shifts import models as shift_models
from unseen.cli.shifts.captions import captions
from unseen.data.registry import DATASETS
from unseen.errors import UserError, naming_options
from unseen.studies.plan import Plan

PLAN = Plan("t", [], 0, 0)
NAMES = {"n01440764": "tench", "n02123045": "tabby", "n02085620": "Chihuahua"}
app = typer.Typer()
app.command("evaluate", cls=Command)(shift_models.evaluate)
app.command("captions", cls=Command)(captions)
app.command("sets", cls=Command)(shift_sets)
app.command("mapping", cls=Command)(shift_models.show_mapping)
app.command("interpolate", cls=Command)(shift_models.interpolate)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: object) -> str:
    with naming_options(), pytest.raises(UserError) as error:
        CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    return str(error.value)


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    from PIL import Image

    for number, wnid in enumerate(NAMES):
        for place in (f"imagenet/val/{wnid}/ILSVRC2012_val_{number + 1:08d}.JPEG", f"imagenet-r/{wnid}/art.jpg"):
            (tmp_path / place).parent.mkdir(parents=True)
            Image.new("RGB", (32, 32), (80 * number, 40, 120)).save(tmp_path / place)
    return tmp_path


def test_evaluate(sets: Path, tmp_path: Path) -> None:
    common = ("--sets", sets, "--out", tmp_path / "out", "--weights", "random", "--partial", "--workers", 0)
    said = run("evaluate", "--backbone", "timm:test_vit", *common, "--classes", "own,imagenet-r", "--device", "cpu")
    assert "timm:test_vit" in said
    header, row = (tmp_path / "out/accuracies.csv").read_text().splitlines()
    assert header == "model,group,classifier,val,imagenet-r,val-on-imagenet-r-classes"
    assert row.startswith("timm:test_vit,,")
    assert len(list((tmp_path / "out/logits").iterdir())) == 2
    assert "imagenet-r" in (tmp_path / "out/report.html").read_text()


def test_evaluate_refuses(sets: Path, tmp_path: Path) -> None:
    common = ("--sets", sets, "--out", tmp_path / "out", "--device", "cpu")
    assert "no model was given" in refused("evaluate", *common)
    assert "is given twice" in refused("evaluate", *common, "--backbone", "timm:a", "--backbone", "timm:a")
    assert "50,000 are expected" in refused("evaluate", *common, "--backbone", "timm:test_vit")
    said = refused("evaluate", *common, "--backbone", "timm:test_vit", "--only", "imagenet-q")
    assert "no test set 'imagenet-q'; did you mean" in said
    (tmp_path / "empty").mkdir()
    said = refused("evaluate", "--backbone", "timm:x", "--sets", tmp_path / "empty", "--out", tmp_path / "out")
    assert "contains no test set" in said
    assert not (tmp_path / "out").exists()


def test_evaluate_adds_models_and_names_those_it_cannot_load(sets: Path, tmp_path: Path) -> None:
    """Three calls into one folder, as the docs have them; the last has a model that cannot be loaded in its middle."""
    out = tmp_path / "out"
    common = ("--sets", sets, "--out", out, "--weights", "random", "--partial", "--workers", 0, "--device", "cpu")
    run("evaluate", "--backbone", "timm:test_vit", *common)
    run("evaluate", "--backbone", "timm:test_vit2", *common)
    (tmp_path / "bad.pth").write_bytes(b"nothing")
    models = ["model,backbone,weights,checkpoint", "a,timm:test_vit,random,", "b,timm:test_vit,,bad.pth"]
    (tmp_path / "models.csv").write_text("\n".join([*models, "c,timm:test_vit2,random,"]) + "\n")
    said = refused("evaluate", "--models", tmp_path / "models.csv", *common)
    assert "1 of 3 models could not be loaded" in said
    lines = (out / "accuracies.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["model", "timm:test_vit", "timm:test_vit2", "a", "c"]
    assert lines[1].split(",")[2:] == lines[3].split(",")[2:]  # the same network under two names
    assert all(f">{name}<" in (out / "report.html").read_text() for name in ("timm:test_vit2", "a", "c"))


def test_evaluate_decodes_on_every_core_unless_told(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unseen.studies import study

    seen = []
    monkeypatch.setattr(study, "plan_study", lambda request, out, **_: seen.append(request.settings.workers) or PLAN)
    common = ("evaluate", "--backbone", "timm:test_vit", "--sets", sets, "--out", tmp_path / "out", "--partial")
    run(*common, "--dry-run")
    run(*common, "--workers", 0, "--dry-run")
    run(*common, "--workers", 3, "--dry-run")
    assert seen == [len(os.sched_getaffinity(0)), 0, 3]
    assert "--workers must be at least 1" in refused(*common, "--workers", -1)


def test_a_dry_run_says_what_is_to_do_and_writes_nothing(sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    common = ("--sets", sets, "--out", out, "--weights", "random", "--partial", "--workers", 0, "--device", "cpu")
    said = run("evaluate", "--backbone", "timm:test_vit", *common, "--dry-run")
    assert "2 of 2 to do" in said
    assert not out.exists()
    run("evaluate", "--backbone", "timm:test_vit", *common, "--only", "val")
    assert "1 of 2 to do" in run("evaluate", "--backbone", "timm:test_vit", *common, "--dry-run")


def test_own_test_sets(sets: Path, tmp_path: Path) -> None:
    """A folder of classes, and what `unseen shifts captions` writes, beside a published one, on chosen classes."""
    rows = ["id,caption", "art,nothing", *(f"{wnid}/art,{name}" for wnid, name in NAMES.items())]
    (tmp_path / "web.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "two.txt").write_text("\n".join([*NAMES][:2]) + "\n")
    run("captions", tmp_path / "web.csv", "--id", "id", "--text", "caption", "--least", 1, "--held-out", 1,
        "--images", sets / "imagenet-r", "--workers", 1, "--out", tmp_path / "web-test")  # fmt: skip
    (sets / "imagenet-r").rename(sets / "art")
    toml = tmp_path / "web-test/test-set.toml"
    toml.write_text(toml.read_text().replace("imagenet-r", "art"))
    common = ("--sets", sets, "--out", tmp_path / "out", "--weights", "random", "--partial", "--workers", 0)
    own = ("--test-set", sets / "art", "--test-set", tmp_path / "web-test")
    backbone = ("--backbone", "timm:test_vit", "--device", "cpu")
    run("evaluate", *backbone, *common, *own, "--classes", f"own,{tmp_path / 'two.txt'}")
    header, row = (tmp_path / "out/accuracies.csv").read_text().splitlines()
    columns = ["val", "art", "web-test", "val-on-two-classes", "art-on-two-classes", "web-test-on-two-classes"]
    assert header.split(",")[3:] == columns
    accuracy = dict(zip(header.split(","), row.split(","), strict=True))
    assert accuracy["art"] == accuracy["web-test"]  # the same images and labels
    said = {each["name"]: each["shifted"] for each in json.loads((tmp_path / "out/run.json").read_text())["domains"]}
    assert said == dict(zip(columns, [False, True, False] * 2, strict=True))
    assert "two test sets are named 'art'" in refused("evaluate", *backbone, *common, *own, "--test-set", sets / "art")
    assert "or your own (--test-set)" in refused("evaluate", *backbone, *common[2:])


def test_sets(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is complete only with all images of all classes."""
    small = replace(DATASETS["val"], counts={"test": 3}, classes=3)
    monkeypatch.setitem(DATASETS, "val", small)
    (sets / "objectnet-1.0").mkdir()  # without its mappings
    result = CliRunner().invoke(app, ["sets", str(sets), "--json"], catch_exceptions=False)
    found = {row["test set"]: (row["found"], row["images here"], row["images"]) for row in json.loads(result.stdout)}
    assert found["val"] == ("✓", "3", "3")
    assert found["imagenet-r"] == ("!", "3", "30,000")
    assert found["objectnet"] == ("!", "0", "18,574")
    assert found["imagenet-a"] == ("–", "0", "7,500")
    assert "3 test images where 30,000 are expected" in result.stderr
    assert "has no images" in result.stderr
    assert "imagenet-c.fog.3_on-disk" in run("sets", "--all")
    assert "no such folder" in refused("sets", sets / "nowhere")


def test_mapping(tmp_path: Path) -> None:
    said = run("mapping", "--out", tmp_path / "map.csv")
    assert "bullfrog, tree frog, tailed frog" in said
    assert "Ambiguous, left out: minivan.n.01 (automobile or truck)" in said
    assert "Classes without ImageNet classes: deer" in said
    assert json.loads(run("mapping", tmp_path / "map.csv", "--json"))["of"]["n02389026"] == "horse"


def test_interpolate(tmp_path: Path) -> None:
    for name, value in (("zero", 0.0), ("fine", 4.0)):
        torch.save({"w": torch.full((2,), value)}, tmp_path / f"{name}.pt")
    ends = (tmp_path / "zero.pt", tmp_path / "fine.pt", "--out", tmp_path / "wise")
    assert run("interpolate", *ends, "--alphas", "0.25,0.5").count("alpha-") == 2
    assert "between 0 and 1" in refused("interpolate", *ends, "--alphas", "0.5,1.5")
