"""`unseen run`: every shipped study on embedded data, and the study of a run, run again elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from own_trees import write_birds, write_toml
from shift_places import make_sets

from unseen.probes.many_shot import PROTOCOLS as MANY_SHOT
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.patches.protocols import PatchLinearProtocol
from unseen.probes.protocol import PROTOCOLS as LOGISTIC
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.record import read_run
from unseen.runs.results import RESULTS
from unseen.studies.toml import find_study, shipped_studies

Unseen = Callable[..., Any]
SHORT = ("--set", "logistic.protocol=cog-v2-short", "--set", "levels=drawings", "--datasets", "seen,l5")
HEAD = ("--probes", "detector-frozen", "--set", "detector-frozen.steps=1", "--set", "detector-frozen.scale=0.1")
NETWORK = ("--backbone", "timm:test_vit", "--set", "backbone.weights=random", "--set", "backbone.size=32")
DRAWN = ("--backbone", "drawings:untrained")
ONE = ("--set", "examples=1")
TRUNK = ("--backbone", "timm:resnet10t", "--set", "backbone.weights=random")


@dataclass(frozen=True)
class Case:
    """What a shipped study is run with, and the probes and data sets that have scores then."""

    words: tuple[object, ...]
    probes: set[str]
    datasets: set[str]


CASES: Mapping[str, Case] = {
    "cog-v2": Case((*DRAWN, *SHORT, "--limit", 6, "--shots", "2,all", "--seeds", 1), {"logistic"}, {"seen", "l5"}),
    "cog-v1": Case(
        (*DRAWN, *SHORT, "--limit", 6, "--shots", "all", "--seeds", 1, "--set", "pca.dimensions=2,4",
         "--set", "pca.protocol=cog-v2-short", "--set", "mlp.protocol=cog-v2-short", "--set", "mlp.hidden=[8, 8]"),
        {"logistic", "pca-2", "pca-4", "mlp", "mlp-linear", "kmeans", "geometry"}, {"seen", "l5"},
    ),
    "ericsson-2021": Case(
        (*DRAWN, "--datasets", "digits", "--limit", 40, "--set", "centroids.episodes=5", "--set", "centroids.shots=5"),
        {"linear", "centroids"}, {"digits"},
    ),
    "dinov2-linear": Case(
        (*NETWORK, "--datasets", "digits", "--limit", 8, "--set", "dinov2-linear.steps=20"),
        {"dinov2-linear", *(f"dinov2-linear-{name}" for name in ("cls1", "cls1-avg", "cls4", "cls4-avg"))}, {"digits"},
    ),
    "layers": Case(
        (*NETWORK, "--datasets", "digits", "--limit", 8, "--set", "backbone.layers=blocks.0,own"),
        {"knn-20", "ridge"}, {"digits"},
    ),
    "finetune": Case(
        (*NETWORK, "--datasets", "digits", "--limit", 6, "--set", "fine-tuned.trials=2", "--set", "fine-tuned.steps=1"),
        {"fine-tuned"}, {"digits"},
    ),
    "dense": Case((*NETWORK, "--datasets", "scenes-seen"), {"patch-linear", "patch-context"}, {"scenes-seen"}),
    "detection": Case(
        (*TRUNK, "--datasets", "scenes-seen-boxes", "--limit", 4, *HEAD),
        {"detector-frozen"}, {"scenes-seen-boxes"},
    ),
    "retrieval": Case((*DRAWN, "--datasets", "digits", "--limit", 20), {"retrieval"}, {"digits"}),
    "saliency": Case((*DRAWN, *ONE, "--set", "saliency.grid=14/7"), {"saliency"}, {"drawings (1 image)"}),
    "inversion": Case((*DRAWN, *ONE, "--set", "inversion.steps=2"), {"inversion"}, {"drawings (1 image)"}),
    "shifts": Case(
        (*NETWORK, "--set", "complete=false", "--datasets", "val,imagenet-r"), {"classifier"}, {"val", "imagenet-r"},
    ),
    "drawings": Case(
        ("--backbone", "drawings:untrained", "--datasets", "seen,l5", "--limit", 6, "--shots", "all", "--seeds", 1),
        {"logistic"}, {"seen", "l5"},
    ),
    "vtab-1k": Case((*DRAWN, "--datasets", "digits", "--limit", 20), {"linear"}, {"digits"}),
    "dinov2-fine-grained": Case((*DRAWN, "--datasets", "digits", "--limit", 20), {"linear"}, {"digits"}),
    "unic-15": Case(
        (*DRAWN, *SHORT[:2], "--datasets", "digits", "--limit", 20, "--seeds", 1),
        {"logistic"}, {"digits"},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = LogisticProtocol(name="cog-v2-short", epochs=2, trials=2, round_size=2, batch=64, rates=(1.0, 10.0))
    monkeypatch.setitem(LOGISTIC, "cog-v2-short", quick)
    few = ManyShotProtocol(name="ericsson-2021", weakest=1e-2, strongest=1e2, steps=3)
    monkeypatch.setitem(MANY_SHOT, "ericsson-2021", few)
    steps = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, least_steps=3)
    from unseen.probes.by_name import all_probes

    @dataclass(frozen=True)
    class Quick(all_probes()["patch-linear"]):  # type: ignore[misc]
        protocol: PatchLinearProtocol = steps

    monkeypatch.setitem(all_probes(), "patch-linear", Quick)


def keys(run: Path) -> list[str]:
    return sorted(path.name for path in (run / RESULTS).iterdir())


def values(run: Path) -> dict[Any, float]:
    return {score.key: score.value for score in read_run(run).scores}


def test_every_shipped_study_has_a_case() -> None:
    assert {*CASES} == {*shipped_studies()}


SLOW = {"cog-v1", "detection", "dinov2-fine-grained", "drawings", "finetune", "unic-15", "vtab-1k"}
"""Studies whose probes other tests run too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long_suite] if name in SLOW else []) for name in CASES]
)
def test_a_shipped_study_runs_and_its_file_asks_for_the_same_jobs_elsewhere(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, first = CASES[name], tmp_path / "here/run"
    data: tuple[object, ...] = ("--data", make_sets(tmp_path / "sets")) if name == "shifts" else ()
    first.parent.mkdir()
    monkeypatch.chdir(first.parent)
    answer = unseen("run", name, *case.words, *data, "--workers", 1, "--out", "run")
    assert answer.code == 0, answer.err
    scores = read_run(first).scores
    assert {score.probe for score in scores} == case.probes
    assert {score.domain for score in scores} == case.datasets
    assert (first / "report.html").stat().st_size > 10_000

    elsewhere = tmp_path / "there"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = unseen("run", first / "study.toml", *data, "--workers", 1, "--out", "again")
    assert again.code == 0, again.err
    assert keys(elsewhere / "again") == keys(first)
    assert values(elsewhere / "again") == values(first)
    assert unseen("show", first, elsewhere / "again").out == "No setting differs.\n"


PROBE = """
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from unseen.probes.probe import DrawnProbe, ProbeData


@dataclass(frozen=True)
class Nearest(DrawnProbe):
    name: ClassVar[str] = "nearest-mean"
    title: ClassVar[str] = "nearest class mean"
    revision: ClassVar[int] = 1
    power: float = 2.0

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Any]:
        X_train, y_train, X_test, y_test = data.on_device()
        means = torch.stack([X_train[y_train == each].mean(0) for each in range(data.classes)])
        right = torch.cdist(X_test, means, p=self.power).argmin(1) == y_test
        yield self.name, [("top1", right.double().mean().item())], {}


PROBE = Nearest
"""


def mixed(root: Path) -> Path:
    """A study of one's own: own and embedded data, two kinds of inputs, two layers, an own probe."""
    write_birds(root / "photos")
    (root / "code").mkdir(parents=True)
    (root / "code/mine.py").write_text(PROBE)
    return write_toml(
        root,
        """
        datasets = ["birds", "scenes-seen", "digits"]
        backbones = ["net"]
        probes = ["knn", "ridge", "patch-context", "code/mine.py"]
        shots = [2, "all"]
        seeds = 2
        limit = 6
        preprocessing = "own"
        knn.k = [1, 5]
        mine.power = 1.0
        [data.birds]
        train = "photos/train"
        test = "photos/test"
        [backbone]
        weights = "random"
        size = 32
        [backbone.net]
        id = "timm:test_vit"
        layers = ["blocks.0", "blocks.1", "own"]
        """,
        "mine.toml",
    )


def test_a_study_of_ones_own_mixes_probes_data_and_layers(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = mixed(tmp_path / "own")
    refused = unseen("run", file, "--out", tmp_path / "run")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"{file}: names code" in refused.err
    assert not (tmp_path / "run").exists()
    answer = unseen("run", file, "--allow-code", "--workers", 1, "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    scores = read_run(tmp_path / "run").scores
    assert {each.probe for each in scores} == {"knn-1", "knn-5", "ridge", "patch-context", "nearest-mean"}
    assert {each.domain for each in scores} == {"birds", "digits", "scenes-seen"}
    by_layer = {each.backbone for each in scores if each.domain == "birds"}
    assert by_layer == {"net/blocks.0", "net/blocks.1", "net/penultimate"}
    assert (tmp_path / "run/files/mine.py").read_text() == PROBE

    monkeypatch.chdir(tmp_path)
    again = unseen("run", "run/study.toml", "--allow-code", "--workers", 1, "--out", "again")
    assert again.code == 0, again.err
    assert keys(tmp_path / "again") == keys(tmp_path / "run")

    (tmp_path / "run/files/mine.py").write_text(PROBE.replace("2.0", "3.0"))
    changed = unseen("run", "run/study.toml", "--allow-code", "--out", "third")
    assert (changed.code, changed.err.count("\n"), (tmp_path / "third").exists()) == (2, 1, False)


def test_a_kept_study_says_what_unset_keys_stood_for(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_toml(
        tmp_path,
        """
        datasets = "digits"
        backbones = ["drawings:untrained", "deep"]
        probes = ["knn", "centroids", "linear"]
        limit = 6
        seeds = 1
        preprocessing = "own"
        centroids.episodes = 3
        [backbone.deep]
        id = "demo:untrained"
        """,
        "own.toml",
    )
    assert unseen("run", file, "--workers", 1, "--out", "run").code == 0
    kept = find_study("run")
    assert (kept.shots, kept.settings["centroids"]["shots"]) == (("all",), (5,))
    assert kept.settings["linear"]["converge"] == "chosen"
    assert {(each.layers, each.pool) for each in map(kept.backbone_keys, kept.backbones)} == {
        (("maps",), ("avg",)), (("penultimate",), ("avg",)),
    }  # fmt: skip
    again = unseen("run", "run", "--workers", 1, "--out", "again")
    assert again.code == 0, again.err
    assert keys(tmp_path / "again") == keys(tmp_path / "run")
    assert unseen("show", "run", "again").out == "No setting differs.\n"
    fewer = unseen("run", "run", "--shots", 1, "--probes", "knn", "--workers", 1, "--out", "fewer")
    assert fewer.code == 0, fewer.err
    assert {score.shots for score in read_run(tmp_path / "fewer").scores} == {1}


@pytest.mark.long_suite
def test_relative_folders_and_files_are_those_of_the_run_elsewhere(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_birds(tmp_path / "own/photos")
    write_birds(tmp_path / "own/more")
    file = write_toml(
        tmp_path / "own",
        """
        datasets = ["photos", "digits", "table"]
        backbones = ["drawings:untrained"]
        probes = ["knn"]
        limit = 6
        preprocessing = "own"
        [data.table]
        train = "more/train"
        test = "more/test"
        """,
        "own.toml",
    )
    monkeypatch.chdir(file.parent)
    assert unseen("run", "own.toml", "--workers", 1, "--out", "run").code == 0
    elsewhere = tmp_path / "there"
    (elsewhere / "photos").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    answer = unseen("run", file.parent / "run", "--workers", 1, "--out", "again")
    assert answer.code == 0, answer.err
    assert keys(elsewhere / "again") == keys(file.parent / "run")
    kept = find_study(str(file.parent / "run"))
    assert [Path(word).name for word in kept.datasets] == ["photos", "digits", "table"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("cog-v3",), "cog-v2"),
        (("cog-v2", "--set", "classbalanced=true"), "class-balanced"),
        (("cog-v2", "--set", "missing-classes=skippp"), "skip"),
        (("cog-v2", "--set", "logistic.protocl=cog-v2"), "protocol"),
        (("cog-v2", "--set", "mlp.hidden=8"), "mlp"),
        (("cog-v2", "--set", "seeds"), "KEY=VALUE"),
        (("cog-v2", "--probes", "knnn"), "knn"),
        (("ericsson-2021", "--datasets", "digitss"), "digits"),
        (("ericsson-2021", "--datasets", "scenes-seen"), "scenes-seen"),
        (("cog-v2", "--data", "imagenet-22k=x"), "imagenet-21k"),
        (("cog-v2", "--part", "3/2"), "part 3 of 2"),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_written(
    unseen: Unseen, tmp_path: Path, words: tuple[object, ...], named: str
) -> None:
    answer = unseen("run", *words, "--backbone", "drawings:untrained", "--out", tmp_path / "run")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
    assert named in answer.err
    assert not (tmp_path / "run").exists()


def test_two_calls_in_a_folder_leave_two_studies(unseen: Unseen, tmp_path: Path) -> None:
    every = ("run", "ericsson-2021", *DRAWN, "--datasets", "digits", "--workers", 1, "--out", tmp_path)
    words = (*every, "--limit", 6)
    for probe in ("knn", "ridge", "knn"):
        assert unseen(*words, "--probes", probe).code == 0
    assert {path.name for path in tmp_path.glob("*.toml")} == {"study.toml", "study-2.toml"}
    assert {each.probe for each in read_run(tmp_path).scores} == {"knn-20", "ridge"}
    before = values(tmp_path)
    other = unseen(*every, "--probes", "knn", "--limit", 7)
    assert (other.code, other.err.count("\n"), values(tmp_path)) == (2, 1, before)
    assert "the key limit on digits (6, not 7)" in other.err
    other = unseen(*words, "--probes", "knn", "--set", "knn.k=5")
    assert "the key knn.k (20, not 5)" in other.err


def test_a_study_is_removed_when_all_its_results_are_replaced(unseen: Unseen, tmp_path: Path) -> None:
    def run(*words: object) -> dict[str, tuple[str, ...]]:
        common = ("run", "ericsson-2021", *DRAWN, "--datasets", "digits", "--workers", 1, "--out", tmp_path)
        answer = unseen(*common, *words)
        assert answer.code == 0, answer.err
        assert {*read_run(tmp_path).studies} == {path.name for path in tmp_path.glob("*.toml")}
        assert f"unseen run {[*read_run(tmp_path).studies][-1]} " in (tmp_path / "report.html").read_text()
        return {path.name: find_study(str(path)).probes for path in sorted(tmp_path.glob("*.toml"))}

    assert run("--probes", "knn", "--limit", 6) == {"study.toml": ("knn",)}
    assert run("--probes", "ridge", "--limit", 6) == {"study-2.toml": ("ridge",), "study.toml": ("knn",)}
    assert run("--probes", "knn", "--limit", 6, "--set", "knn.weights=uniform", "--replace") == {
        "study-2.toml": ("ridge",), "study.toml": ("knn",),
    }  # fmt: skip
    assert find_study(str(tmp_path)).settings["knn"]["weights"] == "uniform"
    assert run("--probes", "knn,ridge", "--limit", 5, "--replace") == {"study.toml": ("knn", "ridge")}
    assert find_study(str(tmp_path)).limit == 5


def test_a_second_run_of_several_studies_in_one_folder_writes_nothing(unseen: Unseen, tmp_path: Path) -> None:
    words = ("run", "ericsson-2021", *DRAWN, "--datasets", "digits", "--limit", 6, "--workers", 1, "--out", tmp_path)
    more = (("--probes", "knn"), ("--probes", "ridge", "--set", "seeds=2"))
    for probes in more:
        assert unseen(*words, *probes).code == 0
    before = (tmp_path / "run.json").read_text()
    for probes in more:
        assert unseen(*words, *probes).code == 0
    assert (tmp_path / "run.json").read_text() == before
    page = (tmp_path / "report.html").read_text()
    assert all(f"<code>unseen run {name} " in page for name in ("study.toml", "study-2.toml"))


NETWORK_CODE = """
from torch import nn
from unseen.data.core.decoding.transform import Transform


def make():
    return nn.Sequential(nn.AvgPool2d(4), nn.Flatten()), Transform(size=8, resize=8)
"""


def test_features_of_ones_own_backbone_are_found_wherever_its_study_is_run(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/tiny.py").write_text(NETWORK_CODE)
    monkeypatch.chdir(tmp_path / "here")
    words = ("--datasets", "digits", "--limit", 6, "--probes", "knn", "--workers", 1)
    assert unseen("run", "ericsson-2021", "--backbone", "tiny.py:make", *words, "--out", "run").code == 0
    more = unseen("run", "run/study.toml", "--allow-code", "--probes", "ridge", "--workers", 1, "--out", "run")
    assert (more.code, "images, " in more.err) == (0, False), more.err  # nothing is extracted again
    monkeypatch.chdir(tmp_path)
    again = unseen("run", "here/run/study.toml", "--allow-code", "--workers", 1, "--out", "again")
    assert again.code == 0, again.err
    stores = [{path.name for path in (tmp_path / run / "features").glob("*/*")} for run in ("here/run", "again")]
    assert stores[0] == stores[1]
    assert {*keys(tmp_path / "again")} < {*keys(tmp_path / "here/run")}
