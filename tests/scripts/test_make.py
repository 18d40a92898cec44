"""What `make` would do in a fresh clone, and in one that is set up."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def planned(clone: Path, target: str) -> str:
    command = ["make", "--dry-run", "--no-print-directory", target]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout


def test_the_demo_installs_no_development_tools(clone: Path) -> None:
    assert "'.[torch]'" in planned(clone, "demo")
    assert "[dev]" not in planned(clone, "demo")
    (clone / ".venv").mkdir()
    (clone / ".venv/demo-ready").touch()
    assert "install" not in planned(clone, "demo")
    assert "'.[dev]'" in planned(clone, "test")  # into the same environment


def test_what_tests_need_is_enough_for_the_demo(clone: Path) -> None:
    assert "touch .venv/demo-ready .venv/ready" in planned(clone, "test")
    (clone / ".venv").mkdir()
    for marker in ("demo-ready", "ready"):
        (clone / ".venv" / marker).touch()
    assert "install" not in planned(clone, "demo") + planned(clone, "test") + planned(clone, "site")
