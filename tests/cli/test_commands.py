"""The command line: what it answers, and how it refuses."""

import csv
import json
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unseen as package

Unseen = Callable[..., Any]
TREE = "child,parent\n" + "".join(f"{kind}{i},{kind}\n" for kind in ("finch", "hawk", "moss") for i in range(6))
TREE += "finch,bird\nhawk,bird\nbird,life\nmoss,life\n"


@pytest.fixture
def tree(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "tree.csv").write_text(TREE)
    (tmp_path / "seen.txt").write_text("finch0\n")
    return tmp_path / "tree.csv", tmp_path / "seen.txt"


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_help_answers_at_once() -> None:
    """0.2 s of processor time on an idle machine, half as much again where others compete for its caches."""
    command = [str(Path(sys.executable).parent / "unseen"), "--help"]
    # Compiled modules are kept between calls, as they are for a user.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(5):
        before = os.times()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(times) < 0.5


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
from unseen.cli.main import run
sys.argv = ["unseen", "--help"]
try:
    run()
except SystemExit:
    print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    loaded = set(said.splitlines()[-1].removeprefix("loaded: ").split())
    assert {"typer", "unseen"} <= loaded
    heavy = {
        "numpy",
        "scipy",
        "sklearn",
        "torch",
        "optuna",
        "pandas",
        "pyarrow",
        "matplotlib",
        "plotly",
        "jinja2",
        "PIL",
    }
    assert not loaded & (heavy | {"PIL"})


def test_version_and_no_arguments(unseen: Unseen) -> None:
    assert unseen("--version").out == f"unseen {package.__version__}\n"
    answer = unseen()
    assert answer.code == 0
    assert "levels" in answer.out


def test_similarity(unseen: Unseen) -> None:
    assert unseen("levels", "similarity", "n02123159", "n02121808", "--measure", "lin").out == "0.828703\n"
    assert unseen("levels", "similarity", "tiger_cat.n.02", "domestic_cat.n.01").out == "0.828703\n"
    every = json.loads(unseen("levels", "similarity", "n02123159", "n02084071", "--measure", "all", "--json").out)
    assert set(every["similarity"]) == {"lin", "resnik", "jiang-conrath", "wu-palmer", "path", "leacock-chodorow"}


def test_concept(unseen: Unseen) -> None:
    (record,) = json.loads(unseen("levels", "lookup", "n02123159", "--json").out)
    assert record["name"] == "tiger_cat.n.02"
    assert record["in"] == ["imagenet-1k", "imagenet-21k"]
    assert [r["wnid"] for r in json.loads(unseen("levels", "lookup", "tiger cat", "--json").out)] == [
        "n02126465",
        "n02123159",
    ]
    assert "tiger_cat.n.02" in unseen("levels", "lookup", "having a striped coat", "--gloss").out


def test_show(unseen: Unseen) -> None:
    answer = unseen("levels", "show", "cog-v2")
    assert answer.code == 0
    assert "1,168,804" in answer.out
    assert len(json.loads(unseen("levels", "show", "cog-v1", "--json").out)["levels"]) == 5
    assert len(json.loads(unseen("levels", "show", "cog-v2", "--level", 5, "--json").out)) == 1000


def test_build_prints_every_step_and_writes_the_published_levels(
    unseen: Unseen, counts_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "levels.csv"
    answer = unseen("levels", "build", "--recipe", "cog-v2", "--counts", counts_file, "--out", out)
    assert answer.code == 0
    for left in ("21,841", "20,842", "20,081", "7,443", "6,840", "5,216", "5,146"):
        assert left in answer.out, left
    shipped = Path(package.__file__).parent / "ontology/data/cog-v2.csv"
    assert out.read_bytes() == shipped.read_bytes()


def test_build_from_cold_start_takes_less_than_five_seconds(counts_file: Path, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "unseen"), "levels", "build", "--recipe", "cog-v2"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--counts", counts_file, "--out", tmp_path / "l.csv"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5  # also on a busy machine


def test_explain(unseen: Unseen, counts_file: Path) -> None:
    arguments = ("levels", "build", "--recipe", "cog-v2", "--counts", counts_file, "--explain", "n02121808")
    assert unseen(*arguments).out == "n02121808 is out: it is an ancestor of a seen concept.\n"
    assert unseen(*arguments[:-1], "domestic_cat.n.01").out == unseen(*arguments).out


def test_concepts_of_ones_own_taxonomy_are_given_by_id_or_name(unseen: Unseen, tmp_path: Path) -> None:
    edges = [f"{kind}{i},{kind},{kind} {i}" for kind in ("f", "h", "m") for i in range(6)]
    (tmp_path / "tree.csv").write_text("\n".join(["child,parent,name", *edges, "f,life,finches", "h,life,", "m,life,"]))
    (tmp_path / "seen.txt").write_text("f 0\n")
    (tmp_path / "counts.csv").write_text("wnid,images\n" + "".join(f"{k} {i},9\n" for k in "fhm" for i in range(6)))
    build = ("levels", "build", "--set", f"taxonomy={tmp_path / 'tree.csv'}", "--seen", tmp_path / "seen.txt",
    "--levels",
             1, "--size", 5, "--counts", tmp_path / "counts.csv")  # fmt: skip
    assert "f1 (f 1) is in level 1" in unseen(*build, "--explain", "f 1").out
    assert (
        "f1 is out: it lies under finches" in unseen(*build, "--explain", "f1", "--set", "exclude-subtrees=finches").out
    )
    assert unseen(*build, "--explain", "f 9").code == 2


def test_levels_of_a_species_tree(unseen: Unseen, tree: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "own.csv"
    answer = unseen(
        "levels", "build", "--set", f"taxonomy={tree[0]}", "--seen", tree[1], "--levels", 2, "--size", 5, "--out", out
    )
    assert answer.code == 0, answer.err
    rows = read_csv(out)
    assert list(rows[0]) == ["level", "rank", "wnid", "name", "similarity", "nearest", "images"]
    assert {row["wnid"] for row in rows if row["level"] == "1"} == {f"finch{i}" for i in range(1, 6)}
    assert all(row["wnid"].startswith("moss") for row in rows if row["level"] == "2")
    assert {row["nearest"] for row in rows} == {"finch0"}


def test_levels_for_another_seen_set_of_wordnet(unseen: Unseen, tmp_path: Path) -> None:
    (tmp_path / "seen.txt").write_text("tabby.n.01\nn02084071  # dog\n")
    answer = unseen("levels", "build", "--seen", tmp_path / "seen.txt", "--size", 100, "--json")
    summary = json.loads(answer.out)
    assert summary["recipe"] == "own"
    means = [level["mean_similarity"] for level in summary["levels"]]
    assert means == sorted(means, reverse=True)


def test_images_on_disk_are_counted(unseen: Unseen, tree: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("finch1", "hawk0", "moss0"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for i in range(3 if name != "moss0" else 2):
            (tmp_path / "images" / name / f"{i}.jpg").write_bytes(b"")
    arguments = [
        "--set",
        f"taxonomy={tree[0]}",
        "--seen",
        tree[1],
        "--images",
        tmp_path / "images",
        "--levels",
        1,
        "--size",
        2,
    ]
    answer = unseen("levels", "build", *arguments, "--set", "min-images=3", "--json")
    assert json.loads(answer.out)["eligible"] == 2
    assert answer.err.count("they count as 0 images") == 1


def test_text_levels_keep_the_concepts(unseen: Unseen, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("cat 1 0\ntree 0 1\nplant 0.1 1\nfish 1 1\ngenus 0.5 -1\na 0.1 0.1\n")
    out = tmp_path / "text.csv"
    answer = unseen("levels", "rerank", "cog-v2", "--vectors", tmp_path / "vectors.txt", "--out", out)
    assert answer.code == 0, answer.err
    ids = {row["wnid"] for row in read_csv(out)}
    assert ids == {c.wnid for c in package.levels("cog-v2").concepts}


def test_random_and_import(unseen: Unseen, tmp_path: Path) -> None:
    out = tmp_path / "random.csv"
    assert unseen("levels", "random", "--draws", 3, "--size", 20, "--out", out).code == 0
    assert len(read_csv(out)) == 60
    levels = package.levels("cog-v1")
    (tmp_path / "m.pkl").write_bytes(pickle.dumps([list(levels.ids(i)) for i in range(1, 6)]))
    answer = unseen("levels", "import", tmp_path / "m.pkl", "--out", tmp_path / "m.csv")
    assert "named cog-v1" in answer.err


def test_splits(unseen: Unseen, tree: tuple[Path, Path], tmp_path: Path) -> None:
    levels = tmp_path / "own.csv"
    unseen(
        "levels",
        "build",
        "--set",
        f"taxonomy={tree[0]}",
        "--seen",
        tree[1],
        "--levels",
        1,
        "--size",
        5,
        "--out",
        levels,
    )
    for name in (f"finch{i}" for i in range(1, 6)):
        (tmp_path / "images" / name).mkdir(parents=True)
        for i in range(9):
            (tmp_path / "images" / name / f"{name}_{i}.jpg").write_bytes(b"")
    out = tmp_path / "splits.npz"
    few = ["--set", "test=2", "--set", "min-train=3"]
    answer = unseen(
        "levels",
        "splits",
        "build",
        "--images",
        tmp_path / "images",
        "--levels",
        levels,
        *few,
        "--set",
        "max-train=5",
        "--out",
        out,
        "--json",
    )
    record = json.loads(answer.out)
    assert (record["concepts"], record["train"], record["test"]) == (5, 25, 10)
    assert json.loads(unseen("levels", "splits", "show", out, "--json").out)["content_hash"] == record["content_hash"]
    answer = unseen(
        "levels",
        "splits",
        "build",
        "--images",
        tmp_path / "images",
        "--levels",
        levels,
        *few,
        "--set",
        "max-train=3",
        "--out",
        out,
    )
    assert "15" in answer.out


@pytest.mark.parametrize("figure", ["ranking", "images", "examples"])
def test_plot(unseen: Unseen, tmp_path: Path, figure: str) -> None:
    answer = unseen("levels", "plot", "cog-v2", "--figure", figure, "--out", tmp_path / "f.svg")
    assert answer.code == 0
    assert (tmp_path / "f.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    "what",
    [
        "recipes",
        "levels",
        "measures",
        "concept-sets",
        "probes",
        "metrics",
        "protocols",
        "studies",
        "keys",
        "datasets",
        "shift-sets",
    ],
)
def test_ls(unseen: Unseen, what: str) -> None:
    assert len(json.loads(unseen("ls", what, "--json").out)) >= 2
    assert unseen("ls", what).code == 0


def test_doctor(unseen: Unseen) -> None:
    checks = {check["what"]: check for check in json.loads(unseen("doctor", "--json").out)}
    assert checks["unseen"]["found"] == package.__version__
    assert checks["WordNet 3.0 nouns"]["ok"]
    assert int(checks["CPU cores"]["found"]) >= 1
    order = list(checks)
    needed = ("GPU", "torchvision", "timm", "open_clip_torch", "transformers", "onnx", "ray", "drawings")
    assert max(order.index(name) for name in needed) < order.index("nltk"), "development tools come last"
    assert "unseen on this machine" in unseen("doctor").out


def test_doctor_advises_commands_for_what_is_missing(unseen: Unseen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unseen.cli.checks._version", lambda name: None)
    monkeypatch.setattr("unseen.extras._installed", lambda requirement: False)
    checks = {check["what"]: check for check in json.loads(unseen("doctor", "--json").out)}
    assert not checks["timm"]["ok"]
    assert checks["torch"]["advice"].endswith("install 'optuna>=4.0' 'safetensors>=0.4.5' 'torch>=2.8'")
    assert checks["timm"]["advice"].endswith("install timm")
    assert "nltk" not in checks, "development tools are listed where the tests can run"


def test_json_has_no_infinity(unseen: Unseen) -> None:
    answer = unseen("levels", "similarity", "n02123159", "n02123159", "--measure", "jiang-conrath", "--json")
    assert json.loads(answer.out, parse_constant=pytest.fail)["similarity"] == {"jiang-conrath": None}


def test_a_changed_recipe_has_another_name_and_keeps_its_exclusions(unseen: Unseen, counts_file: Path) -> None:
    options = ["--counts", counts_file, "--set", "exclude-subtrees=plant.n.02", "--size", 300, "--json"]
    summary = json.loads(unseen("levels", "build", "--recipe", "cog-v2", *options).out)
    assert summary["recipe"] == "cog-v2-changed"
    rules = [step["rule"] for step in summary["steps"]]
    assert {"drop everything under person.n.01", "drop everything under plant.n.02"} <= set(rules)


def test_piped_tables_do_not_fold() -> None:
    command = [str(Path(sys.executable).parent / "unseen"), "levels", "show", "cog-v2", "--level", "1"]
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert len(answer.stdout.splitlines()) == 1002


def test_output_without_unicode_is_no_error() -> None:
    command = [str(Path(sys.executable).parent / "unseen"), "levels", "show", "cog-v2"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    assert subprocess.run(command, check=False, capture_output=True, env=environment).returncode == 0


REFUSED = [
    (["ls", "nothing"], "KIND must be one of studies, keys, schema, backbones"),
    (["ls", "probs"], "did you mean probes"),
    (["ls", "levels", "cog-v2"], "unseen ls levels takes no NAME"),
    (["ls", "datasets", "--catalogue"], "unseen ls datasets takes no --catalogue"),
    (["ls", "backbones", "--set", "backbone.pool=cls"], "--set needs the id of a backbone"),
    (["ls", "keys", "knn.kk"], "no key 'knn.kk'; did you mean knn.k"),
    (["levels", "lookup", "", "--gloss"], "give an id, a name or a word"),
    (["levels", "random", "--seed", "-1"], "the seed must be at least 0"),
    (["levels", "build", "--recipe", "cog-v2", "--set", "taxonomy=tree.csv"], "leave out --recipe or"),
    (["levels", "show", "cog-v9"], "no levels 'cog-v9'; did you mean"),
    (["levels", "show", "none.csv"], "none.csv: no such file"),
    (["levels", "build"], "give --recipe cog-v2"),
    (["levels", "build", "--recipe", "cog-v2"], "give --counts FILE, --images FOLDER, or --set min-images=0"),
    (["levels", "build", "--recipe", "cog"], "no recipe 'cog'; did you mean cog-v"),
    (["levels", "build", "--recipe", "cog-v2", "--size", "0", "--set", "min-images=0"], "at least 1, got 5 of 0"),
    (
        ["levels", "build", "--recipe", "cog-v2", "--size", "9000", "--set", "min-images=0"],
        "too few for 5 levels of 9000",
    ),
    (["levels", "build", "--seen", "imagenet-1k", "--measure", "lim"], "no measure 'lim'; did you mean lin"),
    (["levels", "build", "--seen", "imagenet-1k", "--measure", "cosine"], "word-vector file"),
    (
        ["levels", "build", "--seen", "imagenet-1k", "--set", "ties=best"],
        'ties must be "stable" or "numpy-1.24", not "best"',
    ),
    (["levels", "build", "--seen", "imagenet-1k", "--set", "min-images=-1"], "min-images must be at least 0"),
    (["levels", "build", "--seen", "imagenet-1k", "--set", "spred=equal-gaps"], "no key 'spred'; did you mean spread"),
    (
        ["levels", "build", "--seen", "imagenet-1k", "--set", "exclude-subtrees=n99999999"],
        "n99999999 is not a noun synset",
    ),
    (["levels", "build", "--seen", "imagenet-1k", "--explain", "unicorn.n.99"], "unicorn has 1 noun senses"),
    (["levels", "build", "--sizes", "3"], "No such option"),
    (["levels", "build", "--size", "many"], "Invalid value for '--size'"),
    (["levels", "plot", "--figure", "pie"], "--figure must be one of ranking, images, examples, not 'pie'"),
    (["levels", "plot", "--out", "f.bmp"], "a figure is written as"),
    (["levels", "import", "none.pkl"], "none.pkl: no such file"),
    (["levels", "similarity", "n02123159", "n99999999"], "n99999999 is not a noun synset of WordNet 3.0"),
    (["levels", "similarity", "n02123159", "love.n.01"], "add --over wordnet"),
    (["levels", "similarity", "n02123159", "n02084071", "--measure", "cosine"], "compares word vectors"),
    (["levels", "lookup", "qwertyuiop"], "is not in WordNet 3.0"),
    (["levels", "splits", "show", "none.npz"], "none.npz: no such file"),
    (["levels", "splits", "build", "--images", "none"], "none: no such file or folder"),
    (["levels", "splits", "build", "--images", "none", "--set", "test=0"], "test must be at least 1, not 0"),
    (["nonsense"], "No such command"),
    (["leaderbord"], "Did you mean 'leaderboard'? See "),
]


@pytest.mark.parametrize(
    ("arguments", "message"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = unseen(*arguments)
    assert answer.code == 2
    assert answer.err.startswith("unseen: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error() -> None:
    unseen = Path(sys.executable).parent / "unseen"
    command = f"{unseen} levels show cog-v2 --level 1 | head -n 1"
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in answer.stderr


def test_ls_says_what_a_backbone_does(unseen: Unseen) -> None:
    random = ("--set", "backbone.weights=random")
    plain = unseen("ls", "backbones", "timm:resnet10t", *random)
    assert "512 dimensions, from the layer before the classifier" in plain.out
    other = json.loads(unseen("ls", "backbones", "timm:resnet10t", *random, "--set", "backbone.size=64", "--json").out)
    assert other["transform"]["size"] == 64
    wrong = unseen("ls", "backbones", "timm:resnet10", *random)
    assert wrong.code == 2
    assert "did you mean" in wrong.err


def test_backbones_and_the_papers_models_are_listed(unseen: Unseen) -> None:
    sources = {row["id"] for row in json.loads(unseen("ls", "backbones", "--json").out)}
    assert {"timm:", "registry:", "file.py:function"} <= sources
    rows = json.loads(unseen("ls", "backbones", "--catalogue", "--json").out)
    assert [sum(row["paper"] == paper for row in rows) for paper in ("cog-v2", "ericsson-2021")] == [31, 14]


def test_extract_goes_from_images_to_a_store_and_stops_there(unseen: Unseen, tmp_path: Path) -> None:
    from PIL import Image

    from unseen.features.store import read_store

    for label, colour in (("red", (200, 20, 20)), ("blue", (20, 20, 200))):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for i in range(3):
            Image.new("RGB", (40 + i, 50), colour).save(tmp_path / "photos" / label / f"{i}.jpg")
    code = "from torch import nn\nfrom unseen.data.core.decoding.transform import Transform\n"
    code += (
        "def make():\n    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()), "
        "Transform(size=32, resize=32, mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2])\n"
    )
    (tmp_path / "mine.py").write_text(code)
    options = ("--datasets", tmp_path / "photos", "--out", tmp_path / "features", "--workers", 0)
    first = unseen("extract", "--backbone", f"{tmp_path / 'mine.py'}:make", *options)
    assert first.code == 0, first.err
    [store] = (tmp_path / "features" / "photos").iterdir()
    features = read_store(store, verify=True)
    assert features.X.shape == (6, 12)
    assert sorted(features.classes) == ["blue", "red"]
    before = {file: file.stat().st_mtime_ns for file in store.iterdir()}
    assert unseen("extract", "--backbone", f"{tmp_path / 'mine.py'}:make", *options).code == 0
    assert {file: file.stat().st_mtime_ns for file in store.iterdir()} == before
    wrong = unseen("extract", "--backbone", "timm:resnet10t", *options, "--part", "3")
    assert wrong.code == 2
    assert "--part must be two numbers" in wrong.err
    nowhere = unseen("extract", "--backbone", f"{tmp_path / 'mine.py'}:make", *options, "--devices", "gpu")
    assert nowhere.code == 2
    assert "--devices must be" in nowhere.err


def test_an_empty_file_is_not_told_as_an_interruption(unseen: Unseen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries raise EOFError of it, which the command line's library takes for Ctrl-D."""

    def empty(*_: object) -> None:
        raise EOFError

    monkeypatch.setattr("unseen.cli.checks.all_checks", empty)
    answer = unseen("doctor")
    assert answer.code == 2
    assert answer.err.strip() == "unseen: a file is empty or truncated; get it again"
