"""An installation without PyTorch: what works in it, and what the rest says."""

import csv
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from axis_folders import write_task_run
from run_folders import write_concept_run

from unseen.errors import UserError
from unseen.extras import REQUIREMENTS, MissingExtraError, install_command, naming_extras, pip_install
from unseen.probes.units import hit_units
from unseen.runs.data import Backbone

pytestmark = pytest.mark.early
ROOT = Path(__file__).parents[1]
LEFT_OUT = ("torch", "optuna", "safetensors", "torchvision", "timm")
WITHOUT = f"""
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LEFT_OUT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
RUN = f"""{WITHOUT}
from unseen.cli import starting
from unseen.cli.main import run
starting.SECONDS = 3600
codes, found = [], []
commands, calls = sys.argv[1:]
for arguments in json.loads(commands):
    sys.argv = ["unseen", *arguments]
    try:
        run()
    except SystemExit as stop:
        codes.append(stop.code)
exec(calls)
print(json.dumps([codes, found]))
"""


def run_without_torch(folder: Path, *commands: str, calls: str = "") -> tuple[list[int], str, list[int]]:
    """What is done in one process that has no PyTorch: commands, then calls in Python.

    The exit code of each command, all that is said on standard error, and the list `found` that the calls fill.
    """
    arguments = [sys.executable, "-c", RUN, json.dumps([command.split() for command in commands]), calls]
    answer = subprocess.run(arguments, cwd=folder, check=False, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    codes, found = json.loads(answer.stdout.splitlines()[-1])
    return codes, answer.stderr, found


def test_what_needs_no_torch_works_without(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with (tmp_path / "table.csv").open("w", newline="") as file:
        rows = [[f"m{i}", *np.round(row, 4)] for i, row in enumerate(rng.uniform(0.2, 0.9, (12, 4)))]
        csv.writer(file).writerows([["model", "a", "b", "c", "ood"], *rows])
    for name in ("id.npz", "ood.npz"):
        labels = rng.integers(0, 3, 200)
        wrong = {f"m{i}": np.where(rng.random(200) < 0.05 * i, 0, labels) for i in range(1, 8)}
        np.savez(tmp_path / name, labels=labels, **wrong)
    leaves = "".join(f"{kind}{i},{kind}\n" for kind in ("hawk", "moss") for i in range(4))
    (tmp_path / "tree.csv").write_text(f"child,parent\n{leaves}hawk,life\nmoss,life\n")
    (tmp_path / "seen.txt").write_text("hawk0\n")
    for name in [f"{kind}{i}" for kind in ("hawk", "moss") for i in range(4)]:
        (tmp_path / "photos" / name).mkdir(parents=True)
        for image in ("1.jpg", "2.jpg"):
            (tmp_path / "photos" / name / image).touch()
    commands = (
        "levels show cog-v2",
        "levels build --set taxonomy=tree.csv --seen seen.txt --levels 2 --size 3 --out levels.csv",
        "levels plot levels.csv --out levels.svg",
        "levels plot levels.csv --out levels.html",
        "levels splits build --images photos --levels levels.csv --set test=1 --set min-train=1 --out splits.npz",
        "levels splits show splits.npz",
        "levels similarity tiger_cat.n.02 domestic_cat.n.01",
        "levels lookup tabby.n.01",
        "shifts fit table.csv --id a,b --ood ood --out fit",
        "shifts pairs table.csv --id a,b,c --ood ood",
        "shifts agreement id.npz ood.npz",
        "ls shift-sets",
        "leaderboard --out leaderboard.html",
        "papers tables cog-v2",
        "papers claims",
        "ls backbones --catalogue",
        "ls datasets",
        "doctor",
    )
    codes, said, _ = run_without_torch(tmp_path, *commands)
    assert dict(zip(commands, codes, strict=True)) == dict.fromkeys(commands, 0), said


def test_what_needs_torch_says_so_in_one_sentence(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("train.npz", "test.npz"):
        np.savez(tmp_path / name, X=rng.normal(size=(8, 3)).astype(np.float32), y=np.repeat([0, 1], 4))
    (tmp_path / "images").mkdir()
    commands = (
        "probe train.npz test.npz",
        "demo --out demo",
        "ls backbones timm:resnet50",
        "extract --datasets images --backbone timm:resnet50 --out features",
        "shifts interpolate a.safetensors b.safetensors --out wise",
    )
    codes, said, _ = run_without_torch(tmp_path, *commands)
    assert codes == [2] * len(commands), said
    lines = said.splitlines()
    assert len(lines) == len(commands), said
    assert all("pip install " in line and "torch>=2.8" in line for line in lines), said


@pytest.mark.long_suite
def test_folders_of_runs_are_read_without_torch(tmp_path: Path) -> None:
    write_runs(tmp_path)
    commands = (
        "report concepts --out concepts.html --table scores.csv",
        "report concepts tasks --out axes.html",
        "report concepts --compare a b",
        "leaderboard concepts --out leaderboard.html",
    )
    calls = """
import unseen
from pathlib import Path
from unseen.api.run import Run
run = Run(Path("concepts"))
pages = [run.report("a.html"), unseen.report("tasks", "b.html")]
found += [len(run.scores()), len(run.compare("a", "b")), len(unseen.leaderboard("concepts").entries),
          sum(page.is_file() for page in pages)]
"""
    codes, said, found = run_without_torch(tmp_path, *commands, calls=calls)
    assert dict(zip(commands, codes, strict=True)) == dict.fromkeys(commands, 0), said
    assert found == [2 * 6 * 2, 6 + 2, 31 + 2, 2]  # six domains, and two means over the levels


def write_runs(folder: Path) -> None:
    """Runs of concepts and of tasks, the former with the test images that each backbone got right."""

    def accuracy(backbone: str, domain: str, seed: int) -> float:
        return 0.5 + 0.25 * (backbone == "a")

    run = write_concept_run(folder / "concepts", [Backbone("a", "x"), Backbone("b", "x")], accuracy, seeds=1)
    for path in (run / "results").glob("*.json"):
        record = json.loads(path.read_text())
        [fit] = record["values"]["fits"]
        fit["details"] |= hit_units(np.arange(8) < 8 * fit["values"]["top1"]).in_details
        path.write_text(json.dumps(record))
    (run / "tests").mkdir()
    np.savez(run / "tests/test.npz", y=np.arange(8) % 2, classes=np.array(["p", "q"]), ids=np.array(""))
    write_task_run(folder / "tasks", ("a", "b"), lambda name, dataset, setting: 0.1 if "ece" in setting else 0.7)


def test_functions_that_need_torch_name_its_packages(tmp_path: Path) -> None:
    """Also where they import it only when they are called."""
    (tmp_path / "features/l5").mkdir(parents=True)
    for seed, split in enumerate(("train", "test")):
        X = np.random.default_rng(seed).normal(size=(2000, 2)).astype(np.float32)
        np.savez(tmp_path / f"features/l5/{split}.npz", X=X, y=np.arange(2000) % 1000)
    calls = f"""{WITHOUT}
import numpy as np
import unseen
X, y = np.eye(4), [0, 1, 0, 1]
concepts = unseen.study("cog-v2", datasets="l5", shots=1)
tasks = unseen.study("ericsson-2021", datasets="digits")
calls = {{
    "probe": lambda: unseen.probe(X, y, X, y),
    "load_backbone": lambda: unseen.load_backbone("timm:resnet50"),
    "example": lambda: unseen.example("l5"),
    "extract": lambda: unseen.extract(None, None, out="features"),
    "concepts": lambda: unseen.run(concepts, features="features", out="run"),
    "tasks": lambda: unseen.run(tasks, "timm:resnet50", out="run"),
    "shifts": lambda: unseen.run("shifts", "timm:resnet50", data=".", out="run"),
}}
answers = {{}}
for name, call in calls.items():
    try:
        call()
    except Exception as error:
        answers[name] = type(error).__name__
print(json.dumps(answers))
"""
    answer = subprocess.run([sys.executable, "-c", calls], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(answer.stdout)
    names = ("probe", "load_backbone", "example", "extract", "concepts", "tasks", "shifts")
    assert found == dict.fromkeys(names, "MissingExtraError")


def test_python_gets_an_import_error_that_is_a_users_error() -> None:
    @naming_extras()
    def needs(package: str) -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    with pytest.raises(MissingExtraError, match=r"pip install .*torch>=2\.8") as caught:
        needs("torch.nn")
    assert isinstance(caught.value, UserError)
    assert isinstance(caught.value, ImportError)
    with pytest.raises(ModuleNotFoundError, match="elsewhere"):
        needs("elsewhere")


def test_advised_packages_are_those_of_pyproject() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
    extras = extras["metadata"]["hooks"]["custom"]["extras"]
    resolved = {}
    for name in REQUIREMENTS:
        packages, left = set[str](), [name]
        while left:
            for each in extras[left.pop()]:
                if each.startswith("["):
                    left.append(each.strip("[]"))
                else:
                    packages.add(each)
        resolved[name] = packages
    assert resolved == {name: {*REQUIREMENTS["torch"], *own} for name, own in REQUIREMENTS.items()}


def test_install_commands_are_for_the_running_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setattr("shutil.which", lambda name: f"{tmp_path}/.venv/bin/pip")
    assert pip_install("timm>=1", "ray") == "pip install 'timm>=1' ray"  # an activated environment
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/pip")
    assert pip_install("timm") == ".venv/bin/python -m pip install timm"  # .venv/bin/unseen, as after make
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pip_install("timm") == f"{tmp_path}/.venv/bin/python -m pip install timm"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert pip_install("timm") == f"uv pip install --python {tmp_path}/.venv/bin/python timm"


def test_only_missing_packages_are_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unseen.extras._installed", lambda requirement: requirement.startswith(("torch", "optuna")))
    assert install_command("onnx").split(" install ")[1] == "'safetensors>=0.4.5' onnx onnxruntime"
    monkeypatch.setattr("unseen.extras._installed", lambda requirement: True)
    assert install_command("onnx").split(" install ")[1] == "onnx onnxruntime"
