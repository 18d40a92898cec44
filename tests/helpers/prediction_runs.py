"""Runs of shifts whose predictions are made up: skill decides how many are right, care how severe mistakes are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import special

from unseen.probes.by_name.classifier import Classifier, Outputs
from unseen.probes.job import fits_kept
from unseen.probes.protocol import Setting
from unseen.probes.units import ScoredImages
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.record import extend_run
from unseen.runs.results import RESULTS, write_result
from unseen.runs.setup import FeatureKey
from unseen.studies.shifts.evaluate import OUTPUTS, write_tables
from unseen.studies.shifts.predictions import FOLDER, LABELS, write_predictions
from unseen.studies.watch import Silent

ANIMALS = ("n02123045", "n02123159", "n02124075", "n02085620", "n02085782", "n02708093", "n03196217", "n04344873")
"""Three cats, two dogs, two clocks, a sofa."""
NEAR = ({0, 1, 2}, {3, 4}, {5, 6}, {7})
IMAGES = 480
SHIFT = {"val": 0.0, "imagenet-sketch": 1.5, "imagenet-r": 0.8}


def write_prediction_run(
    folder: Path, models: int = 16, *, groups: int = 4, classes: Sequence[str] = ANIMALS, perfect: bool = False
) -> Path:
    """A run of models on three test sets; the first has no mistakes on ID images if it is `perfect`."""
    rng = np.random.default_rng(0)
    names = [f"net-{number}" for number in range(models)]
    skill, care = rng.normal(0.8, 0.8, models), rng.random(models)
    truth, hard = np.arange(IMAGES) % len(classes), rng.normal(size=IMAGES)
    made = {column: {LABELS: truth} for column in SHIFT}
    for place, name in enumerate(names):
        for column, shift in SHIFT.items():
            right = rng.random(IMAGES) < special.expit(
                2 * (skill[place] + care[place] - shift * (2 - care[place]) - hard)
            )
            if perfect and place == 0 and column == "val":
                right[:] = True
            near = [sorted(next(of for of in NEAR if each in of) - {each}) for each in range(len(NEAR) * 2)]
            mistakes = (truth + rng.integers(1, len(classes), IMAGES)) % len(classes)
            for image in np.flatnonzero(rng.random(IMAGES) < care[place]):
                options = near[truth[image]] if len(classes) == len(near) else []
                mistakes[image] = rng.choice(options) if options else mistakes[image]
            made[column][name] = np.where(right, truth, mistakes)
    jobs = {
        (name, column): Classifier().column_job(
            name, column, {"classifier": name, "outputs": f"{name}{column}", "classes": "all"},
            {"protocol": "shi-2023", "test_set": column, "on_error": "fail"},
        )
        for name in names for column in SHIFT
    }  # fmt: skip
    data = RunData(
        title="Accuracy under distribution shift", scores=(),
        domains=[Domain(column, column, axis="shifts", shifted=column != "val") for column in SHIFT],
        backbones=[
            Backbone(name, f"group-{place % groups}", classifier=name) for place, name in enumerate(names)
        ],
        baseline=names[0], features=[FeatureKey(*pair, {OUTPUTS: job.key}) for pair, job in jobs.items()],
    )  # fmt: skip
    extend_run(folder, data, [*jobs.values()])
    for column, arrays in made.items():
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        write_predictions(folder / FOLDER / f"{column}.npz", arrays)
    for (name, column), job in jobs.items():
        details = {"test_set": column, "classes": len(classes), "damaged": 0, "of": IMAGES}
        images = ScoredImages.labelled(classes, truth)
        (fit,) = Classifier().fit(Outputs(made[column][name], truth, details, images), [Setting()])
        write_result(folder / RESULTS, job, fits_kept([fit]), 0.1)
    write_tables(folder, Silent())
    return folder
