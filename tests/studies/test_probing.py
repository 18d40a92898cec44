"""All kinds of jobs on the same features: planned, run mixed, killed, read back, against independent references."""

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import combinations
from math import exp, log
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from alone import start_telling
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.probes.by_name import all_probes
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.logistic import probe_logistic
from unseen.probes.mlp import probe_mlp
from unseen.probes.protocol import COG_V2, LogisticProtocol, MlpProtocol
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.execute import groups_of
from unseen.runs.kept_labels import correct_of, labelled, labels_place
from unseen.runs.means import Means
from unseen.runs.results import Result, missing, read_result
from unseen.runs.scores import result_scores
from unseen.runs.setup import ProtocolUsed
from unseen.runs.work import but_setting
from unseen.studies import probing
from unseen.studies.probed_features import ProbedFeatures, probed_features
from unseen.studies.probing import estimate, run

pytestmark = pytest.mark.gpu_too
QUICK = LogisticProtocol(name="quick", epochs=3, trials=2, round_size=2, batch=64, rates=(1.0, 10.0))
PROBE = Logistic(QUICK)
RUN = RunData(
    "A run", (), [Domain("l1", "L1")], [Backbone("b", "yours")], "b", protocols=[ProtocolUsed.of("logistic", QUICK)]
)
CLASSES, DIMENSION = 4, 40
ZEROS = {"train": [5], "test": [3, 20]}


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes that overlap, of unequal lengths of rows, some of them all zeros, with names."""
    folder = tmp_path_factory.mktemp("features")
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLASSES, DIMENSION))
    names = np.array(["n03", "n01", "n04", "n02"])
    for name, each in (("train", 25), ("test", 9)):
        y = np.arange(CLASSES).repeat(each)[: CLASSES * each - 2]  # the last class is smaller
        X = centres[y] + 1.2 * rng.standard_normal((len(y), DIMENSION))
        scale = rng.uniform(0.02, 0.5, (len(y), 1))  # at greater ones, MLPs diverge
        scale[ZEROS[name]] = 0
        np.savez(folder / f"{name}.npz", X=(X * scale).astype(np.float32), y=y, classes=names)
    return folder


@pytest.fixture(scope="module")
def pair(features: Path) -> ProbedFeatures:
    places = {split: features / f"{split}.npz" for split in ("train", "test")}
    return probed_features("b", "l1", {split: read_features(place) for split, place in places.items()}, places)


EXTENDED = ("geometry", "kmeans", "mlp", "pca")


def logistic(pair: ProbedFeatures) -> list[Job]:
    return [*PROBE.jobs(pair, [0, 1], [2, None], gpu=probing.on_gpu())]


def extended(
    features: Sequence[ProbedFeatures], seeds: Sequence[int], protocol: LogisticProtocol = COG_V2
) -> list[Job]:
    """The jobs of the further probes of ImageNet-CoG's first version."""
    found = list[Job]()
    for kind in (all_probes()[name] for name in EXTENDED):
        has_protocol = any(each.name == "protocol" for each in fields(kind))
        probe = replace(kind(), protocol=protocol) if has_protocol else kind()
        for each in features:
            found += probe.jobs(each, seeds[:1] if probe.once else seeds, gpu=probing.on_gpu())
    return found


def all_jobs(pair: ProbedFeatures) -> list[Job]:
    return [*logistic(pair), *extended([pair], [0], QUICK)]


@pytest.fixture(scope="module")
def results(pair: ProbedFeatures, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "results"
    jobs = all_jobs(pair)
    assert {job.key for job in run(jobs, [pair], folder, Means(1))} == {job.key for job in jobs}
    return folder


def result_of(results: Path, pair: ProbedFeatures, probe: str, **wanted: Any) -> Result:
    """The result of the one job of a probe with those fields or settings."""
    jobs = [job for job in all_jobs(pair) if job.probe == probe]
    jobs = [job for job in jobs if all(job.settings.get(n, getattr(job, n, None)) == v for n, v in wanted.items())]
    assert len(jobs) == 1
    result = read_result(results, jobs[0].key)
    assert result is not None
    return result


def found(result: Result) -> dict[str, Any]:
    """The values and the details of the one fit of a result."""
    [fit] = result.fits
    return {**dict(fit.values), **fit.details}


def with_fit(result: Result, **changes: Any) -> Result:
    """The same result with other entries of its one fit."""
    [fit] = result.values["fits"]
    return replace(result, values=result.values | {"fits": [fit | changes]})


def sides(features: Path) -> tuple[Any, Any, Any, Any]:
    train, test = (np.load(features / f"{name}.npz") for name in ("train", "test"))
    return train["X"], train["y"], test["X"], test["y"]


def test_the_plan_is_the_papers(pair: ProbedFeatures) -> None:
    rows = {"train": 10_000, "test": 500}
    big = replace(pair, dimension=2048, rows=rows)
    jobs = extended([big, replace(big, dataset="l2", dimension=512)], range(5))
    wide = [job for job in jobs if job.dataset == "l1"]

    def components(jobs: list[Job]) -> list[int]:
        return [job.settings["dimensions"] for job in jobs if job.probe == "pca" and job.seed == 0]

    assert components(wide) == [32, 64, 128, 256, 512, 1024]
    assert components([job for job in jobs if job.dataset == "l2"]) == [32, 64, 128, 256]
    perceptrons = {job.settings["relu"]: job.settings["protocol"] for job in wide if job.probe == "mlp"}
    for relu, rates in ((True, [1e-1, 1e2]), (False, [1e-2, 1e1])):
        protocol = perceptrons[relu]
        assert (protocol["hidden"], protocol["rates"], protocol["decays"]) == ([2048, 2048], rates, [1e-8, 1e-4])
        assert (protocol["epochs"], protocol["trials"], protocol["batch"]) == (100, 30, 1024)
    assert sum(job.probe == "mlp" for job in wide) == 10
    assert [job.settings["starts"] for job in wide if job.probe == "kmeans"] == [3]
    assert sum(job.probe == "geometry" for job in wide) == 1
    assert len({job.key for job in jobs}) == len(jobs)
    few = extended([replace(big, rows=rows | {"train": 50})], [0])
    assert components(few) == [32]  # no more components than samples


def test_scores_have_the_names_of_their_probes(results: Path, pair: ProbedFeatures) -> None:
    metrics: dict[str, set[str]] = {}
    for key in (job.key for job in all_jobs(pair)):
        result = read_result(results, key)
        assert result is not None
        for score in result_scores(result, RUN):
            metrics.setdefault(score.probe, set()).add(score.metric)
            assert (score.protocol, score.backbone, score.domain, score.key) == ("quick", "b", "l1", key)
    accuracies = {"top1", "top5"}
    assert metrics == {
        "logistic": accuracies,
        "pca-32": accuracies,
        "mlp": accuracies,
        "mlp-linear": accuracies,
        "kmeans": {"purity", "ami", "nmi", "ari"},
        "geometry": {"alignment", "uniformity"},
    }


def test_components_are_those_of_scikit_learn(results: Path, pair: ProbedFeatures, features: Path) -> None:
    X, y, X_test, y_test = sides(features)
    reference = PCA(32, svd_solver="full").fit(normalize(X.astype(np.float64)))
    signs = np.sign(reference.components_[np.arange(32), np.abs(reference.components_).argmax(axis=1)])
    projected = [
        torch.from_numpy(reference.transform(normalize(part.astype(np.float64))) * signs) for part in (X, X_test)
    ]
    labels = torch.from_numpy(y), torch.from_numpy(y_test)
    expected = probe_logistic(projected[0], labels[0], projected[1], labels[1], protocol=QUICK)
    values = found(result_of(results, pair, "pca"))
    assert (values["top1"], values["top5"]) == (expected.top1, expected.top5)
    assert values["rate"] == expected.rate
    assert values["variance"] == pytest.approx(reference.explained_variance_ratio_.sum(), rel=1e-6)


@pytest.mark.parametrize("relu", [True, False])
def test_perceptrons_see_features_as_they_are(results: Path, pair: ProbedFeatures, features: Path, relu: bool) -> None:
    X, y, X_test, y_test = map(torch.from_numpy, sides(features))
    rates = (1e-1, 1e2) if relu else (1e-2, 1e1)
    protocol = MlpProtocol("quick", relu=relu, epochs=3, trials=2, round_size=2, batch=64, rates=rates)
    expected = probe_mlp(X, y, X_test, y_test, protocol=protocol)
    values = found(result_of(results, pair, "mlp", relu=relu))
    assert (values["top1"], values["top5"], values["rate"]) == (expected.top1, expected.top5, expected.rate)


def test_clusters_are_scored_as_scikit_learn_scores_them(results: Path, pair: ProbedFeatures, features: Path) -> None:
    X, _, X_test, y_test = sides(features)
    reference = KMeans(CLASSES, n_init=20, random_state=0, tol=0).fit(normalize(X))
    clusters = reference.predict(normalize(X_test))
    values = found(result_of(results, pair, "kmeans"))
    assert min(values["inertias"]) == pytest.approx(reference.inertia_, rel=1e-4)
    assert values["ami"] == pytest.approx(adjusted_mutual_info_score(y_test, clusters))
    assert values["nmi"] == pytest.approx(normalized_mutual_info_score(y_test, clusters))
    assert values["ari"] == pytest.approx(adjusted_rand_score(y_test, clusters))
    largest = sum(np.bincount(clusters[y_test == concept]).max() for concept in range(CLASSES))
    assert values["purity"] == pytest.approx(largest / len(y_test))
    assert 0 < values["ari"] < 1


def test_geometry_is_that_of_a_plain_loop_over_test_pairs(results: Path, pair: ProbedFeatures, features: Path) -> None:
    _, _, X, y = sides(features)
    units = normalize(X.astype(np.float64))
    squares = {(i, j): float(((units[i] - units[j]) ** 2).sum()) for i, j in combinations(range(len(X)), 2)}
    same = [square for (i, j), square in squares.items() if y[i] == y[j]]
    values = found(result_of(results, pair, "geometry"))
    assert values["alignment"] == pytest.approx(sum(same) / len(same), rel=1e-5)
    potentials = [exp(-2 * square) for square in squares.values()]
    assert values["uniformity"] == pytest.approx(-log(sum(potentials) / len(potentials)), rel=1e-5)


def test_right_images_are_those_of_the_classifier(results: Path, pair: ProbedFeatures, features: Path) -> None:
    X, y, X_test, y_test = sides(features)
    for job in logistic(pair):
        result = read_result(results, job.key)
        assert result is not None
        fitted = probe_logistic(
            *map(torch.from_numpy, (X, y, X_test, y_test)), protocol=QUICK, shots=job.shots, seed=job.seed
        )
        guesses = (normalize(X_test) @ fitted.weights.numpy().T + fitted.bias.numpy()).argmax(axis=1)
        correct = correct_of(result)
        assert correct.tolist() == (guesses == y_test).tolist()
        assert correct.mean() == pytest.approx(found(result)["top1"], abs=1e-12)
        labels, hits = labelled(results, result)
        assert labels.classes == ("n03", "n01", "n04", "n02")
        assert labels.y.tolist() == y_test.tolist()
        assert hits.tolist() == correct.tolist()


def test_right_images_need_their_labels(results: Path, pair: ProbedFeatures, tmp_path: Path) -> None:
    job = logistic(pair)[1]
    result = read_result(results, job.key)
    assert result is not None
    with pytest.raises(UserError, match="were not stored"):
        labelled(tmp_path / "results", result)
    labels = labels_place(tmp_path / "results", job.reads)
    labels.parent.mkdir()
    whole = labels_place(results, job.reads).read_bytes()
    labels.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="damaged"):
        labelled(tmp_path / "results", result)
    np.savez(labels, y=np.array([0, 1]), classes=np.array(["a", "b"]))
    with pytest.raises(UserError, match="labels of 2 images"):
        labelled(tmp_path / "results", result)
    np.savez(labels, y=np.array([0, 1]), classes=np.array([{}], dtype=object))  # a pickle
    with pytest.raises(UserError, match="damaged"):
        labelled(tmp_path / "results", result)
    labels.write_bytes(whole)
    assert len(labelled(tmp_path / "results", result)[0].classes) == CLASSES
    [fit] = result.values["fits"]
    for broken in ({"correct": "%%"}, {"correct": "AAAA"}, {"images": "many"}, {"images": 0}, {"correct": 7}):
        with pytest.raises(UserError, match="damaged"):
            labelled(tmp_path / "results", with_fit(result, details=fit["details"] | broken))
    other = fit["values"] | {"top1": abs(fit["values"]["top1"] - 0.5)}  # than its own images say
    with pytest.raises(UserError, match="damaged"):
        labelled(tmp_path / "results", with_fit(result, values=other))


def test_results_without_hits_give_scores(results: Path, pair: ProbedFeatures) -> None:
    result = result_of(results, pair, "logistic", shots=None, seed=0)
    [fit] = result.values["fits"]
    without = {name: value for name, value in fit["details"].items() if name not in {"correct", "images"}}
    other = with_fit(result, details=without)
    assert {score.metric: score.value for score in result_scores(other, RUN)} == fit["values"]
    with pytest.raises(UserError, match="does not store which images"):
        correct_of(other)


@pytest.mark.parametrize("value", [None, "0.5", 2.0, float("nan"), -0.1, True])
def test_a_result_without_a_sound_value_is_refused(results: Path, pair: ProbedFeatures, value: Any) -> None:
    for probe, metric in (("logistic", "top1"), ("kmeans", "purity"), ("pca", "top5")):
        result = result_of(results, pair, probe, **({"shots": None, "seed": 0} if probe == "logistic" else {}))
        [fit] = result.values["fits"]
        with pytest.raises(UserError, match=f"no valid {metric}"):
            list(result_scores(with_fit(result, values=fit["values"] | {metric: value}), RUN))


@pytest.mark.parametrize("broken", [{}, {"fits": 3}, {"fits": [{"variant": "geometry"}]}, {"fits": [{"values": {}}]}])
def test_a_damaged_result_is_refused(results: Path, pair: ProbedFeatures, broken: dict[str, Any]) -> None:
    result = replace(result_of(results, pair, "geometry"), values=broken)
    with pytest.raises(UserError, match=f"{result.key}.json"):
        list(result_scores(result, RUN))


def test_jobs_together_on_a_gpus_path_give_the_same(
    results: Path, pair: ProbedFeatures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = all_jobs(pair)
    groups = groups_of(jobs, but_setting)
    assert sorted(job.key for group in groups for job in group) == sorted(job.key for job in jobs)
    assert len(groups[0]) == 4  # two seeds of two settings
    assert all(len({job.probe for job in group}) == 1 for group in groups)
    monkeypatch.setattr(probing, "on_gpu", lambda: True)
    assert len(list(run(jobs, [pair], tmp_path / "results", Means(1)))) == len(jobs)
    for key in (job.key for job in jobs):
        here, there = read_result(results, key), read_result(tmp_path / "results", key)
        assert here is not None
        assert there is not None
        assert here.values == there.values
    assert list(run(jobs, [pair], tmp_path / "results", Means(1))) == []
    planned = all_jobs(pair)
    assert {job.settings["products"] for job in planned if job.probe in {"logistic", "pca"}} == {"float16"}


def test_features_that_changed_are_refused(features: Path, pair: ProbedFeatures, tmp_path: Path) -> None:
    changed = tmp_path / "test.npz"
    arrays = dict(np.load(features / "test.npz"))
    np.savez(changed, **(arrays | {"X": arrays["X"] + 1}))
    with pytest.raises(UserError, match="changed since this run was planned"):
        list(
            run(
                all_jobs(pair),
                [replace(pair, places={**pair.places, "test": str(changed)})],
                tmp_path / "results",
                Means(),
            )
        )


def test_features_may_be_gone_when_all_is_done(results: Path, pair: ProbedFeatures, tmp_path: Path) -> None:
    gone = replace(pair, places=dict.fromkeys(pair.places, str(tmp_path / "gone")))
    assert list(run(all_jobs(pair), [gone], results, Means())) == []


def test_an_estimate_counts_every_kind(pair: ProbedFeatures, results: Path, tmp_path: Path) -> None:
    jobs = all_jobs(pair)
    assert estimate(missing(jobs, results), [pair], Means()) == 0.0
    everything = estimate(jobs, [pair], Means())
    assert 0.1 * len(jobs) < everything < 600
    alone = [job for job in jobs if job.probe in {"kmeans", "geometry"}]
    assert 0.1 * len(alone) <= estimate(alone, [pair], Means()) < everything


def test_a_gpu_is_timed_on_products_that_fill_it_in_the_arithmetic_of_the_probes(
    pair: ProbedFeatures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = dict[str, tuple[int, int, int]]()

    def rate(shape: tuple[int, int, int], numbers: str) -> float:
        timed[numbers] = shape
        return {"tf32": 1e9, "float16": 1e12, "float32": 1e12}[numbers]

    monkeypatch.setattr(probing, "on_gpu", lambda: True)
    monkeypatch.setattr(probing, "product_rate", rate)
    probing._rate.cache_clear()
    jobs = extended([pair], [0], QUICK)
    others = [job for job in jobs if job.probe in {"mlp", "kmeans", "geometry"}]
    seconds = estimate(others, [pair], Means())
    assert timed == dict.fromkeys(("tf32", "float16", "float32"), (8192, 8192, 8192))
    # Six flops a weight, sample and epoch of each perceptron: 3 epochs of 2 trials on four fifths, then on all 98.
    weights = DIMENSION * 2048 + 2048 * 2048 + 2048 * CLASSES
    assert seconds == pytest.approx(0.1 * len(others) + 2 * 6 * weights * 98 * 3 * (2 * 0.8 + 1) / 1e9, rel=1e-3)


def run_and_tell(pair: ProbedFeatures, folder: Path, tell: Connection) -> None:
    for _ in run(all_jobs(pair), [pair], folder, Means(1)):
        tell.send("done")


def test_killed_between_any_two_jobs_it_goes_on(results: Path, pair: ProbedFeatures, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    process, told = start_telling(run_and_tell, pair, folder)
    for _ in range(5):
        told.recv()
    process.kill()
    process.join()
    assert 0 < len(missing(all_jobs(pair), folder)) <= len(all_jobs(pair)) - 5
    list(run(all_jobs(pair), [pair], folder, Means()))
    for key in (job.key for job in all_jobs(pair)):
        here, there = read_result(results, key), read_result(folder, key)
        assert here is not None
        assert there is not None
        assert here.values == there.values
