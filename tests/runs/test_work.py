"""Jobs of probes on feature vectors on disk: one split of training data, or three with several kinds of labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.probes.by_name.centroids import Centroids
from unseen.probes.by_name.knn import KNN
from unseen.probes.by_name.linear import Linear
from unseen.probes.job import Fit, Job, fits_read
from unseen.probes.many_shot import ManyShotProtocol
from unseen.probes.newton import walk
from unseen.probes.probe import Probe, Size
from unseen.probes.protocol import Setting
from unseen.probes.vectors import JoinedRows, Vectors, probe_data
from unseen.runs import kept_fits
from unseen.runs.execute import groups_of
from unseen.runs.fit_progress import FitProgress
from unseen.runs.work import VectorWork, but_setting, kept_folder

FEW = ManyShotProtocol(name="few", weakest=1e-2, strongest=1e2, steps=3)
SPLITS = ("train", "val", "test")


def write(folder: Path, name: str, labels: list[str] | NDArray[np.str_], seed: int = 0) -> str:
    """Features near a corner for each class; their hash."""
    rng = np.random.default_rng(seed)
    words = sorted(set(labels))
    y = np.array([words.index(label) for label in labels])
    X = np.eye(8)[[sum(map(ord, label)) % 8 for label in labels]] + 0.3 * rng.normal(size=(len(labels), 8))
    np.savez(folder / f"{name}.npz", X=X.astype(np.float32), y=y, classes=np.array(words))
    return str(read_features(folder / f"{name}.npz").provenance["content_hash"])


def vectors(folder: Path, *labels: list[str], several: bool = False) -> Vectors:
    """Features of three splits, of classes in the order of their names."""
    by_split = dict(zip(SPLITS, labels, strict=True))
    hashes = {split: write(folder, split, of, seed) for seed, (split, of) in enumerate(by_split.items())}
    return Vectors(
        "b", "pets", {split: len(of) for split, of in by_split.items()}, len({*labels[0]}), 8, hashes,
        {split: str(folder / f"{split}.npz") for split in SPLITS},
        target="classes" if several else "class", metric="map-11-point" if several else "mean-per-class",
        order="sorted",
    )  # fmt: skip


def compute(probe: Probe, data: Vectors, shots: list[int | None] | None = None, **how: Any) -> list[tuple[Job, Fit]]:
    """The jobs of a probe, computed, each with its one fit."""
    places = {data.hashes[split]: place for split, place in data.places.items()}
    work, computed = VectorWork(places, **how), []
    for job, values in work(list(probe.jobs(data, [0], shots))):
        [fit] = fits_read(job.described, values, "k.json")
        assert values["device"] in {"cpu", "cuda"}
        computed.append((job, fit))
    return computed


def one(probe: Probe, data: Vectors, shots: int | None = None, **how: Any) -> dict[str, Any]:
    """The values and the details of the only fit."""
    [(_, fit)] = compute(probe, data, None if shots is None else [shots], **how)
    return {**dict(fit.values), **fit.details, "interval": fit.interval}


def test_a_penalty_is_chosen_on_the_data_sets_own_validation_samples(tmp_path: Path) -> None:
    data = vectors(tmp_path, ["p", "q", "r"] * 20, ["p", "q", "r"] * 8, ["p", "q", "r"] * 12)
    [(job, fit)] = compute(Linear(protocol=FEW), data)
    assert [metric for metric, _ in fit.values] == ["mean-per-class", "ece", "scaled-ece"]
    assert (job.protocol, fit.variant, fit.shots, fit.seed) == ("few", "linear", None, 0)
    assert dict(fit.values)["mean-per-class"] > 0.9
    assert len(fit.details["validation"]) == 3
    bins = fit.details["reliability"]["before"]
    assert sum(bins["counts"]) == 36
    assert [mean is None for mean in bins["confidence"]] == [count == 0 for count in bins["counts"]]


def test_other_probes_are_trained_on_validation_samples_too(tmp_path: Path) -> None:
    data = vectors(tmp_path, ["p", "q"] * 10, ["p", "q"] * 6, ["p", "q"] * 8)
    parts = {split: read_features(Path(data.places[split])) for split in SPLITS}
    joined, apart = (probe_data(parts, data.reads, "here", joined=joined) for joined in (True, False))
    assert (len(joined.y_train), joined.validation) == (32, None)
    assert apart.validation is not None
    assert (len(apart.y_train), len(apart.validation.y)) == (20, 12)
    X = torch.cat([torch.from_numpy(np.array(parts[split].X[:])) for split in ("train", "val")])
    assert torch.equal(joined.train_rows(), X)
    assert data.size(KNN()) == Size(32, 16, 2, (8,))
    assert data.size(Linear()) == Size(20, 16, 2, (8,))
    [(_, fit)] = compute(KNN(k=1), data)
    nearest = torch.nn.functional.normalize(torch.from_numpy(np.array(parts["test"].X[:]))) @ (
        torch.nn.functional.normalize(X).T
    )
    right = joined.y_train[nearest.argmax(dim=1)] == joined.y_test
    assert dict(fit.values)["top1"] == pytest.approx(float(right.double().mean()))
    assert (fit.samples.fewest, fit.samples.most) == (16, 16) if fit.samples else False


@pytest.mark.parametrize(
    "rows", [slice(0, 3), slice(2, 9), slice(5, 5), slice(0, 100), slice(1, 8, 2), slice(-2, None)]
)
def test_joined_rows_are_those_of_one_array(rows: slice) -> None:
    parts = [np.arange(12, dtype=np.float16).reshape(4, 3), np.arange(30, dtype=np.float32).reshape(10, 3)]
    joined, whole = JoinedRows(parts), np.concatenate(parts)
    assert (joined.shape, joined.dtype, len(joined)) == (whole.shape, whole.dtype, 14)
    assert np.array_equal(joined[rows], whole[rows])


def test_labels_go_by_name_not_by_number(tmp_path: Path) -> None:
    # In each file classes are numbered on their own: the test file has them in another order of numbers.
    data = vectors(tmp_path, ["p", "q", "r"] * 20, ["r", "q", "p"] * 8, ["q", "r", "p"] * 12)
    assert one(Linear(protocol=FEW), data)["mean-per-class"] > 0.9


def test_classes_that_a_split_lacks(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="pets by b: no validation image of r; every class needs one"):
        one(Linear(protocol=FEW), vectors(tmp_path, ["p", "q", "r"] * 9, ["p", "q"] * 6, ["p", "q", "r"] * 6))
    with pytest.raises(UserError, match=r"all images are of one class \(p\)"):
        one(Linear(protocol=FEW), vectors(tmp_path, ["p"] * 9, ["p"] * 6, ["p"] * 6))


def test_several_classes_an_image(tmp_path: Path) -> None:
    words = ["p", "q", "p+q", "none", "p?+q"]
    data = vectors(tmp_path, words * 10, words * 6, ["q", "p", "none"] * 6, several=True)
    values = one(Linear(protocol=FEW), data)
    assert 0.5 < values["map-11-point"] <= 1
    assert "ece" not in values
    assert not data.takes(KNN())
    with pytest.raises(UserError, match="pets by b: no validation image of q; every class needs one"):
        one(Linear(protocol=FEW), vectors(tmp_path, words * 10, ["p", "none"] * 6, words * 6, several=True))
    some = ["p", "q", "p+q"]
    with pytest.raises(UserError, match="pets by b: every training image shows p; images without it are needed"):
        one(Linear(protocol=FEW), vectors(tmp_path, ["p+q", "p"] * 10, some * 6, some * 6, several=True))


@pytest.mark.parametrize("whole", [False, True])
def test_episodes_take_images_of_all_splits(tmp_path: Path, whole: bool) -> None:
    words = list("abcde")  # no split alone has 20 images of each class
    data = vectors(tmp_path, words * 8, words * 6, words * 6)
    parts = [read_features(Path(place)) for place in data.places.values()]
    rows = np.concatenate([part.X[:] for part in parts])
    labels = np.concatenate([np.array(part.classes)[part.y] for part in parts])
    if whole:  # a data set without splits
        np.savez(tmp_path / "all.npz", X=rows, y=np.searchsorted(words, labels), classes=np.array(words))
        content = str(read_features(tmp_path / "all.npz").provenance["content_hash"])
        place = {"all": str(tmp_path / "all.npz")}
        data = replace(data, rows={"all": len(rows)}, hashes={"all": content}, places=place)
        assert not data.takes(KNN())
    values = one(Centroids(), data, 5)
    rng, accuracies = np.random.default_rng(0), []
    for _ in range(600):
        drawn = {word: rng.permutation(np.flatnonzero(labels == word))[:20] for word in words}
        centroids = np.stack([rows[drawn[word][:5]].mean(axis=0) for word in words])
        hits = [
            ((rows[drawn[word][5:]][:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1) == number
            for number, word in enumerate(words)
        ]
        accuracies.append(np.mean(hits))
    assert values["top1"] == pytest.approx(np.mean(accuracies), abs=4 * values["interval"])
    assert values["interval"] == pytest.approx(1.96 * np.std(accuracies) / 600**0.5, rel=0.2)
    with pytest.raises(UserError, match="need 5 classes of 35 samples"):
        one(Centroids(), data, 20)


def test_changed_features_are_refused(tmp_path: Path) -> None:
    data = vectors(tmp_path, ["p", "q"] * 9, ["p", "q"] * 6, ["p", "q"] * 6)
    write(tmp_path, "test", ["p", "q"] * 7, seed=9)
    with pytest.raises(UserError, match="changed since this run was planned"):
        one(Linear(protocol=FEW), data)


def test_jobs_that_differ_only_in_shots_and_seed_are_computed_together(tmp_path: Path) -> None:
    data = vectors(tmp_path, ["p", "q"] * 9, ["p", "q"] * 6, ["p", "q"] * 6)
    jobs = [job for probe in (KNN(), KNN(k=3)) for job in probe.jobs(data, [0, 1], [1, 2])]
    assert [[(job.settings["k"], job.shots, job.seed) for job in group] for group in groups_of(jobs, but_setting)] == [
        [(k, shots, seed) for seed in (0, 1) for shots in (1, 2)] for k in (20, 3)
    ]


def test_a_larger_job_costs_more() -> None:
    linear = Linear(protocol="ericsson-2021")
    exact = Linear(protocol=ManyShotProtocol(converge="all"))
    size, setting = Size(1000, 0, 10, (64,)), Setting(5)
    assert 5 * linear.flops(size, setting) < exact.flops(size, setting)
    for probe in (linear, Centroids()):
        more = [replace(size, rows=2000), replace(size, rows=2000, shape=(128,))]
        costs = [probe.flops(each, setting) for each in (size, *more)]
        assert costs == sorted(set(costs))


def test_a_killed_probe_keeps_what_it_has_and_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = vectors(tmp_path, ["a", "b", "c"] * 20, ["a", "b", "c"] * 8, ["a", "b", "c"] * 8)
    probe, kept = Linear(protocol=replace(FEW, steps=7)), tmp_path / "kept"
    monkeypatch.setattr(walk, "BLOCK_ON_GPU", 1)
    expected = one(probe, data)
    monkeypatch.setattr(kept_fits, "SECONDS_BETWEEN_FILES", 0.0)
    monkeypatch.setattr(kept_fits, "SECONDS_BETWEEN_LINES", 0.0)
    told: list[FitProgress] = []

    def stop(progress: FitProgress) -> None:
        told.append(progress)
        if progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one(probe, data, kept=kept, tell=stop)
    assert [(each.stage, each.done, each.total) for each in told] == [("grid", n, 7) for n in (2, 3, 4)]
    assert told[-1].left >= 0
    assert one(probe, data, kept=kept, tell=told.append) == expected
    assert [each.done for each in told[3:] if each.stage == "grid"] == [6, 7]
    # A file that is cut off ends what can be gone on from.
    [job] = probe.jobs(data, [0])
    path = kept_folder(job, kept) / "grid-002.npz"
    path.write_bytes(path.read_bytes()[:100])
    assert one(probe, data, kept=kept) == expected
