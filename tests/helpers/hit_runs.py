"""Runs whose results keep which test images are classified correctly, made up instead of measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.probes.job import Fit, Job, fits_kept
from unseen.probes.units import ScoredImages, hit_units
from unseen.runs.data import Axis, Backbone, Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.record import write_run
from unseen.runs.results import RESULTS

Hits = Callable[[str, str, int], "NDArray[np.bool_]"]
"""Backbone, data set and seed → (images,) hits."""


def normal_hits(accuracy: Mapping[str, float], images: int = 400, *, spread: float = 1.0, seeds: float = 0.0) -> Hits:
    """Hits of backbones with these accuracies, on images whose difficulty they share.

    Args:
        spread: standard deviation of what is each backbone's own, that of the difficulty being 1; 0 for nested hits.
        seeds: standard deviation of what a seed adds for a backbone.
    """
    from scipy.special import ndtri

    def hits(backbone: str, dataset: str, seed: int) -> NDArray[np.bool_]:
        number = sum(map(ord, dataset))
        ease = np.random.default_rng([number]).standard_normal(images)
        own = np.random.default_rng([number, 1, *map(ord, backbone)])
        more = np.random.default_rng([number, 2 + seed, *map(ord, backbone)]).standard_normal() * seeds
        level = ndtri(accuracy[backbone]) * np.hypot(1, spread)
        return np.asarray(ease + spread * own.standard_normal(images) + more < level)

    return hits


def fit_with_hits(job: Job, right: "NDArray[np.bool_]", classes: int = 10, ids: str = "") -> Fit:
    """A fit that keeps its hits; image i is of class i modulo `classes`."""
    names = [f"{ids}{job.dataset}/{number}" for number in range(len(right))]
    labels = np.arange(len(right)) % classes
    images = ScoredImages.labelled([f"class{number}" for number in range(classes)], labels, names)
    return Fit(job.probe, job.shots, job.seed, [("top1", float(right.mean()))], units=hit_units(right, images))


def write_hit_run(
    folder: Path,
    backbones: Sequence[str],
    hits: Hits,
    *,
    datasets: Sequence[str] = ("a", "b", "c"),
    axis: Axis = "tasks",
    classes: int = 10,
    seeds: Mapping[str, Sequence[int]] | int = 1,
    kept: Callable[[str, str], bool] = lambda *_: True,
    ids: str = "",
    domains: Sequence[Domain] = (),
    probe: str = "knn",
    fit: Callable[[Job], Fit] | None = None,
    **of_run: Any,
) -> Path:
    """A finished run of nearest neighbours.

    Args:
        seeds: their number, or those of each backbone.
        kept: whether the results of a backbone on a data set keep their hits.
        ids: what the names of the test images begin with.
        fit: makes other results than hits.
    """
    jobs = [
        Job(
            probe,
            1,
            name,
            dataset,
            {"test": f"{ids}{dataset}".replace("/", "-"), "train": name},
            {"protocol": "p"},
            None,
            seed,
        )
        for name in backbones
        for dataset in datasets
        for seed in (range(seeds) if isinstance(seeds, int) else seeds[name])
    ]

    def work(job: Job) -> dict[str, Any]:
        made = fit(job) if fit else fit_with_hits(job, hits(job.backbone, job.dataset, job.seed), classes, ids)
        return fits_kept([made if kept(job.backbone, job.dataset) else replace(made, units=None)])

    data = RunData(
        title="Own study",
        scores=(),
        domains=list(domains) or [Domain(name, name.upper(), axis=axis) for name in datasets],
        backbones=[Backbone(name, "yours") for name in backbones],
        baseline=backbones[0],
        **of_run,
    )
    write_run(folder, data, [job.key for job in jobs])
    list(run_here(jobs, folder / RESULTS, work))
    return folder
