"""Pools: which images a model gets, what is counted, and that a pool that was killed goes on."""

import csv
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alone import start_alone

from unseen.errors import UserError
from unseen.studies.shifts.model_pool import (
    RATIOS,
    Fold,
    FoldTraining,
    Labelled,
    PoolModel,
    Predict,
    Setup,
    draw_mixture,
    folds_hash,
    images_tested,
    plan_pool,
    pool_jobs,
    run_pool,
    write_pool,
)


@dataclass(frozen=True)
class Centroids:
    """A recipe: nothing but how strongly class means are pulled to the mean of all."""

    shrink: float = 0.0


def nearest_centroid(data: Labelled, job: FoldTraining) -> Predict:
    """Train for real, at once: the class whose mean is nearest."""
    classes = np.unique(data.labels)
    means = np.stack([data.images[data.labels == label].mean(axis=0) for label in classes])
    means += job.setup.recipe.shrink * (data.images.mean(axis=0) - means)
    return lambda images: classes[((images[:, None] - means) ** 2).sum(axis=-1).argmin(axis=1)]


def cloud(seed: int, count: int, shift: float) -> Labelled:
    """Points of three classes in four dimensions; `shift` moves the second half of the dimensions."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    images = np.eye(4)[labels] * 2 + rng.normal(0, 0.8, (count, 4)) + shift * np.array([0, 0, 1, -1])
    return Labelled(images, labels)


def make_folds(count: int = 2) -> list[Fold]:
    return [
        Fold(
            (cloud(10 * k, 100, 0), cloud(10 * k + 1, 60, 2)),
            {"id_a": cloud(10 * k + 2, 90, 0), "id_b": cloud(10 * k + 3, 30, 2), "ood": cloud(10 * k + 4, 60, 1)},
        )
        for k in range(count)
    ]


MODELS = plan_pool(("a", "b"), ("small",), (1.0, 0.0, 0.25), Centroids(), ratios=(0.2, 1.0))


def test_the_plan_is_the_papers() -> None:
    pool = plan_pool(("a", "b"), ("r18", "r50"), (1.0, 0.0, 0.01, 0.5), Centroids())
    assert Counter(model.group for model in pool) == {"a": 14, "b": 14, "both": 28}
    assert {model.setup.ratio for model in pool} == {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0} == {*RATIOS, 1.0}
    assert len({model.name for model in pool}) == 56


@pytest.mark.parametrize(
    ("share", "ratio", "first", "second"),
    [
        (1.0, 1.0, 100, 0),
        (0.0, 0.5, 0, 30),
        (0.25, 1.0, 25, 45),
        (0.25, 0.2, 5, 9),
        (0.5, 0.01, 1, 1),
        (0.9, 1.0, 90, 6),
    ],
)
def test_a_mixture_has_its_share_of_each_set(share: float, ratio: float, first: int, second: int) -> None:
    a = Labelled(np.arange(100), np.zeros(100, dtype=np.int64))
    b = Labelled(np.arange(1000, 1060), np.ones(60, dtype=np.int64))
    drawn = draw_mixture((a, b), Setup("", share, ratio, None))
    assert Counter(drawn.labels.tolist()) == Counter({0: first, 1: second}) - Counter()
    assert len(set(drawn.images.tolist())) == first + second
    assert all((image >= 1000) == label for image, label in zip(drawn.images, drawn.labels, strict=True))


def test_smaller_parts_are_in_larger_ones_and_seeds_differ() -> None:
    sets = (cloud(0, 100, 0), cloud(1, 60, 2))
    setup = Setup("", 0.5, 1.0, None)
    large, small = (
        {tuple(image) for image in draw_mixture(sets, replace(setup, ratio=ratio)).images} for ratio in (1.0, 0.2)
    )
    assert small < large
    other = {tuple(image) for image in draw_mixture(sets, replace(setup, seed=1)).images}
    assert large != other


def test_the_table_has_what_a_plain_loop_counts(tmp_path: Path) -> None:
    folds = make_folds()
    done = list(run_pool(MODELS, folds, tmp_path / "results", nearest_centroid))
    assert len(done) == len(MODELS) * 2
    write_pool(MODELS, folds, tmp_path / "results", tmp_path / "pool.csv")
    with (tmp_path / "pool.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["model", "group", "network", "ratio", "lambda", "images", "id_a", "id_b", "ood"]
    for model, row in zip(MODELS, rows, strict=True):
        for name in ("id_a", "id_b", "ood"):
            right = total = 0
            for number, fold in enumerate(folds):
                drawn = draw_mixture(fold.training, model.setup, number)
                means = {c: drawn.images[drawn.labels == c].mean(axis=0) for c in set(drawn.labels.tolist())}
                for image, label in zip(fold.tests[name].images, fold.tests[name].labels, strict=True):
                    right += min(means, key=lambda c: ((image - means[c]) ** 2).sum()) == label
                    total += 1
            assert float(row[name]) == pytest.approx(right / total, abs=1e-5)
    assert rows[0]["images"] == "20"
    assert images_tested(folds) == {"id_a": 180, "id_b": 60, "ood": 120}


def test_nothing_is_done_twice_and_any_change_is_a_new_job(tmp_path: Path) -> None:
    folds = make_folds()
    assert len(list(run_pool(MODELS, folds, tmp_path, nearest_centroid))) == 12
    assert list(run_pool(MODELS, folds, tmp_path, nearest_centroid)) == []
    changed = plan_pool(("a", "b"), ("small",), (1.0, 0.0, 0.25), Centroids(shrink=0.5), ratios=(0.2, 1.0))
    keys = {job.key for models in (MODELS, changed) for job in pool_jobs(models, folds)}
    assert len(keys) == 24
    moved = make_folds()
    moved[1].tests["ood"].labels[0] = 2 - moved[1].tests["ood"].labels[0]
    assert folds_hash(moved) != folds_hash(folds)
    assert not keys & {job.key for job in pool_jobs(MODELS, moved)}
    renamed = [PoolModel(f"{model.name}!", "other", model.setup) for model in MODELS]
    assert {job.key for job in pool_jobs(renamed, folds)} < keys  # a name changes no number


def test_another_function_is_seen_by_the_recipe_alone(tmp_path: Path) -> None:
    """What docs/model-pools.md warns of: results of a function that has changed stay, unless the recipe has too."""
    folds = make_folds()
    list(run_pool(MODELS, folds, tmp_path, nearest_centroid))

    def always_the_first(data: Labelled, job: FoldTraining) -> Predict:
        return lambda images: np.zeros(len(images), dtype=np.int64)

    assert list(run_pool(MODELS, folds, tmp_path, always_the_first)) == []
    anew = [replace(model, setup=replace(model.setup, recipe=Centroids(shrink=0.1))) for model in MODELS]
    assert len(list(run_pool(anew, folds, tmp_path, always_the_first))) == 12
    page = (Path(__file__).parents[3] / "docs/model-pools.md").read_text()
    assert "put a version into `recipe`" in " ".join(page.split())


def test_an_unfinished_pool_has_no_table(tmp_path: Path) -> None:
    folds = make_folds()
    next(run_pool(MODELS, folds, tmp_path / "results", nearest_centroid))
    with pytest.raises(UserError, match="1 of 2 results; run the pool to its end"):
        write_pool(MODELS, folds, tmp_path / "results", tmp_path / "pool.csv")
    assert not (tmp_path / "pool.csv").exists()


@pytest.mark.parametrize(("shares", "ratios"), [((1.5,), (1.0,)), ((0.5,), (0.0, 1.0)), ((0.5,), (-0.1,))])
def test_impossible_plans_are_refused(shares: tuple[float, ...], ratios: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match="ratio"):
        plan_pool(("a", "b"), ("small",), shares, Centroids(), ratios=ratios)


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="same name"):
        pool_jobs([*MODELS, MODELS[0]], make_folds())


def slowly(data: Any, job: Any) -> Any:
    time.sleep(0.1)
    return nearest_centroid(data, job)


def make_pool(out: Path, fit: Callable[..., Any]) -> None:
    for _ in run_pool(MODELS, make_folds(), out / "results", fit):
        pass
    write_pool(MODELS, make_folds(), out / "results", out / "pool.csv")


def test_a_pool_that_was_killed_goes_on(tmp_path: Path) -> None:
    process = start_alone(make_pool, tmp_path, slowly)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("results/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.join()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/*.json")}
    assert 3 <= len(kept) < 12
    assert not (tmp_path / "pool.csv").exists()

    make_pool(tmp_path, nearest_centroid)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    list(run_pool(MODELS, make_folds(), tmp_path / "whole", nearest_centroid))
    write_pool(MODELS, make_folds(), tmp_path / "whole", tmp_path / "whole.csv")
    assert (tmp_path / "pool.csv").read_text() == (tmp_path / "whole.csv").read_text()
