"""Pictures of labels: their colours are those of the legend, and their boxes are where they belong."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from unseen.data.core.dense.labels import Kind, Map, Objects
from unseen.data.core.dense.palette import cielab, palette
from unseen.data.core.dense.pictures import GAP, HEIGHT, label_picture, legend

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 255, (80, 120, 3), dtype=np.uint8)
WIDTH = 240


def panels(path: Path) -> list[NDArray[np.uint8]]:
    with Image.open(path) as sheet:
        pixels = np.array(sheet)
    assert pixels.shape == (HEIGHT, 3 * WIDTH + 2 * GAP, 3)
    return [pixels[:, start : start + WIDTH] for start in (0, WIDTH + GAP, 2 * (WIDTH + GAP))]


def colours(panel: NDArray[np.uint8]) -> set[str]:
    return {"#" + "".join(f"{part:02x}" for part in colour) for colour in np.unique(panel.reshape(-1, 3), axis=0)}


def test_maps_have_the_colours_of_the_legend_and_no_others(tmp_path: Path) -> None:
    truth, predicted = (RNG.choice(choice, (80, 120)).astype(np.uint8) for choice in ([0, 2, 255], [0, 1]))
    kept = label_picture("classes", PIXELS, truth, predicted, tmp_path / "a.png", 0.25)
    assert (kept.file, kept.score, kept.classes) == ("a.png", 0.25, (0, 1, 2, 255))
    named = legend("classes", ["sky", "tree", "road", "car"], kept.classes)
    assert [name for _, name in named] == ["sky", "tree", "road", "no class"]
    _, true, found = panels(tmp_path / "a.png")
    assert colours(true) == {colour for colour, name in named if name != "tree"}
    assert colours(found) == {colour for colour, name in named if name in ("sky", "tree")}


@pytest.mark.parametrize(
    ("kind", "names", "values"),
    [
        ("normals", ("right", "down", "not known"), [[1, 0, 0], [0, -1, 0], [0, 0, 0]]),
        ("depth", ("the greatest true depth", "not known"), [4.0, 0.0]),
    ],
)
def test_directions_and_depths_are_named_too(tmp_path: Path, kind: Kind, names: tuple[str, ...], values: list) -> None:  # type: ignore[type-arg]
    truth: Map = np.array(values, dtype=np.float32)[RNG.integers(0, len(values), (80, 120))]
    kept = label_picture(kind, PIXELS, truth, truth, tmp_path / "a.png", -12.5)
    assert (kept.score, kept.classes) == (12.5, ())
    named = {name: colour for colour, name in legend(kind, (), ())}
    assert colours(panels(tmp_path / "a.png")[1]) == {named[name] for name in names}


def test_boxes_are_outlined_where_they_are(tmp_path: Path) -> None:
    black = np.zeros_like(PIXELS)
    true, found = Objects.of([[10, 20, 60, 70]], [1]), Objects.of([[0, 0, 120, 80], [119, 79, 120, 80]], [0, 3])
    kept = label_picture("boxes", black, true, found, tmp_path / "a.png", 0.5)
    named = {name: colour for colour, name in legend("boxes", ["a", "b", "c", "d"], kept.classes)}
    assert [*named] == ["a", "b", "d"]
    _, first, second = panels(tmp_path / "a.png")
    drawn = np.argwhere(first.any(axis=2))
    assert [*drawn.min(axis=0), *drawn.max(axis=0) + 1] == [40, 20, 140, 120]  # twice the size of the image
    assert colours(first[40:42, 20:120]) == {named["b"]}
    assert colours(second[:, 0:1]) == {named["a"]}


def test_colours_of_many_classes_can_be_told_apart() -> None:
    for classes, least in ((21, 30), (151, 12)):
        places = cielab(palette()[:classes].astype(np.float64))
        apart = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(classes)
        assert apart.min() > least
    assert len(np.unique(palette(), axis=0)) == 256
