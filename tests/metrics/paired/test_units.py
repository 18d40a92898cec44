"""Units from hits, and what the comparison over concepts is of."""

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.metrics.paired.crossed import crossed
from unseen.metrics.paired.pairs import all_pairs
from unseen.metrics.paired.units import concept_accuracies, unpacked

RNG = np.random.default_rng(0)
HITS = RNG.random((3, 2, 203)) < 0.6
CONCEPTS = RNG.integers(0, 20, 203) * 3


def test_packed_hits_are_unpacked() -> None:
    assert np.array_equal(unpacked(np.packbits(HITS, axis=-1), 203), HITS)
    for bits, images in ((np.packbits(HITS, axis=-1), 210), (np.zeros((2, 26), int), 203)):
        with pytest.raises(UserError):
            unpacked(bits, images)


def test_accuracies_of_concepts() -> None:
    accuracies, sizes = concept_accuracies(HITS, CONCEPTS)
    assert accuracies == pytest.approx(
        np.array([[[row[each == CONCEPTS].mean() for each in np.unique(CONCEPTS)] for row in one] for one in HITS])
    )
    assert sizes.tolist() == np.unique(CONCEPTS, return_counts=True)[1].tolist()
    with pytest.raises(UserError):
        concept_accuracies(HITS, CONCEPTS[1:])


def test_the_comparison_over_concepts_is_of_the_exact_accuracies() -> None:
    accuracies, sizes = concept_accuracies(HITS, CONCEPTS)
    pairs = all_pairs(accuracies, sizes=sizes)
    assert pairs.values == pytest.approx(HITS.mean(axis=(1, 2)))
    differences, _ = concept_accuracies(HITS[0].astype(np.int8) - HITS[1], CONCEPTS)
    assert pairs.pair(0, 1).error == pytest.approx(crossed(differences, sizes=sizes).error)
    assert pairs.pair(0, 1).units == 20
