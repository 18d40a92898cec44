"""Every shipped probe on data sets with each kind of labels that it takes: whole, in two parts, and again."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from PIL import Image
from targets import tiny_data

from studies import plan_of, run_of, study_of
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.data.core.dataset import Target
from unseen.data.core.ranking import image_label, query_label
from unseen.errors import OtherPartsError, UserError
from unseen.probes.attentive.protocol import AttentiveProtocol
from unseen.probes.by_name import all_probes
from unseen.probes.by_name.attentive import Attentive
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.dense.trained_head import TrainedHead
from unseen.probes.many_shot import PROTOCOLS as MANY_SHOT
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.patches.protocols import PatchLinearProtocol
from unseen.probes.protocol import PROTOCOLS as LOGISTIC
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.data import RunData
from unseen.runs.kept_units import kept_units
from unseen.runs.means import Means
from unseen.runs.record import read_results
from unseen.runs.results import RESULTS
from unseen.studies.study import Study

QUICK = LogisticProtocol(name="cog-v2-short", epochs=2, trials=2, round_size=2, batch=64, rates=(1.0, 10.0))
FEW = ManyShotProtocol(name="ericsson-2021", weakest=1e-2, strongest=1e2, steps=3)
FIVE_STEPS = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, least_steps=5)
THREE_STEPS = AttentiveProtocol(rates=(1.0,), decays=(0.0,), least_steps=3)
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "logistic": {"protocol": "cog-v2-short"},
    "pca": {"protocol": "cog-v2-short", "dimensions": [2, 4]},
    "mlp": {"protocol": "cog-v2-short", "hidden": [8, 8]},
    "centroids": {"episodes": 20},
    "dinov2-linear": {"steps": 20, "inputs": ["cls1=6:9", "cls4-avg=0:12"]},
    "fine-tuned": {"trials": 2, "steps": 2, "batch": 8},
    "detector-frozen": {"steps": 1, "scale": 0.1},
    "detector-finetuned": {"steps": 1, "scale": 0.1},
    "psp": {"steps": 2, "scale": 0.1},
    "upernet": {"steps": 2, "scale": 0.1},
    "saliency": {"grid": "14/7"},
    "attentive": {"queries": 2, "epochs": 1},
    "inversion": {"steps": 2},
}
"""Settings with which each probe takes little time."""
HEADS = {"detector-frozen", "detector-finetuned", "psp", "upernet"}
SLOW = {"attentive", "detector-finetuned", "detector-frozen", "upernet"}
"""The twins of other probes, which train the whole network too."""
FEATURES = {"class": ("pets", "eurosat"), "classes": ("voc2007",), "ranking": ("roxford5k",)}
"""Data sets of features by target: with the author's splits, and without splits; with several classes; with queries."""
CASES = [(name, target) for name, probe in all_probes().items() for target in probe.targets]
ids = "-".join


@dataclass(frozen=True)
class ShortPatchLinear(PatchLinear):
    protocol: PatchLinearProtocol = FIVE_STEPS


@dataclass(frozen=True)
class ShortAttentive(Attentive):
    protocol: AttentiveProtocol = THREE_STEPS


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOGISTIC, "cog-v2-short", QUICK)
    monkeypatch.setitem(MANY_SHOT, "ericsson-2021", FEW)
    monkeypatch.setitem(all_probes(), "patch-linear", ShortPatchLinear)
    monkeypatch.setitem(all_probes(), "attentive", ShortAttentive)
    monkeypatch.setattr(TrainedHead, "step_seconds", lambda *_: 0.1)  # instead of timing a training


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features of six overlapping classes in the folders of data sets, whose splits have other orders of classes."""
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    centres = rng.standard_normal((6, 12))
    for name in (*FEATURES["class"], *FEATURES["classes"]):
        (folder / name).mkdir()
        for split in ("all",) if name == "eurosat" else ("train", "val", "test"):
            y = rng.permutation(np.arange(6).repeat({"all": 40, "val": 10}.get(split, 20)))
            words = rng.permutation(list("abcdef") if name != "voc2007" else ["a", "b", "a+b", "none", "a+c", "c"])
            shown = {word: centres[[ord(each) - 97 for each in word if each in "abcdef"]].sum(axis=0) for word in words}
            X = np.array([shown[word] for word in words[y]]) + rng.standard_normal((len(y), 12))
            np.savez(folder / name / f"{split}.npz", X=X.astype(np.float32), y=y, classes=words)
    (folder / "roxford5k").mkdir()
    images = [image_label({"easy": [n % 4], "hard": [(n + 1) % 4], "junk": [(n + 2) % 4]}) for n in range(20)]
    for split, labels in (("train", images), ("test", [query_label(number) for number in range(4)])):
        X = rng.standard_normal((len(labels), 12)).astype(np.float32)
        np.savez(folder / "roxford5k" / f"{split}.npz", X=X, y=np.array(labels))
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two images without labels."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for number in range(2):
        Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def networks() -> dict[str, Backbone]:
    """A network for each input of probes; detectors and heads for maps need one with maps of several sizes."""
    return {
        "patches": load_backbone("demo:untrained", size=28, patches=True),
        "images": load_backbone("timm:test_vit", weights="random", size=32),
        "outputs": load_backbone("timm:test_vit", weights="random", size=32),
        "heads": load_backbone("timm:resnet10t", weights="random", size=64),
        "none": load_backbone("demo:untrained", size=28, patches=True),
    }


@pytest.fixture
def matrix(features: Path, pictures: Path, networks: dict[str, Backbone]) -> "Matrix":
    return Matrix(features, pictures, networks)


@dataclass(frozen=True)
class Matrix:
    """Runs a probe on data of a target."""

    features: Path
    pictures: Path
    networks: Mapping[str, Backbone]

    def study(self, name: str, target: Target) -> Study:
        keys: dict[str, Any] = {"preprocessing": "own", "seeds": 2, "probes": [name]}
        if all_probes()[name].input == "vectors":
            splits = all_probes()[name].split
            keys["datasets"] = [each for each in FEATURES[target] if each != "eurosat" or not splits]
        elif target == "none":
            keys["datasets"] = [str(self.pictures)]
        if name in HEADS:
            keys["seeds"] = 1
        if name == "centroids":
            keys["shots"] = [1, 4]
        if name == "classifier":
            keys |= {"backbones": ["timm:test_vit"], "backbone": {"weights": "random", "size": 32}, "seeds": 1}
        return study_of(**keys).replace(**{name: SETTINGS.get(name, {})})

    def run(self, name: str, target: Target, out: Path, part: tuple[int, int] = (1, 1)) -> RunData:
        probe, study = all_probes()[name], self.study(name, target)
        if probe.input == "vectors":
            return run_of(study, out, features=self.features, means=Means(1), part=part)
        data = [] if target == "none" else [tiny_data(target)]
        if name == "classifier":
            return run_of(study, out, datasets=data, part=part)
        net = self.networks["heads" if probe.input == "images" and data and data[0].dataset.dense else probe.input]
        return run_of(study, out, [self.networks["none"] if target == "none" else net], datasets=data, part=part)


def values(data: RunData) -> dict[tuple[object, ...], float]:
    return {(s.backbone, s.domain, s.probe, s.shots, s.seed, s.metric): s.value for s in data.scores}


def times(folder: Path) -> dict[Path, int]:
    """When the files of a run were written, but for its record and for who held its lock."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in {"run.json", ".lock"})
    return {path: path.stat().st_mtime_ns for path in files}


def kept_scores(folder: Path, name: str) -> dict[tuple[object, ...], float]:
    """The scores that follow from what the results of a probe keep of each unit; trials say nothing of test images."""
    found = dict[tuple[object, ...], float]()
    for result in read_results(folder):
        job, units = result.job, kept_units(folder / RESULTS, result)
        assert [each.variant for each in units] == ([fit.variant for fit in result.fits] if KEEPS[name] else [])
        for each in units:
            first = result.fits[0].values[0][0]
            assert first in each.scores
            assert each.identity or each.images is not None
            for metric, value in each.rescored().items():
                scored = dict(next(fit.values for fit in result.fits if fit.variant == each.variant)).get(metric, value)
                near = 0.6 if metric == "angle-median" else 1e-12
                assert value == pytest.approx(scored, abs=near)
                found[job["dataset"], job.get("shots"), job.get("seed"), each.variant, metric] = value
    return found


KEEPS = {name: probe.keeps_units for name, probe in all_probes().items()}


def cases() -> Iterator[Any]:
    for name, target in CASES:
        marks = [pytest.mark.long_suite] if name in SLOW else []
        yield pytest.param(name, target, id=f"{name}-{target}", marks=marks)


@pytest.mark.parametrize(("name", "target"), [*cases()])
def test_every_probe_runs_on_every_kind_of_labels_that_it_takes(
    matrix: Matrix, tmp_path: Path, name: str, target: Target
) -> None:
    whole = matrix.run(name, target, tmp_path / "whole")
    found = values(whole)
    assert found
    assert all(str(score.probe).startswith(name) for score in whole.scores)
    assert {score.metric for score in whole.scores} <= {*all_probes()[name].metrics}
    for number in (1, 2, 1):  # the first part may have to wait for the second
        with suppress(OtherPartsError):
            divided = matrix.run(name, target, tmp_path / "parts", (number, 2))
    assert values(divided) == found
    assert kept_scores(tmp_path / "whole", name) == kept_scores(tmp_path / "parts", name)
    kept = times(tmp_path / "whole")
    assert values(matrix.run(name, target, tmp_path / "whole")) == found
    assert times(tmp_path / "whole") == kept


def test_every_kind_of_probe_names_the_same_test_images(matrix: Matrix, tmp_path: Path) -> None:
    """So that frozen features can be compared with fine-tuning, image by image."""
    study = study_of(preprocessing="own", seeds=1, probes=["knn", "fine-tuned", "attentive"])
    study = study.replace(**{name: SETTINGS[name] for name in ("fine-tuned", "attentive")})
    run_of(study, tmp_path, [matrix.networks["images"]], datasets=[tiny_data("class")])
    run_of(matrix.study("classifier", "class"), tmp_path / "own", datasets=[tiny_data("class")])
    kept = [
        (result.job["probe"], each)
        for folder in (tmp_path, tmp_path / "own")
        for result in read_results(folder)
        for each in kept_units(folder / RESULTS, result)
    ]
    assert {probe for probe, _ in kept} == {"knn", "fine-tuned", "attentive", "classifier"}
    images = [each.images for _, each in kept]
    assert images[0] is not None
    assert images[0].ids
    assert [each.difference(images[0]) for each in images if each is not None] == [""] * 4


def test_vector_probes_take_the_data_sets_whose_splits_suit_them(matrix: Matrix, tmp_path: Path) -> None:
    for name in ("centroids", "ridge"):
        study = matrix.study(name, "class").replace(datasets="all")
        domains = {score.domain for score in run_of(study, tmp_path / name, features=matrix.features).scores}
        assert domains == ({"pets", "eurosat"} if name == "centroids" else {"pets"})


@pytest.mark.parametrize("target", [each for each in get_args(Target) if each != "none"])
def test_a_probe_that_does_not_fit_a_data_set_is_refused_in_one_sentence(tmp_path: Path, target: Target) -> None:
    unfit = [name for name, probe in all_probes().items() if not {target, "none"} & {*probe.targets}]
    assert unfit
    for name in unfit:
        with pytest.raises(UserError) as refused:
            run_of(study_of(probes=[name]), tmp_path / name, ["demo:untrained"], datasets=[tiny_data(target)])
        assert str(refused.value).startswith(f"tiny: {name} takes ")
        assert "\n" not in str(refused.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("probe", ["linear", "attentive"])
def test_shots_are_refused_for_images_with_several_classes_before_any_work(
    probe: str, features: Path, networks: dict[str, Backbone], tmp_path: Path
) -> None:
    """Nothing is extracted or fitted; probes without shots, and all images, are taken."""
    given: dict[str, Any] = {"features": features}
    if probe == "attentive":
        given = {"backbones": [networks["patches"]], "datasets": [tiny_data("classes")]}
    study = study_of(probes=probe, seeds=1, shots=[2, "all"])
    keys: dict[str, Any] = {"datasets": ["voc2007"]} if probe == "linear" else {"attentive": SETTINGS["attentive"]}
    study = study.replace(**keys)
    for act in (plan_of, run_of):
        with pytest.raises(UserError, match="one class per image"):
            act(study, tmp_path / "out", **given)
    assert not [*(tmp_path / "out").rglob("*.np*")]
    assert plan_of(study.replace(shots="all"), tmp_path / "out", **given).jobs == 1
    if probe == "linear":
        assert plan_of(study.replace(probes="spectrum"), tmp_path / "out", **given).jobs == 1
