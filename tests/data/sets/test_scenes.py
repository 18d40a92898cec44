"""Scenes of drawings: boxes, masks and drawings belong together."""

import numpy as np
import pytest

from unseen.data.concepts.drawings import concepts, seen_concepts
from unseen.data.core.dense.label_survey import survey_labels
from unseen.data.core.dense.labels import Objects
from unseen.data.core.open_dataset import open_dataset
from unseen.data.registry import get_dataset
from unseen.data.sets.scenes import scene_concepts, scenes


def test_seen_scenes_are_of_seen_concepts_alone() -> None:
    seen = {concepts()[wnid] for wnid in seen_concepts()}
    assert set(scene_concepts(seen=True)) <= seen
    assert not set(scene_concepts(seen=False)) & seen


@pytest.mark.parametrize("seen", [True, False])
def test_boxes_are_tight_around_the_masks_of_their_class(seen: bool) -> None:
    made = scenes(seen=seen)
    for mask, objects in zip(made.masks[:40], made.objects[:40], strict=True):
        covered = np.zeros_like(mask)
        for (left, top, right, bottom), kind in zip(objects.boxes.astype(int), objects.classes, strict=True):
            part = mask[top:bottom, left:right] == kind + 1
            assert all(part.any(axis=1)[[0, -1]])
            assert all(part.any(axis=0)[[0, -1]])
            covered[top:bottom, left:right] |= part
        assert np.array_equal(covered > 0, mask > 0)


def test_they_open_like_any_data_set() -> None:
    found = open_dataset(get_dataset("scenes-unseen-boxes"), None)
    objects = found.labels(found.numbers("test")[0])
    assert isinstance(objects, Objects)
    assert 1 <= len(objects) <= 6
    masks = open_dataset(get_dataset("scenes-unseen"), None)
    assert masks.classes[0] == "ground"
    assert survey_labels(found).digest != survey_labels(masks).digest
