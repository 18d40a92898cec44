"""Wheels and source distributions that are built here, and environments that they are installed into.

Nothing is downloaded: the build uses the installed Hatchling, and an environment sees the installed dependencies behind
its own packages.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
JUNK = shutil.ignore_patterns(".git", ".venv", "*cache*", "*.egg-info", "build", "dist", "unseen-demo", ".hypothesis")


def alone() -> dict[str, str]:
    """The environment of processes that must not see this checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def built(project: Path, out: Path, *kinds: str) -> list[Path]:
    """The files that `python -m build` makes of a project: `--sdist`, `--wheel`, or both without a word."""
    command = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(out), str(project)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return sorted(out.iterdir())


def copy_of_project(place: Path) -> Path:
    """What a clone of the repository has, without what work leaves in a folder."""
    shutil.copytree(ROOT, place, ignore=JUNK)
    return place


def installed_into(folder: Path, package: Path) -> Path:
    """A folder for `sys.path` with a wheel in it, as `pip install --target` leaves it."""
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(package)], check=True)
    return folder


def clean_environment(folder: Path, package: Path) -> Path:
    """The programs of a new virtual environment with a wheel or a source distribution in it.

    Its dependencies are those of the environment of the tests, which come after its own packages.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [own] = folder.glob("lib/python*/site-packages")
    elsewhere = [sysconfig.get_path("purelib"), *(path for path in sys.path if (Path(path) / "hatchling").is_dir())]
    (own / "dependencies.pth").write_text("\n".join(dict.fromkeys(elsewhere)))
    programs = folder / "bin"
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", *options, str(package)]
    subprocess.run([*command, "--force-reinstall"], check=True, env=alone())
    return programs
