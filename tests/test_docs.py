"""Every command and every example of the README and the docs is run, page by page, in order."""

import doctest
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documented import same_output

import notebooks
import unseen

pytestmark = pytest.mark.early
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Training takes minutes on a GPU and hours without: the same command is run on a thousandth of it.
SHORTENED = {
    "unseen.demo.train": "--device cpu --epochs-scale 0.001 --drawings 1",
    "unseen shifts pool --data paper": "--set steps=6 --set batch=8 --set ratios=0.5,1 --set shares=0.5 --workers 0",
    "unseen run shifts --backbone drawing-pool": "--workers 0",
    "unseen probe train.npz test.npz --shots 1,8,all --out my-run": "--seeds 1",
}
ELSEWHERE = {
    "make demo": "test_demo",
    "make test": "this is it",
    "unseen demo --out demo-run": "test_demo",
    "unseen demo --backbone registry:efficientnet_lite0": "test_drawings_levels",
}

NOTHING_TO_RUN = {"faq.md", "glossary.md", "reference-rows.md", "scale.md"}
"""Pages of figures, which other tests compare with what makes them, and of words."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Commands, Python, and what the Python above them prints (`output`), in order."""
    return re.findall(r"^```(sh|python|output)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def features(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        y = np.arange(200) % 4
        np.savez(folder / f"{name}.npz", X=np.eye(4)[y] + rng.random((200, 4)), y=y)


def accuracies(folder: Path) -> None:
    share = np.random.default_rng(1).uniform(0.2, 0.8, (20, 2))
    shifted = share @ [0.5, 0.3]
    rows = [f"model {i},{a:.3f},{b:.3f},{c:.3f}\n" for i, ((a, b), c) in enumerate(zip(share, shifted, strict=True))]
    (folder / "accuracies.csv").write_text("model,imagenet,yfcc,imagenet-r\n" + "".join(rows))


def photographs(folder: Path) -> None:
    for species in ("wren", "hawk", "beetle", "wasp", "moss"):
        (folder / "photos" / species).mkdir(parents=True)
        for i in range(4):
            (folder / "photos" / species / f"{species}{i}.jpg").write_bytes(b"")


def word_vectors(folder: Path) -> None:
    (folder / "vectors.txt").write_text("cat 1 0.5\ntree 0 1\na 0.2 0.1\ngenus 0.5 -1\nfish -1 1\nused 1 -1\n")


def files_of_the_authors(folder: Path) -> None:
    levels = unseen.levels("cog-v2")
    lists = [list(levels.ids(level)) for level in levels.numbers]
    (folder / "cog_levels_mapping_file.pkl").write_bytes(pickle.dumps(lists))
    splits = {"n02084071": {"train": ["n02084071_1.JPEG"], "test": ["n02084071_2.JPEG"]}}
    (folder / "cog_concepts_split_file.pkl").write_bytes(pickle.dumps(splits))


LONG = {
    "analyses.md",
    "clusters.md",
    "demo.md",
    "dense.md",
    "fine-tuning.md",
    "near-duplicates.md",
    "own-concepts.md",
    "probes.md",
    "real-difference.md",
    "shift-pipeline.md",
    "studies.md",
    "while-training.md",
}
"""Pages that train or extract for several seconds: the long suite runs them."""
WARNING = {"while-training.md"}
"""Pages that use training libraries, which warn about what other libraries have deprecated."""

READERS_OWN = {
    "README.md": [features, accuracies],
    "index.md": [features, accuracies],
    "levels.md": [photographs, word_vectors, files_of_the_authors],
}
"""Files that a page says its reader has. Every other file that a page reads is made on the same page."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            marks=[
                *([pytest.mark.long_suite] if page.name in LONG else []),
                *([pytest.mark.filterwarnings("default")] if page.name in WARNING else []),
            ],
        )
        for page in PAGES
        if page.name not in NOTHING_TO_RUN
    ],
    ids=lambda page: page.name,
)
def test_commands_and_examples(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for make in READERS_OWN.get(page.name, ()):
        make(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)  # no processes that load PyTorch anew
    call = request.getfixturevalue("unseen")
    if "counts.csv" in page.read_text():
        shutil.copy(request.getfixturevalue("counts_file"), tmp_path / "counts.csv")
    names: dict[str, object] = {}
    printed = ""
    for language, block in blocks(page):
        if language == "python":
            printed = run_python(block, names)
            continue
        if language == "output":
            assert same_output(block, printed), printed
            continue
        for command in block.replace("\\\n", "").splitlines():
            if command not in ELSEWHERE:
                run_command(command, tmp_path, call)
    assert blocks(page)


def run_command(command: str, place: Path, call: Callable[..., Any]) -> None:
    """Run a line of a page: one of ours in this process, which has loaded PyTorch once; others in a shell."""
    extra = next((options for name, options in SHORTENED.items() if name in command), "")
    if re.fullmatch(r"unseen [^|<>&;$`*]*", command):
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # a user sees them, and the command goes on
            found = call(*shortened(shlex.split(command)[1:], shlex.split(extra)))
        assert found.code == 0, f"{command}\n{found.out}{found.err}"
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    answer = subprocess.run(
        f"{command} {extra}", shell=True, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout}{answer.stderr}"


def shortened(words: list[str], instead: list[str]) -> list[str]:
    """A command with other values of some options and settings: those of the same name are removed."""
    kept = [*words]
    for option, value in zip(instead[::2], instead[1::2], strict=True):
        setting = f"{value.partition('=')[0]}=" if option == "--set" else ""
        for place in reversed([number for number, word in enumerate(kept[:-1]) if word == option]):
            if kept[place + 1].startswith(setting):
                del kept[place : place + 2]
    return kept + instead


def run_python(block: str, names: dict[str, object]) -> str:
    """Run a block and return what it prints; where a line ends in a comment that is a tuple, the line must give it."""
    checker = doctest.OutputChecker()
    with redirect_stdout(StringIO()) as printed:
        exec(block, names)
    for line in block.splitlines():
        statement, _, comment = line.partition("  # (")
        if comment:
            found = repr(eval(statement, names))
            assert checker.check_output(f"({comment.strip()}\n", f"{found}\n", doctest.ELLIPSIS), found
    return printed.getvalue()


@pytest.mark.long_suite
@pytest.mark.parametrize("times", [1, 2])  # a reader runs cells again
def test_notebook_gives_what_it_shows(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    monkeypatch.setenv("COLUMNS", notebooks.WIDTH)
    shown = notebooks.read(ROOT / "docs/notebooks/tour.ipynb")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        found = notebooks.executed(shown, times)
    for number, (first, second) in enumerate(zip(notebooks.texts(shown), notebooks.texts(found), strict=True), 1):
        assert first, f"cell {number} has no output"
        assert same_output(first, second, absolute=0.02), f"cell {number}\n{second}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks/README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert all((page.parent / link).exists() for link in links), links


def test_lines_are_short() -> None:
    """At most 120 characters, as in code; tables and blocks of code are as wide as they have to be."""
    long = []
    for page in {*PAGES, *ROOT.glob("*.md"), ROOT / "benchmarks/README.md"}:
        prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        lines = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")]
        long += [f"{page.relative_to(ROOT)}: {line}" for line in lines]
    assert not long, "\n".join(long)
