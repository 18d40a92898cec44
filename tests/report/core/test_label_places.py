"""Labels of points in files: none lies on a point or on another label, as far as there is room."""

from pathlib import Path

import numpy as np

from unseen.report.core.label_places import POINT, label_places
from unseen.report.core.model import Figure, Series
from unseen.report.core.static import static_bytes


def test_labels_cover_neither_points_nor_each_other() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 400, size=(60, 2))
    bounds, sizes = np.array([0.0, 0.0, 400.0, 400.0]), np.tile([60.0, 10.0], (8, 1))
    places = label_places(points, range(8), sizes, bounds)
    low, high = places - sizes / 2, places + sizes / 2
    for number in range(8):
        near = (np.abs(points - places[number]) < (sizes[number] + POINT) / 2 - 1e-6).all(axis=1)
        assert not near.any()
        others = np.arange(8) != number
        assert not ((low[others] < high[number]) & (high[others] > low[number])).all(axis=1).any()
    assert (low >= 0).all()
    assert (high <= 400).all()


def test_without_room_every_label_still_has_a_place() -> None:
    points = np.random.default_rng(0).uniform(0, 20, size=(80, 2))
    places = label_places(points, range(5), np.tile([60.0, 10.0], (5, 1)), np.array([0.0, 0.0, 20.0, 20.0]))
    assert np.isfinite(places).all()


def test_a_figure_with_labels_is_the_same_file_each_time(tmp_path: Path) -> None:
    labels = ["first", "", "third"]
    series = [Series("a", [0.1, 0.2, 0.3], [0.1, None, 0.3], 0, strong=True, mode="markers", labels=labels)]
    content = static_bytes(Figure("t", "x", "y", series), "svg")
    assert content == static_bytes(Figure("t", "x", "y", series), "svg")
    assert (b">first<" in content, b">third<" in content) == (True, True)
