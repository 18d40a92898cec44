"""`unseen tasks --dense`: the plan, and the number of training patches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unseen as api
from unseen.errors import UserError

SCENES = ("--datasets", "scenes-seen", "--backbone", "demo:untrained", "--size", 28)


def test_a_dry_run_tells_training_patches_and_memory(unseen: Callable[..., Any], tmp_path: Path) -> None:
    for options, patches in ((("--patches", "all"), 4_900), (("--patches", 20), 2_000)):
        found = unseen("tasks", "--dense", *SCENES, *options, "--out", tmp_path / "run", "--dry-run")
        assert found.code == 0, found.err
        assert f"{patches:,}" in found.out
        assert "B of memory." in " ".join(found.out.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dense", "--patches", 0], "at least 1"),
        (["--dense", "--patches", "some"], "at least 1, or all, not 'some'"),
        (["--dense", "--patches", 50], "cannot draw 50 of 49 patches"),
        (["--patches", 20], "--patches"),
        (["--dense", "--finetune", "--patches", 20], "--patches"),
    ],
)
def test_patches_that_cannot_be_drawn(
    unseen: Callable[..., Any], tmp_path: Path, options: list[object], said: str
) -> None:
    found = unseen("tasks", *options, *SCENES, "--out", tmp_path / "run")
    assert found.code == 2
    assert said in " ".join(found.err.split())
    assert not (tmp_path / "run").exists()


def test_patches_in_python(tmp_path: Path) -> None:
    net = api.load_backbone("demo:untrained", size=28, patches=True)
    plan = api.tasks(net, dense=True, datasets="scenes-seen", patches=20, out=tmp_path / "run", dry_run=True)
    assert plan.to_frame()["training patches"].tolist() == [2_000]  # type: ignore[union-attr]
    with pytest.raises(UserError, match="patches"):
        api.tasks(net, datasets="digits", patches=20, out=tmp_path / "run", dry_run=True)
    with pytest.raises(UserError, match="at least 1"):
        api.tasks(net, dense=True, datasets="scenes-seen", patches=-1, out=tmp_path / "run", dry_run=True)
