"""`unseen run` of studies of maps and of single images: plans, from images to the page, and mistakes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import unseen as api
from unseen.errors import UserError

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., Any]
SCENES = ("--datasets", "scenes-seen", "--backbone", "demo:untrained", "--set", "backbone.size=28", "--workers", 1)


def test_a_dry_run_tells_training_patches_and_memory(unseen: Unseen, tmp_path: Path) -> None:
    for number, patches in (("all", 4_900), (20, 2_000)):
        found = unseen("run", "dense", *SCENES, "--set", f"patches={number}", "--out", tmp_path / "run", "--dry-run")
        assert found.code == 0, found.err
        assert f"{patches:,}" in found.out
        assert "B of memory." in " ".join(found.out.split())
    assert not (tmp_path / "run").exists()


def test_patches_in_python(tmp_path: Path) -> None:
    net, out = api.load_backbone("demo:untrained", size=28, patches=True), tmp_path / "run"
    study = api.study("dense", datasets="scenes-seen", patches=20)
    plan = api.run(study, net, out=out, dry_run=True, progress=False)
    assert plan.to_frame()["training patches"].tolist() == [2_000]  # type: ignore[union-attr]
    with pytest.raises(UserError, match="at least 1"):
        study.replace(patches=-1)
    assert not out.exists()


def test_a_dry_run_tells_the_passes(unseen: Unseen, tmp_path: Path) -> None:
    asked = ("--backbone", "demo:untrained", "--set", "examples=2", "--out", tmp_path / "run", "--dry-run")
    found = unseen("run", "saliency", *asked)
    assert found.code == 0, found.err
    assert "10/2" in found.out  # the default
    assert "648" in found.out  # 2 × 18² masks on 28 × 28 pixels
    assert not (tmp_path / "run").exists()


def test_a_backbone_looks_at_drawings_and_keeps_their_colours(unseen: Unseen, tmp_path: Path) -> None:
    """Two studies of single images make one page."""
    common = ("--backbone", "demo:supervised", "--set", "examples=1", "--workers", 1, "--out", tmp_path / "run")
    for study, setting in (("saliency", "saliency.grid=8/8"), ("inversion", "inversion.steps=2")):
        found = unseen("run", study, *common, "--set", setting)
        assert found.code == 0, found.err
    scores = pd.read_csv(tmp_path / "run/scores.csv")
    [row] = scores[scores["setting"] == "saliency-diffusion"].to_dict("records")
    assert (row["backbone"], row["domain"]) == ("demo:supervised", "drawings (1 image)")
    assert 0 < row["mean"] < 1
    assert {"inversion-colour-red", "inversion-colour-green", "inversion-colour-blue"} < {*scores["setting"]}
    assert "masks of 8/8 pixels" in (tmp_path / "run/report.html").read_text()
    again = unseen("run", "saliency", *common, "--set", "saliency.grid=8/8")
    assert (again.code, "0 of 1 to do" in again.out, "jobs to do" in again.err) == (0, True, False)


@pytest.mark.parametrize(
    ("study", "options", "said"),
    [
        ("dense", ["patches=0"], "patches must be at least 1, not 0"),
        ("dense", ["patches=some"], 'patches must be a whole number or "all", not "some"'),
        ("dense", ["patches=50"], "cannot draw 50 of 49 patches"),
        ("dense", ["patch-linear.shots=5"], "no key 'shots'"),
        ("saliency", ["saliency.grid=10/3"], "the stride must divide the mask"),
        ("saliency", ["saliency.grid=32/8"], "28 × 28 pixels, smaller than the mask of 32 × 32"),
        ("saliency", ["examples=0"], "examples must be at least 1, not 0"),
        ("saliency", ["batch=0"], "batch must be at least 1, not 0"),
        ("saliency", ["inversion.steps=5"], "inversion is not among the probes of the study (saliency)"),
        ("inversion", ["inversion.steps=0"], "steps must be"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    unseen: Unseen, tmp_path: Path, study: str, options: list[str], said: str
) -> None:
    words = SCENES if study == "dense" else ("--backbone", "demo:untrained", "--workers", 1)
    settings = [word for option in options for word in ("--set", option)]
    found = unseen("run", study, *words, *settings, "--out", tmp_path / "run")
    assert found.code == 2
    assert said in " ".join(found.err.split())
    assert "Traceback" not in found.err
    assert len([line for line in found.err.splitlines() if line.startswith("unseen:")]) == 1
    assert not (tmp_path / "run").exists()


def test_keys_that_no_probe_needs_are_told(unseen: Unseen, tmp_path: Path) -> None:
    words = ("--datasets", "digits", "--backbone", "demo:untrained", "--probes", "knn", "--out", tmp_path / "run")
    settings = ("--set", "patches=20", "--set", "examples=3", "--set", "mapping=cifar-10")
    found = unseen("run", "ericsson-2021", *words, *settings, "--dry-run")
    assert found.code == 0
    told = [line for line in found.err.splitlines() if "is not used" in line]
    assert [line.split()[2] for line in told] == ["mapping", "examples", "patches"]
    assert all("(knn)" in line for line in told)
    assert "is not used" not in unseen("run", "ericsson-2021", *words, "--dry-run").err
