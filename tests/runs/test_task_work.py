"""Jobs of the task study on features on disk."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.probes.by_name.centroids import FewShotJob
from unseen.probes.by_name.linear import ManyShotJob
from unseen.probes.many_shot import ERICSSON_2021, ManyShotProtocol, Metric
from unseen.probes.newton import walk
from unseen.runs import kept_fits
from unseen.runs.executors.here import run_here
from unseen.runs.fit_progress import FitProgress
from unseen.runs.job import job_key
from unseen.runs.results import Result, read_result
from unseen.runs.scores import result_scores
from unseen.runs.task_work import kept_folder, run_task_job

FEW = ManyShotProtocol(name="few", weakest=1e-2, strongest=1e2, steps=3)


def write(folder: Path, name: str, labels: list[str] | NDArray[np.str_], seed: int = 0) -> tuple[str, str]:
    """Features near a corner for each class; their hash and place."""
    rng = np.random.default_rng(seed)
    words = sorted(set(labels))
    y = np.array([words.index(label) for label in labels])
    X = np.eye(8)[[sum(map(ord, label)) % 8 for label in labels]] + 0.3 * rng.normal(size=(len(labels), 8))
    path = folder / f"{name}.npz"
    np.savez(path, X=X.astype(np.float32), y=y, classes=np.array(words))
    return str(read_features(path).provenance["content_hash"]), str(path)


def splits(folder: Path, *labels: list[str]) -> tuple[list[str], dict[str, str]]:
    found = [
        write(folder, name, of, seed) for seed, (name, of) in enumerate(zip(("a", "b", "c"), labels, strict=False))
    ]
    return [content for content, _ in found], dict(found)


def many(hashes: list[str], metric: Metric = "top1", protocol: ManyShotProtocol = FEW) -> ManyShotJob:
    train, val, test = hashes
    return ManyShotJob("tasks", protocol, "b", "pets", train, val, test, metric)


def test_many_shot_job_and_its_scores(tmp_path: Path) -> None:
    hashes, places = splits(tmp_path, ["p", "q", "r"] * 20, ["p", "q", "r"] * 8, ["p", "q", "r"] * 12)
    job = many(hashes, "mean-per-class")
    done = list(run_here([job], tmp_path / "results", lambda j: run_task_job(j, places=places, load=read_features)))
    assert done == [job]
    result = read_result(tmp_path / "results", job_key(job))
    assert result is not None
    scores = {score.metric: score for score in result_scores(result)}
    assert set(scores) == {"mean-per-class", "ece", "scaled-ece"}
    assert scores["mean-per-class"].value > 0.9
    assert (scores["ece"].probe, scores["ece"].domain, scores["ece"].shots) == ("linear", "pets", None)
    assert len(result.values["validation"]) == 3
    counts = result.values["reliability"]["before"]["counts"]
    assert sum(counts) == 36
    means = result.values["reliability"]["before"]["confidence"]
    assert [mean is None for mean in means] == [count == 0 for count in counts]


def test_labels_go_by_name_not_by_number(tmp_path: Path) -> None:
    # In each file classes are numbered on their own: the test file has them in another order of numbers.
    hashes, places = splits(tmp_path, ["p", "q", "r"] * 20, ["r", "q", "p"] * 8, ["q", "r", "p"] * 12)
    assert run_task_job(many(hashes), places=places, load=read_features)["top1"] > 0.9


def test_classes_that_a_split_lacks(tmp_path: Path) -> None:
    hashes, places = splits(tmp_path, ["p", "q", "r"] * 9, ["p", "q"] * 6, ["p", "q", "r"] * 6)
    with pytest.raises(UserError, match="pets by b: no validation image of r; every class needs one"):
        run_task_job(many(hashes), places=places, load=read_features)
    hashes, places = splits(tmp_path, ["p"] * 9, ["p"] * 6, ["p"] * 6)
    with pytest.raises(UserError, match=r"all images are of one class \(p\)"):
        run_task_job(many(hashes), places=places, load=read_features)


def test_several_classes_an_image(tmp_path: Path) -> None:
    words = ["p", "q", "p+q", "none", "p?+q"]
    hashes, places = splits(tmp_path, words * 10, words * 6, ["q", "p", "none"] * 6)
    values = run_task_job(many(hashes, "map-11-point"), places=places, load=read_features)
    assert 0.5 < values["map-11-point"] <= 1
    assert "ece" not in values
    hashes, places = splits(tmp_path, words * 10, ["p", "none"] * 6, words * 6)
    with pytest.raises(UserError, match="pets by b: no validation image of q; every class needs one"):
        run_task_job(many(hashes, "map-11-point"), places=places, load=read_features)


def test_a_class_that_every_training_image_shows_is_named(tmp_path: Path) -> None:
    words = ["p", "q", "p+q"]
    hashes, places = splits(tmp_path, ["p+q", "p"] * 10, words * 6, words * 6)
    with pytest.raises(UserError, match="pets by b: every training image shows p; images without it are needed"):
        run_task_job(many(hashes, "map-11-point"), places=places, load=read_features)


def test_few_shot_takes_images_of_all_splits(tmp_path: Path) -> None:
    # No split alone has 20 images of each class.
    words = list("abcde")
    hashes, places = splits(tmp_path, words * 8, words * 6, words * 6)
    job = FewShotJob("tasks", "ericsson-2021", "b", "pets", tuple(hashes), 5)
    values = run_task_job(job, places=places, load=read_features)
    X, y = zip(
        *((f.X[:], np.array(f.classes)[f.y]) for f in map(read_features, map(Path, places.values()))), strict=True
    )
    rows, labels = np.concatenate(X), np.concatenate(y)
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
        run_task_job(FewShotJob("tasks", "e", "b", "pets", tuple(hashes), 20), places=places, load=read_features)


def test_everything_that_changes_a_number_changes_the_key() -> None:
    jobs = [
        many(["1", "2", "3"]),
        many(["1", "2", "4"]),
        many(["1", "2", "3"], "mean-per-class"),
        many(["1", "2", "3"], protocol=ERICSSON_2021),
        many(["1", "2", "3"], protocol=replace(ERICSSON_2021, converge="all")),
        *(FewShotJob("tasks", "e", "b", "pets", hashes, shots) for shots in (5, 20) for hashes in (("1",), ("2",))),
    ]
    assert len({job_key(job) for job in jobs}) == len(jobs)


def test_changed_features_and_damaged_results(tmp_path: Path) -> None:
    hashes, places = splits(tmp_path, ["p", "q"] * 9, ["p", "q"] * 6, ["p", "q"] * 6)
    write(tmp_path, "c", ["p", "q"] * 7, seed=9)
    with pytest.raises(UserError, match="changed since this run was planned"):
        run_task_job(many(hashes), places=places, load=read_features)
    bad = Result(
        "k",
        {"job": "FewShotJob", "study": "tasks", "protocol": "e", "backbone": "b", "domain": "d", "seed": 0, "shots": 5},
        {"top1": 1.5, "interval": 0.0},
        1,
        {},
    )
    with pytest.raises(UserError, match="no valid top1"):
        list(result_scores(bad))


def test_a_larger_job_costs_more() -> None:
    few = FewShotJob("tasks", "e", "b", "pets", ("1",), 5)
    rows = {"train": 1000}
    quick, exact = (many(["1", "2", "3"], protocol=replace(ERICSSON_2021, converge=way)) for way in ("chosen", "all"))
    assert 5 * quick.flops(rows, 64, 10) < exact.flops(rows, 64, 10)
    for job in (many(["1", "2", "3"]), few):
        assert (
            job.flops({"train": 1000}, 64, 10)
            < job.flops({"train": 2000}, 64, 10)
            < job.flops({"train": 2000}, 128, 10)
        )


def test_a_killed_probe_keeps_what_it_has_and_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes, places = splits(tmp_path, ["a", "b", "c"] * 20, ["a", "b", "c"] * 8, ["a", "b", "c"] * 8)
    job, kept = many(hashes, protocol=replace(FEW, steps=7)), tmp_path / "kept"
    monkeypatch.setattr(walk, "BLOCK_ON_GPU", 1)
    expected = run_task_job(job, places=places, load=read_features)
    monkeypatch.setattr(kept_fits, "SECONDS_BETWEEN_FILES", 0.0)
    monkeypatch.setattr(kept_fits, "SECONDS_BETWEEN_LINES", 0.0)
    told: list[FitProgress] = []

    def stop(progress: FitProgress) -> None:
        told.append(progress)
        if progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_task_job(job, places=places, load=read_features, kept=kept, tell=stop)
    assert [(each.stage, each.done, each.total) for each in told] == [("grid", n, 7) for n in (2, 3, 4)]
    assert told[-1].left >= 0
    found = run_task_job(job, places=places, load=read_features, kept=kept, tell=told.append)
    assert found == expected
    assert [each.done for each in told[3:] if each.stage == "grid"] == [6, 7]
    # A file that is cut off ends what can be gone on from.
    path = kept_folder(job, kept) / "grid-002.npz"
    path.write_bytes(path.read_bytes()[:100])
    assert run_task_job(job, places=places, load=read_features, kept=kept) == expected
