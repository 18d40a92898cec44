"""A linear probe that `unseen probe` keeps, and the classifier it makes in `unseen shifts run`."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from unseen.probes.logistic import probe_logistic
from unseen.probes.protocol import COG_V2_SHORT

pytestmark = pytest.mark.gpu_too
Run = Callable[..., Any]
SYNSETS = ("n02123045", "n02123159", "n02085620")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDING = 1e-3 if DEVICE == "cuda" else 1e-6  # of weights in 16-bit products that are stacked in another way
QUICK = ("--protocol", "cog-v2-short", "--seeds", "1", "--workers", "1")


def test_what_is_kept_is_the_probe_itself(unseen: Run, tmp_path: Path) -> None:
    """Weights are those that the search and its final fit give in one go."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    sides = [(2 * np.eye(8)[y] + rng.normal(0, 0.7, (60, 8))).astype(np.float32) for _ in range(2)]
    for name, X in zip(("train", "test"), sides, strict=True):
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    files = (tmp_path / "train.npz", tmp_path / "test.npz", "--out", tmp_path / "run")
    answer = unseen("probe", *files, *QUICK, "--shots", "4,all", "--keep", tmp_path / "kept.npz")
    assert answer.code == 0, answer.err
    labels = torch.from_numpy(y)
    found = probe_logistic(*(torch.from_numpy(sides[0]), labels, torch.from_numpy(sides[1]), labels),
                           protocol=COG_V2_SHORT, device=DEVICE)  # fmt: skip
    with np.load(tmp_path / "kept.npz", allow_pickle=False) as kept:
        assert kept["weights"] == pytest.approx(found.weights.numpy(), abs=ROUNDING)
        assert kept["bias"] == pytest.approx(found.bias.numpy(), abs=ROUNDING)
        assert (kept["classes"].tolist(), bool(kept["normalised"])) == (["0", "1", "2"], True)
    answer = unseen("probe", *files, *QUICK, "--shots", "4", "--keep", tmp_path / "other.npz")
    assert (answer.code, "--shots" in answer.err) == (2, True)
    assert not (tmp_path / "other.npz").exists()


def test_from_images_to_a_probe_to_a_table(unseen: Run, tmp_path: Path) -> None:
    """The accuracy of the classifier on a test set is that of the probe on the features of its images."""
    rng = np.random.default_rng(0)
    for place, count in (("train", 8), ("imagenet-r", 6)):
        for number, wnid in enumerate(SYNSETS):
            (tmp_path / place / wnid).mkdir(parents=True)
            for image in range(count):
                pixels = rng.integers(0, 160, (32, 32, 3)) + 40 * np.eye(3, dtype=int)[number]
                Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / place / wnid / f"{image}.png")
    network = ("--backbone", "timm:test_vit", "--weights", "random", "--device", "cpu", "--workers", "0")
    stores = []
    for place in ("train", "imagenet-r"):
        answer = unseen("extract", *network, "--images", tmp_path / place, "--out", tmp_path / "features" / place)
        assert answer.code == 0, answer.err
        stores.append(answer.out.split(": ", 1)[1].strip())
    answer = unseen("probe", *stores, *QUICK, "--keep", tmp_path / "p.npz", "--out", tmp_path / "run", "--json")
    assert answer.code == 0, answer.err
    (top1,) = [score["value"] for score in json.loads(answer.out)["scores"] if score["metric"] == "top1"]
    evaluated = ("--sets", tmp_path, "--only", "imagenet-r", "--partial", "--out", tmp_path / "table")
    answer = unseen("shifts", "run", *network, "--head", tmp_path / "p.npz", *evaluated)
    assert answer.code == 0, answer.err
    with (tmp_path / "table/accuracies.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["imagenet-r"]) == pytest.approx(top1, abs=1e-6)
