"""What is released: built as a wheel and as a source distribution, installed into clean environments, and used."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from built_packages import ROOT, alone, built, clean_environment, copy_of_project, installed_into

from unseen.version import __version__

WORKFLOW = ROOT / ".github/workflows/test.yml"
LIGHT = (
    ["--version"], ["ls", "studies"], ["ls", "probes"], ["ls", "datasets"], ["levels", "show", "cog-v2"],
    ["papers", "--help"], ["leaderboard", "--out", "board.html"], ["show", "cog-v2"], ["doctor"],
)  # fmt: skip
SHORTEST = ["seeds=1", "logistic.protocol=cog-v2-short", "backbones=pixels", "datasets=seen,l5"]
"""The study of the demo with as little work as shows that its data are there."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the source distribution, by their endings."""
    folder = tmp_path_factory.mktemp("release")
    found = built(copy_of_project(folder / "unseen"), folder / "dist")
    return {path.suffix: path for path in found}


def tracked(*below: str) -> set[str]:
    """The files of the repository."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a clone of the repository")
    answer = subprocess.run(["git", "ls-files", *below], cwd=ROOT, capture_output=True, text=True, check=True)
    return {*answer.stdout.splitlines()}


@pytest.mark.long_suite
def test_the_packages_have_what_they_need_and_nothing_else(packages: dict[str, Path]) -> None:
    with tarfile.open(packages[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names == tracked() | {"PKG-INFO"}
    with zipfile.ZipFile(packages[".whl"]) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
        facts = Parser().parsestr(wheel.read(next(n for n in wheel.namelist() if n.endswith("METADATA"))).decode())
    assert {f"src/{name}" for name in inside} == tracked("src")
    assert "unseen/py.typed" in inside
    assert facts["Version"] == __version__
    assert {"torch", "all", "dev"} <= {*facts.get_all("Provides-Extra")}


@pytest.mark.long_suite
@pytest.mark.parametrize("kind", [".whl", ".gz"])
def test_a_clean_environment_runs_the_commands_and_the_demo(
    packages: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    programs = clean_environment(tmp_path / "environment", packages[kind])

    def said(*words: str) -> str:
        answer = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=alone())
        assert answer.returncode == 0, f"{words}: {answer.stdout} {answer.stderr}"
        return answer.stdout

    place = said(str(programs / "python"), "-c", "import unseen; print(unseen.__file__)")
    assert place.startswith(str(tmp_path))
    command = str(programs / "unseen")
    for words in LIGHT:
        assert said(command, *words)
    if kind == ".whl":  # both have the same files
        said(command, "run", "drawings", *(word for each in SHORTEST for word in ("--set", each)), "--out", "run")
        assert len((tmp_path / "run/scores.csv").read_text().splitlines()) > 2
        assert (tmp_path / "run/report.html").is_file()


@pytest.mark.long_suite
def test_another_name_is_one_line(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path / "renamed")
    file = project / "pyproject.toml"
    text, lines = re.subn(r'^name = "unseen"$', 'name = "other-name"', file.read_text(), flags=re.MULTILINE)
    assert lines == 1
    file.write_text(text)
    [wheel] = built(project, tmp_path / "dist", "--wheel")
    assert wheel.name.startswith("other_name-")
    site = installed_into(tmp_path / "site", wheel)
    code = (
        "from unseen.extension.entry_points import distribution, our_origin; import unseen.extension as e;"
        "print(distribution(), our_origin(), e.__file__)"
    )
    environment = alone() | {"PYTHONPATH": str(site)}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert found.split()[:3] == ["other-name", "other-name", __version__]
    assert str(site) in found
    [facts] = [Parser().parsestr(path.read_text()) for path in site.glob("other_name-*.dist-info/METADATA")]
    assert facts["Name"] == "other-name"
    assert any(each.startswith("torch") and "timm" in each for each in facts.get_all("Requires-Dist"))
    assert not [each for each in facts.get_all("Requires-Dist") if each.startswith("unseen")]


def test_the_workflow_runs_our_commands_on_every_supported_python() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = [each.rpartition(" ")[2] for each in classifiers if re.search(r":: 3\.\d+$", each)]
    jobs = workflow["jobs"]
    assert jobs["usual"]["strategy"]["matrix"]["python"] == supported
    assert {*jobs["long"]["strategy"]["matrix"]["python"]} == {supported[0], supported[-1]}
    for name, target in (("usual", "test"), ("long", "test-long")):
        runs = [step["run"] for step in jobs[name]["steps"] if "run" in step]
        assert runs[-1] == f"make {target} PYTHON=python"
        assert all((ROOT / run.split()[-1]).is_file() for run in runs[:-1])
    assert workflow["permissions"] == {"contents": "read"}
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", each) for each in used)
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert lowest == f">={supported[0]}"


@pytest.mark.long_suite
def test_the_workflow_fits_the_schema_of_workflows() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)]
    subprocess.run(command, check=True, capture_output=True)
