"""The study `shifts` by the command line, and the commands of `unseen shifts` that start from models and test sets."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unseen.data.registry import DATASETS

Unseen = Callable[..., Any]
NAMES = {"n01440764": "tench", "n02123045": "tabby", "n02085620": "Chihuahua"}
RANDOM = ("--set", "backbone.weights=random", "--set", "complete=false", "--workers", 1)


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    from PIL import Image

    for number, wnid in enumerate(NAMES):
        for place in (f"imagenet/val/{wnid}/ILSVRC2012_val_{number + 1:08d}.JPEG", f"imagenet-r/{wnid}/art.jpg"):
            (tmp_path / "sets" / place).parent.mkdir(parents=True)
            Image.new("RGB", (32, 32), (80 * number, 40, 120)).save(tmp_path / "sets" / place)
    return tmp_path / "sets"


def refused(unseen: Unseen, *words: object) -> str:
    answer = unseen(*words)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    return str(answer.err)


def test_a_study_of_shifts(unseen: Unseen, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = unseen("run", "shifts", "--backbone", "timm:test_vit", "--data", sets, *RANDOM, "--out", out,
                    "--set", "classes=own,imagenet-r")  # fmt: skip
    assert (answer.code, "timm:test_vit" in answer.out) == (0, True), answer.err
    header, row = (out / "accuracies.csv").read_text().splitlines()
    assert header == "model,group,classifier,val,imagenet-r,val-on-imagenet-r-classes"
    assert row.startswith("timm:test_vit,,")
    assert len(list((out / "logits").iterdir())) == 2
    assert "imagenet-r" in (out / "report.html").read_text()


def test_mistakes_are_one_sentence_and_nothing_is_written(unseen: Unseen, sets: Path, tmp_path: Path) -> None:
    common = ("run", "shifts", "--data", sets, "--out", tmp_path / "out")
    network = ("--backbone", "timm:test_vit")
    assert "backbone" in refused(unseen, *common)
    assert "timm:a" in refused(unseen, *common, "--backbone", "timm:a", "--backbone", "timm:a")
    assert "50,000 are expected" in refused(unseen, *common, *network)
    assert "did you mean imagenet-" in refused(unseen, *common, *network, "--datasets", "imagenet-q")
    (tmp_path / "empty").mkdir()
    empty = ("run", "shifts", "--data", tmp_path / "empty", "--out", tmp_path / "out")
    assert "no data set was found" in refused(unseen, *empty, *network)
    assert "--workers" in refused(unseen, *common, *network, "--workers", -1)
    assert not (tmp_path / "out").exists()


def test_models_are_added_and_those_that_cannot_be_loaded_are_named(unseen: Unseen, sets: Path, tmp_path: Path) -> None:
    """Three calls into one folder, as the docs have them; the last has a model that cannot be loaded in its middle."""
    out = tmp_path / "out"
    common = ("run", "shifts", "--data", sets, "--out", out, "--set", "complete=false", "--workers", 1)
    for name in ("timm:test_vit", "timm:test_vit2"):
        assert unseen(*common, "--backbone", name, "--set", "backbone.weights=random").code == 0
    (tmp_path / "bad.pth").write_bytes(b"nothing")
    models = ["model,backbone,weights,checkpoint", "a,timm:test_vit,random,", "b,timm:test_vit,,bad.pth"]
    (tmp_path / "models.csv").write_text("\n".join([*models, "c,timm:test_vit2,random,"]) + "\n")
    answer = unseen(*common, "--backbone", tmp_path / "models.csv")
    assert (answer.code, "b: " in answer.err and "bad.pth" in answer.err) == (1, True), answer.err
    lines = (out / "accuracies.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["model", "timm:test_vit", "timm:test_vit2", "a", "c"]
    assert lines[1].split(",")[2:] == lines[3].split(",")[2:]  # the same network under two names
    assert all(f">{name}<" in (out / "report.html").read_text() for name in ("timm:test_vit2", "a", "c"))


def test_a_dry_run_says_what_is_to_do_and_writes_nothing(unseen: Unseen, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    common = ("run", "shifts", "--backbone", "timm:test_vit", "--data", sets, "--out", out, *RANDOM)
    assert "2 of 2 to do" in unseen(*common, "--dry-run").out
    assert not out.exists()
    assert unseen(*common, "--datasets", "val").code == 0
    assert "1 of 2 to do" in unseen(*common, "--dry-run").out


def test_own_test_sets(unseen: Unseen, sets: Path, tmp_path: Path) -> None:
    """A folder of classes, and what `unseen shifts captions` writes, beside a published one, on chosen classes."""
    rows = ["id,caption", "art,nothing", *(f"{wnid}/art,{name}" for wnid, name in NAMES.items())]
    (tmp_path / "web.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "two.txt").write_text("\n".join([*NAMES][:2]) + "\n")
    answer = unseen(
        "shifts", "captions", tmp_path / "web.csv", "--id", "id", "--text", "caption", "--set", "least=1",
        "--set", "held-out=1", "--images", sets / "imagenet-r", "--workers", 1, "--out", tmp_path / "web-test",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    (sets / "imagenet-r").rename(sets / "art")
    toml = tmp_path / "web-test/test-set.toml"
    toml.write_text(toml.read_text().replace("imagenet-r", "art"))
    names = f"val,{sets / 'art'},{tmp_path / 'web-test'}"
    common = ("run", "shifts", "--backbone", "timm:test_vit", "--data", sets, *RANDOM, "--out", tmp_path / "out")
    answer = unseen(*common, "--datasets", names, "--set", f"classes=own,{tmp_path / 'two.txt'}")
    assert answer.code == 0, answer.err
    header, row = (tmp_path / "out/accuracies.csv").read_text().splitlines()
    columns = ["val", "art", "web-test", "val-on-two-classes", "art-on-two-classes", "web-test-on-two-classes"]
    assert header.split(",")[3:] == columns
    accuracy = dict(zip(header.split(","), row.split(","), strict=True))
    assert accuracy["art"] == accuracy["web-test"]  # the same images and labels
    run = json.loads((tmp_path / "out/run.json").read_text())
    shifted = {each["name"]: each["shifted"] for each in run["domains"]}
    assert shifted == dict(zip(columns, [False, True, False] * 2, strict=True))
    (tmp_path / "more").mkdir()
    (sets / "art").rename(tmp_path / "more/art")
    (sets / "art").symlink_to(tmp_path / "more/art")
    twice = ("--datasets", f"{sets / 'art'},{tmp_path / 'more/art'}")
    assert "art" in refused(unseen, *common[:-1], tmp_path / "other", *twice)


def test_sets(unseen: Unseen, sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is complete only with all images of all classes."""
    small = replace(DATASETS["val"], counts={"test": 3}, classes=3)
    monkeypatch.setitem(DATASETS, "val", small)
    (sets / "objectnet-1.0").mkdir()  # without its mappings
    answer = unseen("ls", "shift-sets", "--data", sets, "--json")
    found = {row["test set"]: (row["found"], row["images here"], row["images"]) for row in json.loads(answer.out)}
    assert found["val"] == ("✓", "3", "3")
    assert found["imagenet-r"] == ("!", "3", "30,000")
    assert found["objectnet"] == ("!", "0", "18,574")
    assert found["imagenet-a"] == ("–", "0", "7,500")
    assert "3 test images where 30,000 are expected" in answer.err
    assert "has no images" in answer.err
    assert "imagenet-c.fog.3_on-disk" in unseen("ls", "shift-sets", "--catalogue").out
    assert "no such folder" in refused(unseen, "ls", "shift-sets", "--data", sets / "nowhere")


def test_mapping(unseen: Unseen, tmp_path: Path) -> None:
    shown = unseen("shifts", "mapping", "--out", tmp_path / "map.csv")
    assert "bullfrog, tree frog, tailed frog" in shown.out
    assert "Ambiguous, left out: minivan.n.01 (automobile or truck)" in shown.out + shown.err
    assert "Classes without ImageNet classes: deer" in shown.out + shown.err
    assert json.loads(unseen("shifts", "mapping", tmp_path / "map.csv", "--json").out)["of"]["n02389026"] == "horse"


def test_interpolate(unseen: Unseen, tmp_path: Path) -> None:
    for name, value in (("zero", 0.0), ("fine", 4.0)):
        torch.save({"w": torch.full((2,), value)}, tmp_path / f"{name}.pt")
    words = ("shifts", "interpolate", tmp_path / "zero.pt", tmp_path / "fine.pt", "--out", tmp_path / "wise")
    assert unseen(*words, "--alphas", "0.25,0.5").out.count("alpha-") == 2
    assert "between 0 and 1" in refused(unseen, *words, "--alphas", "0.5,1.5")
