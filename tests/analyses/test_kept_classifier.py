"""The logistic regression of a run as a file, and the classifier that it is in a study of shifts."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from run_folders import probe_files

from studies import run_of, study_of
from unseen.analyses.kept_classifier import write_classifier
from unseen.errors import UserError
from unseen.probes.logistic import probe_logistic
from unseen.probes.protocol import COG_V2_SHORT

pytestmark = pytest.mark.gpu_too
SYNSETS = ("n02123045", "n02123159", "n02085620")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDING = 1e-3 if DEVICE == "cuda" else 1e-6  # of weights in 16-bit products that are stacked in another way


def test_what_is_kept_is_the_probe_itself(tmp_path: Path) -> None:
    """Weights are those that the search and its final fit give in one go."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    sides = [(2 * np.eye(8)[y] + rng.normal(0, 0.7, (60, 8))).astype(np.float32) for _ in range(2)]
    train, test = tmp_path / "train.npz", tmp_path / "test.npz"
    for path, X in zip((train, test), sides, strict=True):
        np.savez(path, X=X, y=y)
    probe_files(train, test, tmp_path / "run", backbone="mine", domain="toys", shots=[4, "all"], seeds=1)
    with pytest.raises(UserError, match="does not contain its features"):
        write_classifier(tmp_path / "run", tmp_path / "kept.npz")
    what = write_classifier(tmp_path / "run", tmp_path / "kept.npz", features=train)
    assert what == "mine on toys"
    labels = torch.from_numpy(y)
    found = probe_logistic(*(torch.from_numpy(sides[0]), labels, torch.from_numpy(sides[1]), labels),
                           protocol=COG_V2_SHORT, device=DEVICE)  # fmt: skip
    with np.load(tmp_path / "kept.npz", allow_pickle=False) as kept:
        assert kept["weights"] == pytest.approx(found.weights.numpy(), abs=ROUNDING)
        assert kept["bias"] == pytest.approx(found.bias.numpy(), abs=ROUNDING)
        assert (kept["classes"].tolist(), bool(kept["normalised"])) == (["0", "1", "2"], True)
    with pytest.raises(UserError, match="other training features"):
        write_classifier(tmp_path / "run", tmp_path / "other.npz", features=test)
    with pytest.raises(UserError, match="no backbone 'min' .*did you mean mine"):
        write_classifier(tmp_path / "run", tmp_path / "other.npz", backbones=["min"], features=train)
    probe_files(train, test, tmp_path / "few", backbone="mine", domain="toys", shots=[4], seeds=1)
    with pytest.raises(UserError, match="no logistic regression on all samples"):
        write_classifier(tmp_path / "few", tmp_path / "other.npz", features=train)
    assert not (tmp_path / "other.npz").exists()


def test_from_images_to_a_probe_to_a_table(tmp_path: Path) -> None:
    """The accuracy of the classifier on a test set is that of the probe on the features of its images."""
    rng = np.random.default_rng(0)
    for place, count in (("photos/train", 8), ("photos/test", 6)):
        for number, wnid in enumerate(SYNSETS):
            (tmp_path / place / wnid).mkdir(parents=True)
            for image in range(count):
                pixels = rng.integers(0, 160, (32, 32, 3)) + 40 * np.eye(3, dtype=int)[number]
                Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / place / wnid / f"{image}.png")
    network = {"backbones": ["timm:test_vit"], "backbone": {"weights": "random"}, "preprocessing": "own", "seeds": 1}
    quick = {"shots": ["all"], "logistic": {"protocol": "cog-v2-short"}}
    photos = str(tmp_path / "photos")
    study = study_of(datasets=[photos], probes=["logistic"], **network).replace(**quick)
    probed = run_of(study, tmp_path / "run")
    (top1,) = [score.value for score in probed.scores if score.metric == "top1"]
    write_classifier(tmp_path / "run", tmp_path / "p.npz")
    head = {**network, "backbone": {"weights": "random", "head": str(tmp_path / "p.npz")}}
    shifted = run_of(study_of("shifts", datasets=[f"{photos}/test"], **head), tmp_path / "shifted")
    assert [score.value for score in shifted.scores] == [pytest.approx(top1, abs=1e-6)]
    both = study.replace(probes=["logistic", "classifier"], backbone=head["backbone"]).replace(**quick)
    run = run_of(both, tmp_path / "both")
    assert [(s.domain, s.value) for s in run.scores if s.probe == "classifier"] == [
        ("photos", pytest.approx(top1, abs=1e-6))
    ]
