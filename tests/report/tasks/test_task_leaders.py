"""Who leads in a column of scores: on the same test images if they are kept, else by the number of images."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from comparables_of import kept

from unseen.analyses.core.comparable import Comparable, Place
from unseen.analyses.core.comparables import Comparables
from unseen.analyses.tasks.data import TaskDataset
from unseen.metrics.catalogue import METRICS
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.tables import leader
from unseen.runs.score import Score

IMAGES = 400
Y = np.arange(IMAGES) % 4


def page(hits: Mapping[str, np.ndarray]) -> TaskPage:
    found = {name: {0: kept(right, Y)} for name, right in hits.items()}
    compared = Comparable(Place("dtd", "linear", None), METRICS["top1"], "images", found)
    empty = TaskPage("", "", [*hits], [TaskDataset("dtd", "DTD", "", test_images=IMAGES)], [], [], [], [], {})
    return replace(empty, every=Comparables((compared,)))


def scores(values: Mapping[str, float], **more: str) -> list[Score]:
    return [Score("tasks", "", name, "dtd", "linear", None, 0, "top1", value, **more) for name, value in values.items()]


def right(count: int) -> np.ndarray:
    return np.arange(IMAGES) < count


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (right(290), "a"),  # ten images that only the first has right decide it, although 75% and 72.5% are near
        (~right(110), None),  # as many right, but other ones
    ],
)
def test_the_same_images_decide(second: np.ndarray, expected: str | None) -> None:
    hits = {"a": right(300), "b": second}
    assert second.sum() == 290
    assert leader(page(hits), "dtd", scores({name: each.mean() for name, each in hits.items()})) == expected


def test_without_kept_images_their_number_decides() -> None:
    bare = replace(page({"a": right(300), "b": right(290)}), every=Comparables(()))
    assert leader(bare, "dtd", scores({"a": 0.75, "b": 0.725})) is None
    assert leader(bare, "dtd", scores({"a": 0.75, "b": 0.5})) == "a"


def test_a_winner_has_to_be_ahead_of_published_models_too() -> None:
    own = page({"a": right(300), "b": right(200)})
    measured = scores({"a": 0.75, "b": 0.5})
    assert leader(own, "dtd", [*measured, *scores({"p": 0.6}, source="paper")]) == "a"
    assert leader(own, "dtd", [*measured, *scores({"p": 0.74}, source="paper")]) is None
    assert leader(own, "dtd", [*measured, *scores({"p": 0.9}, source="paper")]) == "p"
