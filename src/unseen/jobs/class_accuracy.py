"""Accuracy on each concept, from a result and the labels that were kept beside it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.jobs.correctness import correct_of
from unseen.jobs.job import job_key
from unseen.jobs.kept_labels import labels_place, read_labels
from unseen.jobs.probe_job import LogisticJob
from unseen.jobs.runner import read_result


def per_class_accuracy(folder: Path, job: LogisticJob) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Names of the classes (WordNet ids in a study of concepts) and the top-1 accuracy on the test images of each.

    Args:
        folder: of the results.
        job: that has been run.
    """
    result = read_result(folder, job_key(job))
    if result is None:
        raise UserError(f"{folder}: no result of {job.backbone} on {job.domain} with seed {job.seed}; run it first")
    correct = correct_of(result)
    place = labels_place(folder, job.test)
    classes, y = read_labels(place)
    if len(y) != len(correct):
        raise UserError(f"{place}: labels of {len(y)} images, but {result.key}.json is about {len(correct)}")
    counts = np.bincount(y, minlength=len(classes))
    return classes, np.bincount(y, weights=correct, minlength=len(classes)) / counts
