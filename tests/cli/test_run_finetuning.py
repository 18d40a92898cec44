"""`unseen run finetune`, from images to the page, on the digits of scikit-learn; killed, and with mistakes."""

import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from alone import start_command

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., tuple[int, str, str]]
CODE = """
from torch import nn

from unseen.data.core.decoding.transform import Transform


def small():
    body = (nn.Conv2d(3, 12, 3), nn.BatchNorm2d(12), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten())
    return nn.Sequential(*body), Transform(size=8, resize=8)


def pixels():
    return nn.Flatten(), Transform(size=8, resize=8)
"""
FINETUNE = ("run", "finetune")


@pytest.fixture
def backbone(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(CODE)
    return f"{tmp_path / 'own.py'}:small"


def results(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}


def test_killed_and_run_again(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    out = tmp_path / "run"
    options = [
        *FINETUNE,
        "--backbone",
        backbone,
        "--out",
        str(out),
        "--datasets",
        "digits",
        "--workers",
        "1",
    ]
    options += ["--set", "fine-tuned.trials=2", "--set", "fine-tuned.steps=60"]
    process = start_command(*options)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.is_alive() and not [*out.glob("checkpoints/*.pt")]:
        time.sleep(0.005)
    process.kill()
    process.join()
    assert [*out.glob("checkpoints/*.pt")]
    before = results(out)
    assert len(before) < 3
    code, said, notes = unseen(*options)
    assert code == 0, notes
    after = results(out)
    assert len(after) == 3  # two trials and the one that is scored
    assert {name: after[name] for name in before} == before
    assert not (out / "checkpoints").exists()
    assert not (out / "pixels").exists()
    assert said.count("Fine-tuning was cut short (ericsson-2021-short): 2 of 40 settings, 60 of 5,000 steps") == 1
    scores = pd.read_csv(out / "scores.csv").set_index("setting")["mean"]
    assert 0.15 < scores["finetuned"] <= 1  # chance is .1
    assert 0 <= scores["finetuned-scaled-ece"] <= 1
    assert "ericsson-2021-short" in (out / "report.html").read_text()

    code, _, notes = unseen(*options)
    assert code == 0
    assert "to do, about" not in notes
    assert results(out) == after


def test_a_part_of_a_data_set_is_called_one_whatever_the_search(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    options = ("--backbone", backbone, "--out", tmp_path / "run", "--datasets", "digits", "--workers", 1)
    short = ("--set", "fine-tuned.trials=1", "--set", "fine-tuned.steps=1", "--limit", 6)
    code, said, notes = unseen(*FINETUNE, *options, *short, "--probes", "centroids,fine-tuned", "--shots", 1)
    assert code == 0, notes
    assert set(pd.read_csv(tmp_path / "run/scores.csv")["domain"]) == {"digits (part: 6)"}
    assert "(yours)" not in said
    assert "the protocol is" not in said
    assert "ericsson-2021-short" in said
    assert "at most 6 images per class" in said


def test_the_plan_and_what_is_left_out(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    options = (*FINETUNE, "--backbone", backbone, "--out", tmp_path / "run", "--workers", 1, "--dry-run")
    code, said, notes = unseen(*options, "--datasets", "digits,dtd", "--data", tmp_path)
    assert code == 0
    assert "41" in said  # 40 settings, and the best again
    assert "205,000" in said
    assert "Left out: dtd: not found" in notes
    assert "cut short" not in notes
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--datasets", "digit"), "no data set 'digit'; did you mean digits"),
        (("--datasets", ","), "--datasets takes values separated by commas"),
        (("--datasets", "dtd"), "to get it"),
        (("--datasets", "digits", "--set", "fine-tuned.trials=41"), "trials must be at most 40, not 41"),
        (("--datasets", "digits", "--set", "fine-tuned.steps=0"), "steps must be at least 1, not 0"),
        (("--datasets", "digits", "--set", "fine-tuned.step=9"), "no key 'step'; did you mean steps"),
        (("--datasets", "digits", "--data", "nowhere"), "nowhere: no such folder"),
        (("--datasets", "digits", "--devices", "cuda:99"), "--devices 99"),
        (("--datasets", "digits", "--devices", "gpu"), "--devices must be all, numbers of GPUs"),
        (("--datasets", "digits", "--seeds", 0), "seeds must be at least 1, not 0"),
        (("--datasets", "digits", "--workers", -1), "--workers must be at least 0, not -1"),
        (("--datasets", "digits", "--shots", 5, "--set", "fine-tuned.shots=5"), "no key 'shots'"),
    ],
)
def test_mistakes(unseen: Unseen, tmp_path: Path, backbone: str, options: tuple[object, ...], message: str) -> None:
    code, _, error = unseen(*FINETUNE, "--backbone", backbone, "--out", tmp_path / "run", *options)
    assert code == 2
    assert message in error
    assert len([line for line in error.splitlines() if line.startswith("unseen:")]) == 1
    assert not (tmp_path / "run").exists()


def test_a_backbone_without_parameters(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    pixels = backbone.replace(":small", ":pixels")
    code, _, error = unseen(*FINETUNE, "--backbone", pixels, "--out", tmp_path / "run", "--datasets", "digits")
    assert code == 2
    assert "has no trainable parameters" in error


def test_what_fails_does_not_stop_the_others(
    unseen: Unseen, tmp_path: Path, backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from PIL import Image

    from unseen.data import registry
    from unseen.data.core.dataset import Layout
    from unseen.data.formats.class_folders import class_folders
    from unseen.data.sets.digits import DATASET

    for label in ("a", "b"):
        (tmp_path / "images/pictures" / label).mkdir(parents=True)
        for number in range(15):
            Image.new("RGB", (9, 9), (9 * number, 0, 0)).save(tmp_path / f"images/pictures/{label}/{number:02d}.png")
    damaged = tmp_path / "images/pictures/b/07.png"
    sound = damaged.read_bytes()
    damaged.write_bytes(b"not an image")
    counts, layouts = {"train": 18, "val": 6, "test": 6}, (Layout("pictures", (), class_folders),)
    pictures = replace(DATASET, name="pictures", title="Pictures", classes=2, counts=counts, layouts=layouts)
    monkeypatch.setitem(registry.DATASETS, "pictures", pictures)
    out = tmp_path / "run"
    words = (
        *FINETUNE,
        "--backbone",
        backbone,
        "--out",
        out,
        "--datasets",
        "pictures,digits",
        "--workers",
        1,
    )
    settings = ("--set", "fine-tuned.trials=1", "--set", "fine-tuned.steps=2")
    options = ("--data", tmp_path / "images", *settings)
    answer = unseen(*words, *options)
    assert answer.code == 1
    said = [line for line in answer.err.splitlines() if line.startswith("unseen:")]
    assert len(said) == 1
    assert "results are kept" in said[0]
    assert "b/07.png: not an image" in said[0]
    assert set(pd.read_csv(out / "scores.csv")["domain"]) == {"digits"}
    assert "b/07.png: not an image" in (out / "report.html").read_text()

    damaged.write_bytes(sound)
    answer = unseen(*words, *options)
    assert answer.code == 0, answer.err
    assert set(pd.read_csv(out / "scores.csv")["domain"]) == {"digits", "pictures"}
    assert "not an image" not in (out / "report.html").read_text()
    assert "not an image" not in (out / "run.json").read_text()
    assert not [*out.glob("pixels/*")]


def test_a_gpu_without_memory_is_a_sentence(
    unseen: Unseen, tmp_path: Path, backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from unseen.probes.finetuning import search

    def failing(error: Exception) -> Callable[..., None]:
        def load(*_: object, **__: object) -> None:
            raise error

        return load

    words = (
        *FINETUNE,
        "--backbone",
        backbone,
        "--out",
        tmp_path / "run",
        "--datasets",
        "digits",
        "--set",
        "fine-tuned.trials=1",
        "--workers",
        1,
    )
    full = torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 20 GiB.")
    monkeypatch.setattr(search, "load_task_images", failing(full))
    answer = unseen(*words)
    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith("unseen: not enough GPU memory")
    dead = RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed. ")
    monkeypatch.setattr(search, "load_task_images", failing(dead))
    answer = unseen(*words)
    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith("unseen: a process that decodes images died")
    monkeypatch.setattr(search, "load_task_images", failing(RuntimeError("a mistake of ours")))
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        unseen(*words)
