"""Features in files, from the command line and from Python."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import unseen as package
from unseen.errors import UserError
from unseen.features.store import write_store
from unseen.probes.logistic import LogisticProtocol, probe_logistic
from unseen.probes.protocol import COG_V2_PRUNED, PROTOCOLS
from unseen.runs.merge import merge_runs
from unseen.runs.provenance import provenance
from unseen.runs.record import read_run
from unseen.runs.shots import parse_shots, seeds_in_python

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., Any]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHORT = ["--set", "logistic.protocol=cog-v2-short"]
QUICK = [*SHORT, "--seeds", 2, "--workers", 1]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((6, 8))
    for name, each in (("train", 20), ("test", 10)):
        y = np.arange(6).repeat(each)
        np.savez(tmp_path / f"{name}.npz", X=centres[y] + rng.standard_normal((len(y), 8)), y=y)
    return tmp_path / "train.npz", tmp_path / "test.npz"


def load(files: tuple[Path, Path]) -> list[np.ndarray]:
    return [array for file in files for array in (np.load(file)["X"], np.load(file)["y"])]


def test_the_command_gives_what_the_function_gives(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    answer = unseen("probe", *files, *QUICK, "--shots", "1,4,all", "--out", tmp_path / "run", "--json")
    scores = json.loads(answer.out)["scores"]
    assert len(scores) == 2 * 3 * 2
    result = package.probe(*load(files), protocol="cog-v2-short", shots=[1, 4, None], seeds=range(2))
    theirs = {(s.shots, s.seed, s.metric): s.value for s in result.scores}
    assert {(s["shots"], s["seed"], s["metric"]): s["value"] for s in scores} == theirs
    tensors = [torch.from_numpy(array) for array in load(files)]
    direct = probe_logistic(
        *tensors, protocol=LogisticProtocol("x", 30, 10, 5, starts=5), shots=4, seed=1, device=DEVICE
    )
    # In 16 bits, settings that are trained together round otherwise than one alone: some of 60 samples change sides.
    assert theirs[4, 1, "top1"] == pytest.approx(direct.top1, abs=0 if DEVICE == "cpu" else 0.05)
    assert set(result.summary()["shots"]) == {"1", "4", "all"}
    fit = next(fit for fit in result.fits if (fit.shots, fit.seed) == (4, 1))
    if DEVICE == "cpu":
        expected = {
            "rate": direct.rate,
            "decay": direct.decay,
            "trials": [[each.rate, each.decay, each.score] for each in direct.trials],
        }
        assert fit.details == expected | {"fewest_samples": direct.fewest_samples}


def test_a_run_is_reused_extended_and_never_stale(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    unseen("probe", *files, *QUICK, "--shots", "1", "--out", run)
    first = {file.name: file.read_bytes() for file in (run / "results").iterdir()}
    answer = unseen("probe", *files, *QUICK, "--shots", "1,2", "--out", run)
    assert "2 of 4 jobs to do" in answer.err
    again = {file.name: file.read_bytes() for file in (run / "results").iterdir()}
    assert {name: again[name] for name in first} == first
    X, y = np.load(files[0])["X"], np.load(files[0])["y"]
    np.savez(files[0], X=X + 0.5, y=y)
    changed = ("probe", *files, *QUICK, "--shots", "1", "--out", run)
    answer = unseen(*changed)
    assert answer.code == 2
    assert "differs in the train features of yours by yours" in answer.err
    assert len(read_run(run).scores) == 2 * 2 * 2
    assert {file.name: file.read_bytes() for file in (run / "results").iterdir()} == again  # refused before any job
    answer = unseen(*changed, "--replace")
    assert answer.code == 0, answer.err
    assert "2 of 2 jobs to do" in answer.err
    assert len(read_run(run).scores) == 2 * 2


def test_the_page_and_tables_of_a_run(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    unseen(
        "probe", *files, *QUICK, "--shots", "all", "--backbone", "mine", "--domain", "toys", "--out", tmp_path / "run"
    )
    assert "mine" in (tmp_path / "run/report.html").read_text()
    answer = unseen("report", tmp_path / "run", "--out", tmp_path / "page.html", "--table", tmp_path / "t.csv")
    assert answer.code == 0
    frame = pd.read_csv(tmp_path / "t.csv")
    assert set(frame["backbone"]) == {"mine"}
    assert set(frame["metric"]) == {"top1", "top5"}


def test_an_export_has_the_numbers_of_images_and_is_checked_with_them(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path
) -> None:
    unseen("probe", *files, *QUICK, "--out", tmp_path / "run")
    assert unseen("export", tmp_path / "run", "--out", tmp_path / "r.json").code == 0
    assert unseen("check", tmp_path / "r.json").code == 0
    content = json.loads((tmp_path / "r.json").read_text())
    [record] = content["records"]
    assert (record["data"]["classes"], record["data"]["images"]) == (6, {"train": 120, "test": 60})
    record["scores"][0] |= {"shots": 200}
    (tmp_path / "r.json").write_text(json.dumps(content))
    assert unseen("check", tmp_path / "r.json").code == 2


def test_runs_of_two_backbones_are_merged(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("a", "b"):
        unseen("probe", *files, *QUICK, "--backbone", name, "--out", tmp_path / name)
    unseen("probe", *reversed(files), *QUICK, "--backbone", "a", "--out", tmp_path / "c")
    merged = merge_runs([(name, read_run(tmp_path / name)) for name in "abc"])
    assert [backbone.name for backbone in merged.backbones] == ["a", "b", "a (c)"]
    assert {score.backbone for score in merged.scores} == {"a", "b", "a (c)"}
    assert unseen("report", *(tmp_path / name for name in "abc"), "--out", tmp_path / "all.html").code == 0


def test_runs_on_other_classes_are_not_one_domain(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    arrays = load(files)
    fewer = [(array[labels < 3], labels[labels < 3]) for array, labels in (arrays[:2], arrays[2:])]
    for name, (X, y) in zip(("train", "test"), fewer, strict=True):
        np.savez(tmp_path / f"few-{name}.npz", X=X, y=y)
    few = [tmp_path / f"few-{name}.npz" for name in ("train", "test")]
    for place, pair in (("x/run", files), ("y/run", few), ("z/run", files)):
        unseen("probe", *pair, *QUICK, "--out", tmp_path / place)
    merged = merge_runs([("run", read_run(tmp_path / place)) for place in ("x/run", "y/run", "z/run")])
    assert [domain.name for domain in merged.domains] == ["yours", "yours (run)"]
    assert [backbone.name for backbone in merged.backbones] == ["yours", "yours (run)"]
    assert len(merged.scores) == 2 * len(read_run(tmp_path / "x/run").scores)


def test_stores_that_changed_are_not_mistaken_for_what_they_were(unseen: Unseen, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        y = np.arange(40) % 4
        write_store(tmp_path / name, [(np.eye(4)[y] + 0.1 * rng.random((40, 4)), y)], list("abcd"), provenance={})
    arguments = ("probe", tmp_path / "train", tmp_path / "test", *QUICK, "--out", tmp_path / "run")
    assert unseen(*arguments).code == 0
    np.save(tmp_path / "train/X-00000.npy", rng.random((40, 4)).astype(np.float32))
    answer = unseen(*arguments)
    assert answer.code == 2
    assert "X-00000.npy: does not match the manifest" in answer.err


def test_what_python_callers_get_wrong(files: tuple[Path, Path]) -> None:
    data = load(files)
    for options, message in (
        ({"seeds": 0}, "from 1 to 999"),
        ({"seeds": True}, "seeds must be"),
        ({"seeds": "0,1"}, "seeds must be"),
        ({"shots": [0]}, "shots must be whole numbers"),
        ({"shots": [1.5]}, "shots must be whole numbers"),
        ({"shots": True}, "shots must be whole numbers"),
        ({"shots": "most"}, "^shots takes numbers"),
        ({"shots": []}, "shots is empty"),
        ({"seeds": [-1]}, "at least 0"),
        ({"seeds": 1000}, "from 1 to 999"),
        ({"seeds": range(10**12)}, "at most 999"),
    ):
        with pytest.raises(UserError, match=message):
            package.probe(*data, **options)
    with pytest.raises(UserError, match="numeric arrays"):
        package.probe(data[0].astype(str), *data[1:])
    half = [torch.from_numpy(array) for array in data]
    half[0], half[2] = half[0].bfloat16().requires_grad_(), half[2].bfloat16()
    assert package.probe(*half, protocol="cog-v2-short", seeds=[0]).scores[0].value > 0.3


def test_a_number_of_seeds_means_in_python_what_it_means_to_the_command(files: tuple[Path, Path]) -> None:
    assert seeds_in_python(3) == seeds_in_python(range(3)) == (0, 1, 2)
    assert seeds_in_python(np.array([4, 2])) == (4, 2)
    result = package.probe(*load(files), protocol="cog-v2-short", shots=1, seeds=1)
    assert {(fit.shots, fit.seed) for fit in result.fits} == {(1, 0)}


def test_rows_of_zeros_are_counted_and_told(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    for file, rows in zip(files, ([3], [0, 7]), strict=True):
        arrays = dict(np.load(file))
        arrays["X"][rows] = 0
        np.savez(file, **arrays)
    answer = unseen("probe", *files, *QUICK, "--shots", "1", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    found = [
        (flaw.kind, flaw.place, flaw.count, flaw.total, flaw.examples) for flaw in read_run(tmp_path / "run").flaws
    ]
    name = tmp_path.name
    assert found == [
        ("zero-rows", f"{name}/train.npz", 1, 120, ("3",)),
        ("zero-rows", f"{name}/test.npz", 2, 60, ("0", "7")),
    ]
    told = [line for line in answer.out.splitlines() if "all zeros" in line]
    page = (tmp_path / "run/report.html").read_text()
    assert len(told) == 2
    assert all(line in page for line in told)
    assert package.probe(*load(files), protocol="cog-v2-short", shots=1, seeds=1).scores[0].value > 0.3


def test_rows_that_are_not_finite_are_named_with_their_file(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path
) -> None:
    arrays = dict(np.load(files[1]))
    arrays["X"][[2, 9], 0] = np.nan, np.inf
    np.savez(files[1], **arrays)
    answer = unseen("probe", *files, *QUICK, "--out", tmp_path / "run")
    assert answer.code == 2
    assert f"{files[1]}: values that are not finite in rows 2 and 9" in answer.err


def test_labels_of_different_types_are_told_as_such(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    arrays = dict(np.load(files[0]))
    np.savez(files[0], X=arrays["X"], y=np.array(list("abcdef"))[arrays["y"]])
    for pair in (files, files[::-1]):
        answer = unseen("probe", *pair, *QUICK, "--out", tmp_path / "run")
        assert answer.code == 2
        assert "different types" in answer.err
        assert "words (a, …)" in answer.err
        assert "integers (0, …)" in answer.err


def test_runs_of_different_protocols_are_not_mixed(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    unseen("probe", *files, *QUICK, "--out", tmp_path / "short")
    unseen("probe", *files, "--seeds", 1, "--workers", 1, "--out", tmp_path / "whole")
    answer = unseen("report", tmp_path / "short", tmp_path / "whole", "--out", tmp_path / "page.html")
    assert answer.code == 2
    assert "different protocols (cog-v2, cog-v2-short)" in answer.err
    assert not (tmp_path / "page.html").exists()


def test_a_pruned_search_says_so_and_goes_on_where_it_was(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    monkeypatch.setitem(PROTOCOLS, "cog-v2-pruned", replace(COG_V2_PRUNED, batch=32))  # an epoch is of several steps
    asked = ["--set", "logistic.protocol=cog-v2-pruned", "--seeds", 1, "--workers", 1, "--out", run]
    answer = unseen("probe", *files, *asked, "--shots", "1,all")
    assert answer.code == 0, answer.err
    data = read_run(run)
    assert [each.code for each in data.told] == ["pruned-search"]
    assert "30 trials of 100 epochs, the best 12 continue after 10 epochs and 4 after 30" in data.notices[0]
    assert "cog-v2-pruned: 30 trials of 100 epochs, of which the best 12" in provenance(data)["protocol"]
    assert {score.protocol for score in data.scores} == {"cog-v2-pruned"}
    result = package.probe(*load(files), protocol="cog-v2-pruned", shots=[1, "all"], seeds=1)
    theirs = {(s.shots, s.metric): s.value for s in result.scores}
    assert {(s.shots, s.metric): s.value for s in data.scores} == pytest.approx(
        theirs, abs=0 if DEVICE == "cpu" else 0.05
    )
    trials = next(fit for fit in result.fits if fit.shots is None).details["trials"]
    assert [sum(trial[3:] == after for trial in trials) for after in ([20], [50], [])] == [18, 8, 4]
    before = {file: file.stat().st_mtime_ns for file in (run / "results").iterdir()}
    first = min(before)
    first.unlink()
    assert unseen("probe", *files, *asked, "--shots", "1,all").code == 0
    assert {file for file in before if file.stat().st_mtime_ns != before[file]} == {first}
    answer = unseen("probe", *files, *asked, "--set", "logistic.sequential=true")
    assert (answer.code, "all 30 trials" in answer.err) == (2, True)


def test_classes_with_fewer_samples_than_shots_are_said(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path
) -> None:
    answer = unseen("probe", *files, *QUICK, "--shots", "4,64", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    data = read_run(tmp_path / "run")
    assert [(each.code, dict(each.arguments)) for each in data.told[1:]] == [
        ("skipped-shots", {"shots": "64", "most": 20, "on": ""})
    ]
    assert {score.shots for score in data.scores} == {4}


def uneven(files: tuple[Path, Path]) -> None:
    """Keep 8, 12, 14, 16, 18 and 20 training samples of the six classes."""
    arrays = dict(np.load(files[0]))
    place = np.arange(120) % 20
    kept = place < np.array([8, 12, 14, 16, 18, 20])[arrays["y"]]
    np.savez(files[0], X=arrays["X"][kept], y=arrays["y"][kept])


def test_the_samples_of_each_class_stand_beside_the_number(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path
) -> None:
    uneven(files)
    answer = unseen("probe", *files, *QUICK, "--shots", "4,7,18,64,all", "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    data = read_run(tmp_path / "run")
    told = {each.code: dict(each.arguments) for each in data.told}
    assert told["skipped-shots"] == {"shots": "64", "most": 20, "on": ""}
    assert told["fewer-samples"] == {"shots": "18", "fewest": 8, "on": ""}
    # Of 8 samples, one is held out to score trials.
    assert told.keys() - {"short-search"} == {"skipped-shots", "fewer-samples"}
    used = {s.shots: (s.fewest_samples, s.median_samples, s.most_samples) for s in data.scores}
    assert used == {4: (4, 4, 4), 7: (7, 7, 7), 18: (8, 14, 18), None: (8, 14, 20)}
    assert "(8 to 18 samples per class)" in answer.out
    assert answer.out.count("samples per class)") == 1
    assert "8 to 18 (median 14)" in (tmp_path / "run/report.html").read_text()
    table = pd.read_csv(tmp_path / "run/scores.csv").set_index(["shots", "metric"])
    assert table.loc[("18", "top1"), ["fewest_samples", "median_samples", "most_samples"]].tolist() == [8, 14, 18]
    assert not any("64" in shots for shots, _ in table.index)


def test_shots_that_only_the_search_lacks_are_said(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    unseen("probe", *files, *QUICK, "--shots", "16,17", "--out", tmp_path / "run")
    data = read_run(tmp_path / "run")
    told = {each.code: dict(each.arguments) for each in data.told}
    assert told["few-for-search"] == {"shots": "17", "fewest": 20, "left": 16, "on": ""}
    assert {(s.shots, s.fewest_samples) for s in data.scores} == {(16, 16), (17, 17)}


def test_without_any_shots_left_nothing_is_written(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    for probe in ("logistic", "knn"):
        answer = unseen("probe", *files, "--probes", probe, "--shots", "1000", "--out", tmp_path / "run")
        assert answer.code == 2
        assert "no class has more than 20 training samples" in answer.err
        assert answer.err.count("\n") == 1
        assert not (tmp_path / "run").exists()


def test_json_comes_with_the_page_and_the_table(unseen: Unseen, files: tuple[Path, Path], tmp_path: Path) -> None:
    for name, options in (("plain", []), ("json", ["--json"])):
        answer = unseen("probe", *files, *QUICK, "--shots", "1", "--out", tmp_path / name, *options)
    assert len(json.loads(answer.out)["scores"]) == 4
    tables = [(tmp_path / name / "scores.csv").read_text() for name in ("plain", "json")]
    assert tables[0] == tables[1]
    assert (tmp_path / "json/report.html").is_file()


@pytest.mark.parametrize("probe", ["logistic", "knn"])
def test_json_has_the_notices_and_so_has_stderr(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path, probe: str
) -> None:
    quick = QUICK if probe == "logistic" else []
    answer = unseen("probe", *files, *quick, "--probes", probe, "--shots", "4,31", "--out", tmp_path / "run", "--json")
    told = {each["code"]: each for each in json.loads(answer.out)["notices"]}
    assert told["skipped-shots"]["arguments"] == {"shots": "31", "most": 20, "on": ""}
    assert told["skipped-shots"]["text"] in answer.err
    arrays = dict(np.load(files[0]))
    arrays["X"][3] = 0
    np.savez(files[0], **arrays)
    if probe == "logistic":
        answer = unseen("probe", *files, *QUICK, "--out", tmp_path / "run", "--replace", "--json")
        [flaw] = [each for each in json.loads(answer.out)["notices"] if each["code"] == "flaw"]
        assert flaw["arguments"] == {"kind": "zero-rows", "count": 1, "total": 120}
        assert "all zeros" in answer.err


BAD = [
    ("shots", "0", "shots must be at least 1, not 0"),
    ("shots", "1,0", "shots must be at least 1, not 0"),
    ("shots", "one", 'not "one"'),
    ("seeds", "0", "seeds must be at least 1, not 0"),
    ("seeds", "1000", "seeds must be at most 999, not 1000"),
    ("seeds", "1000000000", "seeds must be at most 999"),
]
"""A key, a value that it cannot have, and words of the sentence."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(([f"--{name}", value], message) for name, value, message in BAD),
        *((["--set", f"{name}={value}"], message) for name, value, message in BAD),
        *((["--set", f"logistic.{name}={value}"], message) for name, value, message in BAD),
        (["--shots", "0.5"], 'not "0.5"'),
        (["--shots", ","], "--shots takes values separated by commas"),
        (["--workers", "-1"], "--workers must be at least 0"),
        (["--set", "logistic.protocol=cog-v3"], "did you mean cog-v2"),
    ],
)
def test_mistakes_are_one_sentence(
    unseen: Unseen, files: tuple[Path, Path], tmp_path: Path, arguments: list[str], message: str
) -> None:
    for command in (["probe", *files], ["run", "cog-v2", "--features", tmp_path]):
        answer = unseen(*command, *arguments, "--out", tmp_path / "run")
        assert answer.code == 2
        assert message in answer.err
        assert answer.err.count("\n") == 1
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("table", ["", "logistic.", "mine."])
@pytest.mark.parametrize(
    "line", ["shots = 0", 'shots = "one"', "shots = [1, 0]", "seeds = 0", "seeds = 1000", "seeds = 1000000000"]
)
def test_shots_and_seeds_of_study_files_are_refused_with_the_file(
    unseen: Unseen, tmp_path: Path, table: str, line: str
) -> None:
    """Before anything is read, and before the probe in a Python file is executed."""
    (tmp_path / "mine.py").write_text("1 / 0")
    file, words = tmp_path / "study.toml", f"{line.partition(' ')[0]} must be"
    file.write_text(f'probes = ["logistic", "mine.py"]\n{table}{line}\n')
    answer = unseen("run", file, "--features", tmp_path, "--allow-code", "--out", tmp_path / "run")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"unseen: {file}")
    assert words in answer.err
    with pytest.raises(UserError, match=words):
        package.run(file, features=tmp_path, out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("keys", [{"shots": 0}, {"shots": "one"}, {"seeds": 0}, {"seeds": 1000}, {"seeds": True}])
def test_shots_and_seeds_of_studies_in_python_are_refused(keys: dict[str, Any]) -> None:
    [name] = keys
    for given in (keys, {"logistic": keys}):
        with pytest.raises(UserError, match=f"{name} must be"):
            package.study("cog-v2", **given)


def test_folders_that_are_no_runs_are_refused(unseen: Unseen, tmp_path: Path) -> None:
    answer = unseen("report", tmp_path, "--out", tmp_path / "page.html")
    assert answer.code == 2
    assert "not the folder of a run" in answer.err
    (tmp_path / "run.json").write_text('{"format": 1}')
    assert f"--features {tmp_path / 'features'}" in unseen("report", tmp_path, "--out", tmp_path / "page.html").err


def test_shots() -> None:
    assert parse_shots("1, 8,all,8") == (1, 8, None)
    with pytest.raises(UserError, match="no protocol"):
        package.probe([[1.0]], [0], [[1.0]], [0], protocol="nothing")
