"""How well each concept is told from the others of its domain, from the results of a study."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from unseen.jobs.kept_labels import labelled, labels_place
from unseen.jobs.runner import Result
from unseen.ontology.levels import Levels
from unseen.report.run_data import ConceptAccuracy
from unseen.studies.concept_variants import DRAW, RANDOM


def concept_accuracy(folder: Path, results: Iterable[Result], levels: Levels) -> list[ConceptAccuracy]:
    """Test images of each concept that regressions on all samples got right, summed over seeds.

    Results from before these were kept, and test sets whose labels are not there, are passed over.

    Args:
        folder: of the results.
        levels: where similarities are from.
    """
    similarity = {concept.wnid: concept.similarity for concept in levels.concepts}
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for result in results:
        job = result.job
        if job["job"] != "LogisticJob" or job["shots"] is not None or "correct" not in result.values:
            continue
        if not labels_place(folder, job["test"]).is_file():
            continue
        labels, hits = labelled(folder, result)
        right = np.bincount(labels.y[hits], minlength=len(labels.classes))
        domain = RANDOM if DRAW.fullmatch(job["domain"]) else job["domain"]
        for concept, correct, images in zip(labels.classes, right, np.bincount(labels.y), strict=True):
            before = sums.get((job["backbone"], domain, concept), (0, 0))
            sums[job["backbone"], domain, concept] = (before[0] + int(correct), before[1] + int(images))
    return [
        ConceptAccuracy(backbone, domain, concept, similarity.get(concept), correct, images)
        for (backbone, domain, concept), (correct, images) in sums.items()
    ]
