"""The reference of `unseen run cog-v2`: fine-tuning that joins the run of frozen features, and its page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiny_imagenet import TEST, make_tiny_imagenet
from unseen.runs.record import read_run

pytestmark = pytest.mark.gpu_too


def results(run: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (run / "results").glob("*.json")}


def test_it_joins_the_run_and_its_page(tmp_path: Path, unseen: Callable[..., Any]) -> None:
    tiny, run = make_tiny_imagenet(tmp_path / "imagenet"), tmp_path / "run"
    images = ("--data", f"imagenet-21k={tiny.imagenet_21k}", "--data", f"imagenet-1k={tiny.imagenet_1k}")
    keys = (f"levels={tiny.levels}", f"splits={tiny.splits}", "logistic.protocol=cog-v2-short")
    settings = [word for key in keys for word in ("--set", key)]
    common = ("--seeds", 1, "--workers", 1, "--out", run)
    words = ("run", "cog-v2", "--backbone", tiny.backbone, *images, *settings, "--shots", "all", *common)
    first = unseen(*words)
    assert first.code == 0, first.err
    assert "features − fine-tuned" not in first.out
    before = read_run(run)
    # The study in the folder of the run knows everything but what is added; code that it names needs a word.
    tuned = ("fine-tuned.protocol=reference", "fine-tuned.batch=8", "fine-tuned.rate=0.1", "fine-tuned.epochs=20")
    again = (
        "run",
        run,
        "--probes",
        "fine-tuned",
        *(word for key in tuned for word in ("--set", key)),
        *images,
        *common,
    )
    refused = unseen(*again)
    assert (refused.code, refused.err.count("\n"), "--allow-code" in refused.err) == (2, 1, True)
    planned = unseen(*again, "--allow-code", "--dry-run")
    assert planned.code == 0, planned.err
    assert read_run(run) == before
    second = unseen(*again, "--allow-code")
    assert second.code == 0, second.err
    after = read_run(run)
    found = {s.domain: s.value for s in after.scores if (s.probe, s.metric) == ("fine-tuned", "top1")}
    assert list(found) == ["in1k", "l1", "l2"]
    for value in found.values():
        assert value * 3 * TEST == pytest.approx(round(value * 3 * TEST))  # a share of the domain's test images
        assert value > 0.6  # three colours under noise; chance is a third
    assert [score for score in after.scores if score.probe == "logistic"] == list(before.scores)
    features = {s.domain: s.value for s in before.scores if s.metric == "top1"}
    lines = [line.split()[1:] for line in second.out.partition("features − fine-tuned")[2].splitlines()[1:4]]
    assert lines == [
        [d, f"{100 * features[d]:.1f}", f"{100 * found[d]:.1f}", f"{100 * (features[d] - found[d]):+.1f}"]
        for d in found
    ]
    assert 'id="fine-tuning"' in (run / "report.html").read_text()
    assert {path.name for path in run.glob("*.toml")} == {"study.toml", "study-2.toml"}
    kept = results(run)
    third = unseen(*again, "--allow-code")
    assert third.code == 0, third.err
    assert "0 of 3 to do" in third.out
    assert "jobs to do" not in third.err
    assert results(run) == kept
