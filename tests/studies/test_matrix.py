"""Every probe of feature vectors on data sets with each kind of labels that it takes: whole, in parts, and again."""

from pathlib import Path

import numpy as np
import pytest

from unseen.errors import OtherPartsError, UserError
from unseen.features.readers import read_features
from unseen.probes.by_name import feature_probes
from unseen.probes.by_name.centroids import Centroids
from unseen.probes.by_name.geometry import Geometry
from unseen.probes.by_name.knn import KNN
from unseen.probes.by_name.linear import Linear
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.by_name.mlp import MLP
from unseen.probes.by_name.pca import PCA
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.probe import Probe
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.studies.own_features import plan_own
from unseen.studies.probed_features import probed_features
from unseen.studies.study import run_prepared, run_study
from unseen.studies.tasks.features import find_task_features
from unseen.studies.tasks.plan import TaskProbes
from unseen.studies.tasks.request import TaskRequest

QUICK = LogisticProtocol(name="quick", epochs=2, trials=2, round_size=2, batch=64, rates=(1.0, 10.0))
FEW = ManyShotProtocol(name="few", weakest=1e-2, strongest=1e2, steps=3)
SHORT: dict[str, Probe] = {
    "logistic": Logistic(QUICK),
    "linear": Linear(protocol=FEW),
    "pca": PCA(dimensions=(2, 4), protocol=QUICK),
    "mlp": MLP(hidden=(8, 8), protocol=QUICK),
}
"""Shorter forms of probes that search."""
PROBES = [SHORT.get(name, kind()) for name, kind in sorted(feature_probes().items())]
DATASETS = {"pets": ("train", "val", "test"), "eurosat": ("all",), "voc2007": ("train", "val", "test")}
"""One class per image, with the author's splits; without splits; and several classes per image."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features of six overlapping classes in the folders of data sets, whose splits have other orders of classes."""
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    centres = rng.standard_normal((6, 12))
    for name, splits in DATASETS.items():
        (folder / name).mkdir()
        for split in splits:
            y = rng.permutation(np.arange(6).repeat({"all": 40, "val": 10}.get(split, 20)))
            words = rng.permutation(list("abcdef") if name != "voc2007" else ["a", "b", "a+b", "none", "a+c", "c"])
            shown = {word: centres[[ord(each) - 97 for each in word if each in "abcdef"]].sum(axis=0) for word in words}
            X = np.array([shown[word] for word in words[y]]) + rng.standard_normal((len(y), 12))
            np.savez(folder / name / f"{split}.npz", X=X.astype(np.float32), y=y, classes=words)
    return folder


def values(data: RunData) -> dict[tuple[object, ...], float]:
    return {(s.domain, s.probe, s.shots, s.seed, s.metric): s.value for s in data.scores}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_every_probe_runs_on_every_data_set_whose_labels_it_takes(folder: Path, tmp_path: Path, probe: Probe) -> None:
    further = [] if probe.name in {Linear.name, Centroids.name} else [probe]  # which every task study has
    request = TaskRequest(find_task_features(folder, list(DATASETS), ["net"]), TaskProbes(FEW, further))
    whole = values(run_study(request, tmp_path / "whole", means=Means(1)))
    found = {domain for domain, variant, *_ in whole if str(variant).startswith(probe.name)}
    several, without_splits = "classes" in probe.targets, not probe.split
    assert found == {"pets", *(["voc2007"] if several else []), *(["eurosat"] if without_splits else [])}
    for number in (1, 2):
        try:
            divided = run_study(request, tmp_path / "parts", means=Means(1), part=(number, 2))
        except OtherPartsError:
            assert number == 1
    assert values(divided) == whole
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "whole").rglob("*.json")}
    assert values(run_study(request, tmp_path / "whole", means=Means(1))) == whole
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "whole").rglob("*.json")} == kept


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_every_probe_on_two_files_is_a_run(folder: Path, tmp_path: Path, probe: Probe) -> None:
    places = {split: folder / "pets" / f"{split}.npz" for split in ("train", "test")}
    features = probed_features("net", "pets", {split: read_features(path) for split, path in places.items()}, places)
    shots = [1, 4] if probe.name == Centroids.name else [None] if probe.name == Geometry.name else [4, None]
    prepared = plan_own(features, list("abcdef"), probe, shots, 2)
    data = run_prepared(prepared, tmp_path)
    assert {score.shots for score in data.scores} == set(shots)
    assert all(str(score.probe).startswith(probe.name) for score in data.scores)
    assert {score.seed for score in data.scores} == ({0} if probe.name == Geometry.name else {0, 1})
    again = plan_own(features, list("abcdef"), probe, shots, 2)
    assert list(again.work(again.jobs, tmp_path / "results", Means(1))) == []


def test_a_probe_is_the_same_job_in_every_study(folder: Path) -> None:
    """Of features whose classes have one order, only the hashes of features and the settings matter."""
    found = find_task_features(folder, ["pets"], ["net"])
    [features] = found.features
    probes = TaskProbes(FEW, [KNN()])
    task = next(job for job in probes.jobs([features], found.datasets) if job.probe == "knn")
    [alone] = KNN().jobs(features, [0])
    assert task.key == alone.key
    assert task.described.keys() == {"probe", "revision", "backbone", "dataset", "reads", "settings"}


@pytest.mark.parametrize("probe", [Centroids(), Geometry()], ids=lambda probe: probe.name)
def test_shots_that_a_probe_does_not_take_are_refused(folder: Path, tmp_path: Path, probe: Probe) -> None:
    places = {split: folder / "pets" / f"{split}.npz" for split in ("train", "test")}
    features = probed_features("net", "pets", {split: read_features(path) for split, path in places.items()}, places)
    wrong = [None] if probe.name == Centroids.name else [4]
    with pytest.raises(UserError, match="shots"):
        run_prepared(plan_own(features, list("abcdef"), probe, wrong, 1), tmp_path)
