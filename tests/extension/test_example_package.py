"""The package of docs/example-plugin, built and installed as anybody's would be, and used in other processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from built_packages import ROOT, built, installed_into
from installed_packages import EXAMPLE, EXAMPLE_MODULE

pytestmark = pytest.mark.long_suite
ORIGIN = "unseen-corners 1.0"
GROUPS = {"trackers": "loggers"}
"""Groups of entry points that are not called as the kind is."""
RUN = ("run", "corners-study", "--backbone", "quarters:mean")
ADDED = {
    "probes": ("probe", "nearest-corner"), "metrics": ("metric", "error-rate"), "datasets": ("dataset", "corners"),
    "backbones": ("id", "quarters:"), "studies": ("study", "corners-study"), "trackers": ("tracker", "lines"),
}  # fmt: skip
IN_PYTHON = """
import numpy as np
import unseen

rng = np.random.default_rng(0)
y = np.arange(40) % 4
X = np.eye(4)[y] + 0.1 * rng.random((40, 4))
result = unseen.probe(X, y, X, y, probe="nearest-corner", metric="error-rate", progress=False)
print(sorted(result.summary()["metric"]), unseen.probes.NearestCorner(norm=1.0).norm)
net, data = unseen.load_backbone("quarters:mean"), unseen.open_dataset("corners")
run = unseen.run("corners-study", net, out="in-python", progress=["lines"])
print(run.scores()["value"].tolist(), open("in-python/scores.txt").read().count("\\n"))
"""
NOTHING_IMPORTED = """
import sys
from unseen.cli.main import run

sys.argv = ["unseen", "--help"]
try:
    run()
finally:
    wrong = ("unseen_corners", "unseen.extension", "importlib.metadata")
    print([name for name in sys.modules if name.startswith(wrong)])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    [wheel] = built(EXAMPLE, folder / "dist", "--wheel")
    return installed_into(folder / "site", wheel)


def said(site: Path, folder: Path, *words: str, **more: str) -> str:
    """What a command prints that sees the package."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{site}"} | more
    answer = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_every_kind_is_listed_with_its_package(site: Path, tmp_path: Path) -> None:
    for kind, (column, name) in ADDED.items():
        found = {
            each[column]: each["package"]
            for each in json.loads(said(site, tmp_path, "-m", "unseen", "ls", kind, "--json"))
        }
        assert found.pop(name) == ORIGIN
        assert ORIGIN not in found.values()
    keys = json.loads(said(site, tmp_path, "-m", "unseen", "ls", "keys", "nearest-corner", "--json"))
    assert "nearest-corner.norm" in {each["key"] for each in keys}
    assert "[nearest-corner]" in said(site, tmp_path, "-m", "unseen", "show", "corners-study")


def test_help_imports_nothing_of_it_and_reads_no_metadata(site: Path, tmp_path: Path) -> None:
    assert said(site, tmp_path, "-c", NOTHING_IMPORTED).splitlines()[-1] == "[]"


def test_shells_complete_its_names(site: Path, tmp_path: Path) -> None:
    line = "unseen run corners-study --probes nearest"
    asked = {"_UNSEEN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "4"}
    command = "import sys; sys.argv = ['unseen']; from unseen.cli.main import run; run()"
    assert said(site, tmp_path, "-c", command, **asked).split() == ["nearest-corner"]


@pytest.mark.parametrize("means", [("--workers", "1"), ("--workers", "2"), ("--workers", "2", "--executor", "ray")])
def test_workers_see_it(site: Path, tmp_path: Path, means: tuple[str, ...]) -> None:
    if "ray" in means:
        pytest.importorskip("ray")
    said(site, tmp_path, "-m", "unseen", *RUN, "--log", "lines", "--out", "run", *means)
    lines = (tmp_path / "run/scores.txt").read_text().splitlines()
    assert lines[-1] == "finished"
    assert {line.rpartition(" ")[2] for line in lines[:-1]} == {"1.0000", "0.0000"}
    remarks = json.loads((tmp_path / "run/run.json").read_text())["remarks"]
    assert all(word in remarks[f"from {ORIGIN}"] for word in ("nearest-corner", "error-rate", "corners", "lines"))


def test_it_is_used_in_python(site: Path, tmp_path: Path) -> None:
    first, second = said(site, tmp_path, "-c", IN_PYTHON).splitlines()[-2:]
    assert first == "['error-rate', 'top1', 'top5'] 1.0"
    assert second == "[1.0, 1.0, 0.0] 4"


def test_its_parts_are_those_of_its_page() -> None:
    """Every entry point is in its README, and its modules are the files that the README names."""
    readme = (EXAMPLE / "README.md").read_text()
    for kind, (_, name) in ADDED.items():
        assert f"`unseen.{GROUPS.get(kind, kind)}` | `{name}`" in readme
    files = {path.name for path in (EXAMPLE / "src" / EXAMPLE_MODULE).iterdir() if path.suffix == ".py"}
    assert {name for name in files - {"__init__.py"} if f"`{name}`" not in readme} == set()
