"""The accuracy on each concept of a domain, from the results of a study."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from unseen.ontology.levels import Levels
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.units import ScoredImages
from unseen.runs.data import ConceptAccuracy, ConceptHits
from unseen.runs.kept_labels import correct_of, labels_place, read_labels, refuse_other_count
from unseen.runs.random_draws import DRAW, RANDOM, SEEDS_A_DRAW
from unseen.runs.results import Result, reading_result
from unseen.runs.score import shots_name


def concept_hits(folder: Path, results: Iterable[Result]) -> list[ConceptHits]:
    """Numbers of correctly classified test images per concept, for each logistic regression.

    Results that do not store which images are correct, and test sets without stored labels, are skipped. Random sets
    are one domain, as in `pooled_draws`.

    Args:
        folder: folder of the results.
    """
    read = lru_cache(maxsize=8)(read_labels)  # the probes of a domain share a test set
    found = []
    for result in results:
        if not result.is_of(Logistic.name) or "correct" not in result.details:
            continue
        with reading_result(result):
            hits = _hits_of(result, folder, read)
        found += [hits] if hits else []
    return found


def _hits_of(result: Result, folder: Path, read: Callable[[Path], ScoredImages]) -> ConceptHits | None:
    job, right = result.job, correct_of(result)
    place = labels_place(folder, job["reads"])
    if not place.is_file():
        return None
    labels = read(place)
    refuse_other_count(place, labels, len(right), result)
    shots, seed = result.setting
    draw = DRAW.fullmatch(job["dataset"])
    return ConceptHits(
        backbone=job["backbone"],
        domain=RANDOM if draw else job["dataset"],
        shots=shots_name(shots),
        seed=seed + (SEEDS_A_DRAW * int(draw["number"]) if draw else 0),
        concepts=labels.classes,
        correct=tuple(np.bincount(labels.labels[right], minlength=len(labels.classes)).tolist()),
        images=tuple(np.bincount(labels.labels).tolist()),
    )


def concept_accuracy(found: Sequence[ConceptHits], levels: Levels) -> list[ConceptAccuracy]:
    """Correctly classified test images per concept of the regressions on all samples, summed over seeds.

    Args:
        levels: source of the similarities of concepts.
    """
    similarity = {concept.wnid: concept.similarity for concept in levels.concepts}
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for hits in found:
        if hits.shots != "all":
            continue
        for concept, correct, images in zip(hits.concepts, hits.correct, hits.images, strict=True):
            before = sums.get((hits.backbone, hits.domain, concept), (0, 0))
            sums[hits.backbone, hits.domain, concept] = (before[0] + correct, before[1] + images)
    return [
        ConceptAccuracy(backbone, domain, concept, similarity.get(concept), correct, images)
        for (backbone, domain, concept), (correct, images) in sums.items()
    ]
