"""Colours of groups can be told apart, by CIEDE2000 and for colour-blind readers, on light and dark pages."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from unseen.report.core import looks
from unseen.report.core.looks import COLOURS
from unseen.report.shifts.parts import FIRST, looks_of

Array = NDArray[np.float64]
STYLE = (Path(looks.__file__).parent / "templates/page.css").read_text()
PAIRS = dict(re.findall(r"--c(\d): light-dark\((#\w{6}, #\w{6})\)", STYLE))
THEMES = {
    name: [PAIRS[str(number)].split(", ")[side] for number in range(8)] for side, name in enumerate(["light", "dark"])
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""Simulations on linear RGB by Machado, Oliveira and Fernandes (2009), for the complete lack of one kind of cone."""
APART = 12.0
"""Differences of colours that readers name alike are below this; 1 is just noticeable side by side."""


def linear(colour: str) -> Array:
    share = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array) -> Array:
    x, y, z = (
        np.cbrt(value) if value > (6 / 29) ** 3 else value / (3 * (6 / 29) ** 2) + 4 / 29
        for value in TO_XYZ @ rgb / [0.95047, 1, 1.08883]
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: Array, two: Array) -> float:
    """CIEDE2000 of two colours in CIELAB (Sharma, Wu and Dalal 2005)."""
    chroma = np.mean([np.hypot(*one[1:]), np.hypot(*two[1:])])
    stretch = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    (l1, c1, h1), (l2, c2, h2) = (
        (each[0], np.hypot(stretch * each[1], each[2]), np.degrees(np.arctan2(each[2], stretch * each[1])) % 360)
        for each in (one, two)
    )
    turn = (h2 - h1 + 180) % 360 - 180
    hue, light, chroma = (h1 + turn / 2) % 360, (l1 + l2) / 2, (c1 + c2) / 2
    weight = 1 + sum(
        share * np.cos(np.radians(times * hue - shift))
        for share, times, shift in ((-0.17, 1, 30), (0.24, 2, 0), (0.32, 3, -6), (-0.2, 4, 63))
    )
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * weight)
    rotation = (
        2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    )
    return float(np.sqrt(dl**2 + dc**2 + dh**2 - rotation * dc * dh))


def test_the_measure_is_that_of_its_paper() -> None:
    """Pairs 1, 7 and 20 of Sharma's table."""
    for one, two, printed in (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (58, 24, 15), 19.4535),
    ):
        assert difference(np.array(one, float), np.array(two, float)) == pytest.approx(printed, abs=1e-4)


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_colours_are_alike(theme: str) -> None:
    colours = [lab(linear(colour)) for colour in THEMES[theme]]
    assert len(colours) == len(COLOURS)
    assert min(difference(one, two) for one, two in combinations(colours, 2)) > APART


def test_files_have_the_colours_of_light_pages() -> None:
    assert tuple(THEMES["light"]) == COLOURS


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", BLINDNESS)
def test_colours_that_are_alike_for_some_readers_have_other_symbols(theme: str, kind: str) -> None:
    groups = looks_of([str(number) for number in range(FIRST)])
    seen = [lab(np.clip(np.array(BLINDNESS[kind]) @ linear(colour), 0, 1)) for colour in THEMES[theme]]
    for (_, one, mark), (_, two, other) in combinations(groups, 2):
        assert difference(seen[one], seen[two]) > APART or mark != other, (one, two)


def test_forty_groups_differ() -> None:
    assert len({look[1:] for look in looks_of([str(number) for number in range(40)])}) == 40
