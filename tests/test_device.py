"""Where work is done: the driver says what PyTorch would, without its being imported."""

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import unseen
from unseen import device

pytestmark = pytest.mark.gpu_too


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if PyTorch were not imported yet."""
    monkeypatch.delitem(sys.modules, "torch")
    device._driver_gpus.cache_clear()
    yield
    device._driver_gpus.cache_clear()


class Driver:
    """A CUDA driver of some version with some GPUs."""

    def __init__(self, gpus: int, version: int = 13_020, fails: int = 0) -> None:
        self.gpus, self.version, self.fails = gpus, version, fails

    def cuInit(self, _: int) -> int:  # noqa: N802
        return self.fails

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = self.gpus
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:  # noqa: N802
        version._obj.value = self.version
        return 0

    def cuDeviceGet(self, *_: object) -> int:  # noqa: N802
        return 0

    def cuDeviceGetName(self, name: Any, *_: object) -> int:  # noqa: N802
        name.value = b"Some GPU"
        return 0


def found(monkeypatch: pytest.MonkeyPatch, driver: Driver | None, built: dict[str, str] | None) -> int | None:
    def load(_: str) -> Driver:
        if driver is None:
            raise OSError
        return driver

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(device, "_built_for", lambda: built)
    device._driver_gpus.cache_clear()
    return device._driver_gpus()


@pytest.mark.usefixtures("without_torch")
def test_the_driver_is_asked_for_what_pytorch_was_built_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = {"cuda": "13.2"}
    assert found(monkeypatch, Driver(2), {}) == 0  # a PyTorch for CPUs alone
    assert found(monkeypatch, None, cuda) == 0
    assert found(monkeypatch, Driver(2, fails=100), cuda) == 0
    assert found(monkeypatch, Driver(2, version=12_080), cuda) is None  # too old, says PyTorch itself, or not
    assert found(monkeypatch, Driver(2), {"hip": "6.2"}) is None
    assert found(monkeypatch, Driver(2), None) is None
    assert found(monkeypatch, Driver(2), cuda) == 2
    assert device.gpu_count() == 2
    assert device.device_name() == "Some GPU"


def test_the_version_file_of_pytorch_is_understood() -> None:
    built = device._built_for() or {}
    known = {"cuda": torch.version.cuda, "hip": torch.version.hip}
    assert {name: version.split(".")[0] for name, version in built.items()} == {
        name: version.split(".")[0] for name, version in known.items() if version
    }


def test_the_driver_and_pytorch_agree() -> None:
    """In a process of its own: what a process has done with CUDA stays."""
    program = "import sys; from unseen.device import gpu_count; print(gpu_count(), 'torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert answer.split() == [str(torch.cuda.device_count()), "False"]


def test_gpus_are_hidden_from_tests_that_are_not_marked_for_one(request: pytest.FixtureRequest) -> None:
    assert (torch.cuda.device_count() > 0) is request.config.getoption("--gpu")
    unmarked = re.compile(r"skipif\(\s*not torch\.cuda")
    assert [path.name for path in Path(__file__).parent.rglob("*.py") if unmarked.search(path.read_text())] == []


def test_a_finished_study_of_features_needs_no_pytorch(tmp_path: Path) -> None:
    """What is finished is told at once: the import would take longer than all the rest."""
    levels = {"l1": "abc", "l2": "def"}
    rng, lines = np.random.default_rng(0), ["level,rank,wnid,name"]
    for level, names in levels.items():
        (tmp_path / "features" / level).mkdir(parents=True)
        for split in ("train", "test"):
            X = np.eye(3).repeat(4, axis=0) + 0.1 * rng.standard_normal((12, 3))
            np.savez(tmp_path / f"features/{level}/{split}.npz", X=X, y=np.array(list(names)).repeat(4))
        lines += [f"{level[1]},{rank},{name},{name}" for rank, name in enumerate(names)]
    (tmp_path / "levels.csv").write_text("\n".join(lines))
    quick = {"protocol": "cog-v2-short"}
    study = unseen.study("cog-v2", levels=tmp_path / "levels.csv", datasets=["l1", "l2"], logistic=quick)
    (tmp_path / "study.toml").write_text(study.replace(shots=2, seeds=1).to_toml())
    program = """
import sys, unseen
run = lambda **more: unseen.run("study.toml", features="features", out="run", progress=False, **more)
plan = run(dry_run=True)
print(plan.jobs, plan.jobs_left, len(run().scores()), "torch" in sys.modules)
"""
    unseen.run(tmp_path / "study.toml", features=tmp_path / "features", out=tmp_path / "run", progress=False)
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert answer.split() == ["2", "0", "4", "False"]
