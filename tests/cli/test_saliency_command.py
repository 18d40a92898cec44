"""`unseen tasks --saliency`: what goes with it, and mistakes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu_too


def test_a_dry_run_tells_the_passes(unseen: Callable[..., Any], tmp_path: Path) -> None:
    asked = ("--backbone", "demo:untrained", "--examples", 2, "--out", tmp_path / "run", "--dry-run")
    found = unseen("tasks", "--saliency", *asked)
    assert found.code == 0, found.err
    assert "10/2" in found.out  # the default
    assert "648" in found.out  # 2 × 18² masks on 28 × 28 pixels
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dense"], "--dense and --saliency cannot be combined"),
        (["--finetune"], "--finetune and --saliency cannot be combined"),
        (["--limit", 3], "--limit cannot be used with --saliency"),
        (["--grid", "10/3"], "the stride must divide the mask"),
        (["--grid", "32/8"], "28 × 28 pixels, smaller than the mask of 32 × 32"),
        (["--examples", 0], "--examples must be at least 1"),
        (["--batch", 0], "at least one image"),
        (["--images", "nowhere"], "nowhere: no such file or folder"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    unseen: Callable[..., Any], tmp_path: Path, options: list[object], said: str
) -> None:
    found = unseen("tasks", "--saliency", "--backbone", "demo:untrained", "--out", tmp_path / "run", *options)
    assert found.code == 2
    assert said in " ".join(found.err.split())
    assert "Traceback" not in found.err


def test_options_of_saliency_need_it(unseen: Callable[..., Any], tmp_path: Path) -> None:
    found = unseen("tasks", "--backbone", "demo:untrained", "--out", tmp_path / "run", "--grid", "10/2")
    assert (found.code, "--grid needs --saliency" in found.err) == (2, True)
