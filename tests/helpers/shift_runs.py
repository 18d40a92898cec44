"""Runs of shifts whose results are made up, without models or images."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unseen.probes.by_name.classifier import Classifier, Outputs
from unseen.probes.job import fits_kept
from unseen.probes.protocol import Setting
from unseen.probes.units import ScoredImages
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.record import extend_run
from unseen.runs.results import RESULTS, write_result
from unseen.runs.setup import FeatureKey, ImagesUsed
from unseen.studies.shifts.evaluate import OUTPUTS, write_tables
from unseen.studies.watch import Silent

IMAGES = 1000
COLUMNS = {
    "val": ("val", "all"),
    "imagenet-r": ("imagenet-r", "200"),
    "val-on-imagenet-r-classes": ("val", "200"),
    "imagenet-sketch": ("imagenet-sketch", "all"),
}
"""Column → its test set, and the digest of its classes."""


def made_up(names: list[str], seed: int = 0) -> dict[str, dict[str, float]]:
    """Model → column → accuracy: OOD accuracies are on lines of ID ones, but for some noise."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0.5, 1, len(names))
    logits = {
        "val": skill,
        "imagenet-r": 0.8 * skill - 1 + rng.normal(0, 0.1, len(names)),
        "val-on-imagenet-r-classes": skill + 0.5,
        "imagenet-sketch": skill - 1.5 + rng.normal(0, 0.1, len(names)),
    }
    return {
        name: {column: float(special.expit(values[place])) for column, values in logits.items()}
        for place, name in enumerate(names)
    }


def write_shift_run(
    folder: Path,
    accuracy: Mapping[str, Mapping[str, float]],
    *,
    groups: Mapping[str, str] | None = None,
    columns: Mapping[str, tuple[str, str]] = COLUMNS,
    hits: Mapping[tuple[str, str], NDArray[np.bool_]] | None = None,
    images: Mapping[str, ScoredImages] | None = None,
) -> Path:
    """A run of models on columns, with its tables.

    Args:
        hits: (model, column) → which images are right; by default the first ones, as many as the accuracy says.
        images: column → its images, to be stored; by default they are unknown.
    """
    jobs = {
        (model, column): Classifier().column_job(
            model, column,
            {"classifier": model, "outputs": "l" if images is None else f"{model}-{column}",
             "classes": columns[column][1]},
            {"protocol": "shi-2023", "test_set": columns[column][0], "on_error": "fail"},
        )
        for model, of in accuracy.items() for column in of
    }  # fmt: skip
    scored = {name for of in accuracy.values() for name in of}
    domains = [Domain(name, name, axis="shifts") for name in columns if name in scored]
    data = RunData(
        title="Accuracy under distribution shift",
        scores=(),
        domains=domains,
        backbones=[Backbone(model, (groups or {}).get(model, ""), classifier=model) for model in accuracy],
        baseline=next(iter(accuracy)),
        features=[FeatureKey(*pair, {OUTPUTS: job.key}) for pair, job in jobs.items()],
        images=[ImagesUsed("val", "test", 1000)],
    )
    extend_run(folder, data, [*jobs.values()])
    for (model, column), job in jobs.items():
        details = {"test_set": columns[column][0], "classes": 200, "damaged": 0, "of": IMAGES}
        right = (hits or {}).get((model, column), np.arange(IMAGES) < round(IMAGES * accuracy[model][column]))
        outputs = Outputs(right, np.ones(len(right), dtype=bool), details, (images or {}).get(column))
        (fit,) = Classifier().fit(outputs, [Setting()])
        write_result(folder / RESULTS, job, fits_kept([fit]), 0.1)
    write_tables(folder, Silent())
    return folder
