"""Every command and every example of the README and the docs is run."""

import doctest
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import unseen

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages take for granted."""
    folder = tmp_path_factory.mktemp("docs")
    for species in ("wren", "hawk", "beetle", "wasp", "moss"):
        (folder / "photos" / species).mkdir(parents=True)
        for i in range(4):
            (folder / "photos" / species / f"{species}{i}.jpg").write_bytes(b"")
    (folder / "vectors.txt").write_text("cat 1 0.5\ntree 0 1\na 0.2 0.1\ngenus 0.5 -1\nfish -1 1\nused 1 -1\n")
    levels = unseen.levels("cog-v2")
    lists = [list(levels.ids(level)) for level in range(1, 6)]
    (folder / "cog_levels_mapping_file.pkl").write_bytes(pickle.dumps(lists))
    splits = {"n02084071": {"train": ["n02084071_1.JPEG"], "test": ["n02084071_2.JPEG"]}}
    (folder / "cog_concepts_split_file.pkl").write_bytes(pickle.dumps(splits))
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands(page: Path, place: Path, request: pytest.FixtureRequest) -> None:
    commands = [line for block in blocks(page, "sh") for line in block.splitlines() if not line.startswith("make ")]
    if any("counts.csv" in command for command in commands):
        shutil.copy(request.getfixturevalue("counts_file"), place / "counts.csv")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        answer = subprocess.run(
            command, shell=True, cwd=place, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, f"{command}\n{answer.stdout}{answer.stderr}"
    assert commands


def test_make_demo_runs_again_at_once() -> None:
    if not (ROOT / ".venv/ready").exists():
        pytest.skip("needs the environment that make sets up")
    command = ["make", "--directory", str(ROOT), "demo"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "cog-v2" in answer.stdout


def test_python_examples() -> None:
    """Values in comments are what the lines give."""
    (code,) = blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    checker = doctest.OutputChecker()
    for line in filter(None, code.splitlines()):
        statement, _, comment = line.partition("  #")
        if comment.strip().startswith("("):
            found = repr(eval(statement, names))
            assert checker.check_output(comment.strip() + "\n", found + "\n", doctest.ELLIPSIS), found
        else:
            exec(statement, names)
    assert len(names["levels"].ids(5)) == 1000  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks/README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert all((page.parent / link).exists() for link in links), links
