"""`unseen finetune`, from images to the page, on the digits that come with scikit-learn; killed, and with mistakes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from unseen.cli.finetune_tasks import finetune
from unseen.cli.main import app

if not any(command.name == "finetune" for command in app.registered_commands):
    app.command("finetune")(finetune)

Unseen = Callable[..., tuple[int, str, str]]
CODE = """
from torch import nn

from unseen.images.transform import Transform


def small():
    body = (nn.Conv2d(3, 12, 3), nn.BatchNorm2d(12), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten())
    return nn.Sequential(*body), Transform(size=8, resize=8)


def pixels():
    return nn.Flatten(), Transform(size=8, resize=8)
"""
COMMAND = """
import sys
from unseen.cli.main import app, run
from unseen.cli.finetune_tasks import finetune
if not any(command.name == "finetune" for command in app.registered_commands):
    app.command("finetune")(finetune)
sys.argv[0] = "unseen"
run()
"""


@pytest.fixture
def backbone(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(CODE)
    return f"{tmp_path / 'own.py'}:small"


def results(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}


def test_killed_and_run_again(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    out = tmp_path / "run"
    options = ["finetune", "--backbone", backbone, "--out", str(out), "--datasets", "digits", "--workers", "1"]
    options += ["--trials", "2", "--steps", "60"]
    command = [sys.executable, "-c", COMMAND, *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None and not [*out.glob("checkpoints/*.pt")]:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert [*out.glob("checkpoints/*.pt")]
    before = results(out)
    assert len(before) < 3
    code, said, notes = unseen(*options)
    assert code == 0, notes
    after = results(out)
    assert len(after) == 3  # two trials and the one that is scored
    assert {name: after[name] for name in before} == before
    assert not [*out.glob("checkpoints/*")]
    assert not [*out.glob("pixels/*")]
    assert "Fine-tuning was cut short (ericsson-2021-short): 2 of 40 settings, 60 of 5,000 steps" in said
    scores = pd.read_csv(out / "fine-tuning.csv").set_index("setting")["value"]
    assert 0.15 < scores["finetuned"] <= 1  # chance is .1
    assert 0 <= scores["finetuned-scaled-ece"] <= 1
    assert "ericsson-2021-short" in (out / "fine-tuning.html").read_text()

    code, _, notes = unseen(*options)
    assert code == 0
    assert "done" not in notes
    assert results(out) == after


def test_the_plan_and_what_is_left_out(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    options = ("finetune", "--backbone", backbone, "--out", tmp_path / "run", "--workers", 1, "--dry-run")
    code, said, notes = unseen(*options, "--datasets", "digits,dtd", "--images", tmp_path)
    assert code == 0
    assert "41" in said  # 40 settings, and the best again
    assert "205,000" in said
    assert "left out: dtd: not there" in notes
    assert "cut short" not in notes
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--datasets", "digit"), "no data set 'digit'; did you mean digits"),
        (("--datasets", ","), "--datasets takes some of aircraft"),
        (("--datasets", "dtd"), "none of the data sets is there"),
        (("--datasets", "digits", "--trials", 41), "try 1 to 40 of them, not 41"),
        (("--datasets", "digits", "--steps", 0), "take 1 to 5000 of them, not 0"),
        (("--datasets", "digits", "--images", "nowhere"), "nowhere: no such folder"),
        (("--datasets", "digits", "--device", "cuda:99"), "cuda:99"),
        (("--datasets", "digits", "--device", "gpu"), "there is no device called gpu"),
        (("--datasets", "digits", "--seed", -1), "--seed"),
        (("--datasets", "digits", "--seed", 2**31), "--seed"),
        (("--datasets", "digits", "--workers", 0), "--workers is at least 1"),
    ],
)
def test_mistakes(unseen: Unseen, tmp_path: Path, backbone: str, options: tuple[object, ...], message: str) -> None:
    code, _, error = unseen("finetune", "--backbone", backbone, "--out", tmp_path / "run", *options)
    assert code == 2
    assert message in error
    assert len([line for line in error.splitlines() if line.startswith("unseen:")]) == 1


def test_a_backbone_without_parameters(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    pixels = backbone.replace(":small", ":pixels")
    code, _, error = unseen("finetune", "--backbone", pixels, "--out", tmp_path / "run", "--datasets", "digits")
    assert code == 2
    assert "has no parameters that could be trained" in error


def test_data_that_nobody_split(unseen: Unseen, tmp_path: Path, backbone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from unseen.images.datasets import registry
    from unseen.images.datasets.digits import DATASET

    unsplit = replace(DATASET, test=None, validation=None, counts={"all": 1797})
    monkeypatch.setitem(registry.DATASETS, "digits", unsplit)
    code, _, error = unseen("finetune", "--backbone", backbone, "--out", tmp_path / "run", "--datasets", "digits")
    assert code == 2
    assert "left out: digits: its images are not split" in error
    assert "nothing to fine-tune on" in error
