"""Runs of the levels of drawings with made-up results on each concept, for panels."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run_folders import logistic_job

from unseen.data.concepts.drawing_levels import OWN, SEEN, drawing_domains, drawing_levels
from unseen.probes.job import Fit, Job, fits_kept
from unseen.probes.protocol import COG_V2
from unseen.probes.units import hit_units
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.kept_labels import TESTS
from unseen.runs.record import LEVELS, write_run
from unseen.runs.results import RESULTS
from unseen.runs.setup import ProtocolUsed

CONCEPTS, IMAGES = 45, 20
Floats = NDArray[np.float64]


def typical_concepts(backbones: int, good: int, *, concepts: int = CONCEPTS, seed: int = 0) -> Floats:
    """(backbones, concepts) accuracies: on the first ones nearly the score of the level, on others far from it."""
    rng = np.random.default_rng(seed)
    ability = rng.uniform(0.3, 0.7, size=(backbones, 1))
    spread = np.where(np.arange(concepts) < good, 0.005, 0.2)
    return np.asarray((ability + spread * rng.standard_normal((backbones, concepts))).clip(0, 1))


def write_panel_run(
    folder: Path,
    accuracy: Mapping[str, Floats],
    *,
    prefix: str = "net",
    categories: int = 1,
    concepts: Mapping[str, tuple[str, ...]] | None = None,
    hits: bool = True,
) -> Path:
    """A run with the logistic probe of drawings.

    Args:
        accuracy: level → (backbones, 45) shares of 20 test images per concept that are classified correctly.
        categories: number of categories that the backbones are of, in turns.
        concepts: level → its concepts, if they are not those of the drawings.
        hits: whether results say which images are classified correctly.
    """
    domains = {**drawing_domains(OWN), **(concepts or {})}
    count = len(next(iter(accuracy.values())))
    names = [f"{prefix}{number}" for number in range(count)]
    right: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for level, shares in accuracy.items():
        for name, row in zip(names, shares, strict=True):
            numbers = np.round(IMAGES * row)[:, None]
            right[name, level] = (np.arange(IMAGES) < numbers).ravel()
    reads = {level: {"train": level, "test": level} for level in accuracy}
    jobs = [replace(logistic_job(name, level), reads=reads[level]) for name, level in right]

    def work(job: Job) -> dict[str, Any]:
        correct = right[job.backbone, job.dataset]
        units = hit_units(correct) if hits else None
        return fits_kept([Fit("logistic", None, 0, [("top1", float(correct.mean()))], units=units)])

    data = RunData(
        title="Concept generalization",
        scores=(),
        domains=[Domain(SEEN, SEEN, seen=True), *(Domain(level, level, concepts=domains[level]) for level in accuracy)],
        backbones=[Backbone(name, f"kind-{number % categories}") for number, name in enumerate(names)],
        baseline=names[0],
        protocols=[ProtocolUsed.of("logistic", COG_V2)],
    )
    write_run(folder, data, [job.key for job in jobs])
    drawing_levels(OWN).levels.write(folder / LEVELS)
    (folder / TESTS).mkdir(exist_ok=True)
    for level in accuracy:
        y = np.repeat(np.arange(len(domains[level])), IMAGES).astype(np.int32)
        np.savez(folder / TESTS / f"{level}.npz", y=y, classes=np.array(domains[level]), ids=np.array(""))
    list(run_here(jobs, folder / RESULTS, work))
    return folder
