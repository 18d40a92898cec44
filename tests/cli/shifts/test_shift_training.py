"""The commands `unseen shifts pool` and `unseen shifts finetune`."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_training import NETWORK, SIZE, hues, tiny_clip

from unseen.runs.provenance import provenance
from unseen.runs.record import read_run
from unseen.studies.shifts.plans import read_plans

Run = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    hues(tmp_path / "bright")
    hues(tmp_path / "dark", dark=0.4, seed=1)
    (tmp_path / "remove.csv").write_text("id\nred/0\n")
    return tmp_path


def test_a_pool(unseen: Run, data: Path) -> None:
    common = (
        "shifts", "pool", "--data", data / "bright", "--data", data / "dark", "--network", NETWORK,
        "--set", f"size={SIZE}", "--set", "steps=2", "--set", "batch=8", "--set", "ratios=1", "--set", "shares=0.5",
        "--workers", 0, "--out", data / "pool", "--without", data / "remove.csv",
    )  # fmt: skip
    answer = unseen(*common, "--dry-run")
    assert (answer.code, "3 of 3 to do" in answer.out) == (0, True), answer.err
    assert not (data / "pool").exists()
    answer = unseen(*common)
    assert answer.code == 0, answer.err
    assert "bright: 1 images are held out of training" in answer.err
    with (data / "pool/models.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["group"]) for row in rows] == [
        ("test_vit λ=1 100%", "bright"), ("test_vit λ=0 100%", "dark"),
        ("test_vit λ=0.5 100%", "bright+dark"),
    ]  # fmt: skip
    answer = unseen("run", "shifts", "--backbone", data / "pool/models.csv", "--datasets", data / "dark",
                    "--workers", 1, "--out", data / "run")  # fmt: skip
    assert answer.code == 0, answer.err
    assert len((data / "run/accuracies.csv").read_text().splitlines()) == 4
    answer = unseen(*common, "--set", "shares=half")
    assert (answer.code, "shares" in answer.err) == (2, True)


def test_templates_of_a_pool_are_checked_before_training(
    unseen: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = tiny_clip(data / "tiny")
    monkeypatch.chdir(data)
    Path("odd.txt").write_text("a photo\n")
    Path("prompts.txt").write_text("one {}\n")
    common = (
        "shifts", "pool", "--data", "bright", "--network", tiny, "--set", "steps=1", "--set", "batch=4",
        "--set", "ratios=1", "--workers", 0, "--out", data / "pool",
    )  # fmt: skip
    for templates in ("name", "opnai", "odd.txt", "nowhere.txt"):
        for more in ((), ("--dry-run",)):
            answer = unseen(*common, "--set", f"templates={templates}", *more)
            assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert not [*data.glob("pool/results/*")]
    answer = unseen(*common, "--set", "templates=prompts.txt")
    assert answer.code == 0, answer.err
    monkeypatch.chdir(data / "dark")
    [plan] = read_plans(data / "pool/models.csv")
    assert Path(plan.templates) == data / "prompts.txt"


def test_fine_tuning_and_what_lies_between(unseen: Run, data: Path) -> None:
    tiny = tiny_clip(data / "tiny", weights=True)
    (data / "colours.csv").write_text("class\nred\nblue\ngreen\n")
    common = (
        "shifts", "finetune", "--backbone", tiny, "--data", data / "bright",
        "--set", f"outputs={data / 'colours.csv'}", "--set", "templates=photo", "--set", "steps=2", "--set", "batch=8",
        "--workers", 0, "--out", data / "tuned",
    )  # fmt: skip
    answer = unseen(*common, "--dry-run")
    assert (answer.code, "2 of 2 to do" in answer.out) == (0, True), answer.err
    answer = unseen(*common)
    assert answer.code == 0, answer.err
    ends = data / "tuned/zero-shot.safetensors", data / "tuned/rate-3e-05.safetensors"
    assert unseen("shifts", "interpolate", *ends, "--out", data / "wise").code == 0
    answer = unseen("run", "shifts", "--backbone", data / "tuned/models.csv", "--datasets", data / "dark",
                    "--workers", 1, "--out", data / "run")  # fmt: skip
    assert answer.code == 0, answer.err
    groups = [line.split(",")[1] for line in (data / "run/accuracies.csv").read_text().splitlines()]
    assert groups == ["group", "zero-shot", "fine-tuned", "fine-tuned"]


def test_a_zero_shot_run_names_its_prompts(unseen: Run, data: Path) -> None:
    tiny = tiny_clip(data / "tiny", weights=True)
    (data / "colours.csv").write_text("class\nred\nblue\ngreen\n")
    (data / "prompts.txt").write_text("{}\n")
    models = [("photo", "photo"), ("plain", "plain"), ("own", str(data / "prompts.txt"))]
    rows = [f"{name},{tiny},zero-shot,colours.csv,{templates}" for name, templates in models]
    (data / "m.csv").write_text("\n".join(["model,backbone,head,classes,templates", *rows]))
    common = ("run", "shifts", "--datasets", data / "dark", "--workers", 1)
    answer = unseen(*common, "--backbone", data / "m.csv", "--out", data / "run")
    assert answer.code == 0, answer.err
    run = read_run(data / "run")
    digests = {each.name: each.classifier for each in run.backbones}
    assert digests["plain"] == digests["own"] != digests["photo"]
    said = provenance(run)
    assert 'the prompt "a photo of a {}."' in said["model photo"]
    assert 'the prompt "{}"' in said["model plain"]
    assert "prompts.txt" in said["model own"]
    head = ("backbone.head=zero-shot", f"backbone.outputs={data / 'colours.csv'}", "backbone.templates=name")
    settings = [word for each in head for word in ("--set", each)]
    refused = unseen(*common, "--backbone", tiny, *settings, "--out", data / "other")
    assert (refused.code, "photo" in refused.err, "plain" in refused.err) == (2, True, True)
    assert not (data / "other").exists()
