"""Pages for everyone: colours of text with enough contrast in both themes, names of plots, headers of tables."""

import re
from itertools import product

import pytest

from unseen.report.core.alt_text import alt_text
from unseen.report.core.looks import COLOURS
from unseen.report.core.model import Cell, Column, Figure, Page, Row, Section, Series, Table
from unseen.report.core.render import TEMPLATES, page_html

AA = 4.5
"""The least contrast of text (WCAG 2, 1.4.3)."""
CSS = (TEMPLATES / "page.css").read_text(encoding="utf-8")
PAIRS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", CSS)
}
SHADE = float(re.search(r"\.good \{[^}]*--shade\) \* ([\d.]+)\)", CSS).group(1))  # type: ignore[union-attr]

Rgb = tuple[float, float, float]


def rgb(colour: str) -> Rgb:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


def mixed(above: Rgb, below: Rgb, share: float) -> Rgb:
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(above, below, strict=True))
    return red, green, blue


def luminance(colour: Rgb) -> float:
    shares = [value / 255 for value in colour]
    red, green, blue = (s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: Rgb, second: Rgb) -> float:
    dark, light = sorted(map(luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_enough_contrast(theme: int) -> None:
    colours = {name: rgb(pair[theme]) for name, pair in PAIRS.items()}
    grounds = ("page", "raised")
    pairs = {(text, ground): colours[ground] for text, ground in product(("ink", "soft", "accent"), grounds)}
    pairs["ink", "warn"] = colours["warn"]
    pairs["raised", "accent"] = colours["accent"]
    # Rows under the pointer, and names that are followed.
    pairs["soft", "line over raised"] = mixed(colours["line"], colours["raised"], 0.45)
    pairs["ink", "line"] = colours["line"]
    # The strongest shades of cells, and rows of the user's own.
    for number in (0, 1):
        pairs["ink", f"shade {number}"] = mixed(colours[f"c{number}"], colours["raised"], SHADE)
    pairs["soft", "yours"] = mixed(colours["c5"], colours["raised"], 0.16)
    low = {pair: contrast(colours[pair[0]], ground) for pair, ground in pairs.items()}
    assert {pair: round(value, 2) for pair, value in low.items() if value < AA} == {}


def test_black_or_white_is_readable_on_every_colour() -> None:
    """Numbers inside marks are black above a luminance of 0.179 and white below, as in look.js."""
    for colour in {each for number in range(len(COLOURS)) for each in PAIRS[f"c{number}"]}:
        text = (0.0, 0.0, 0.0) if luminance(rgb(colour)) > 0.179 else (255.0, 255.0, 255.0)
        assert contrast(text, rgb(colour)) >= AA


def test_files_have_the_light_colours_of_the_page() -> None:
    assert tuple(PAIRS[f"c{number}"][0] for number in range(len(COLOURS))) == COLOURS


def figure() -> Figure:
    line = Series("a", [0, 1], [50.0, 40.0], strong=True, hover=["a, seen: 50%", "a, L5: 40%"])
    return Figure("Accuracy", "Domain", "Accuracy (%)", [line], ((0.0, "seen"), (1.0, "L5")))


def test_the_name_of_a_plot_has_the_finding_and_the_extremes() -> None:
    text = alt_text(figure(), Section("s", "s", ["Accuracy falls by 10 points."]))
    assert text == (
        "Accuracy. Accuracy (%) by Domain. Accuracy falls by 10 points. Lowest: a, L5: 40%. Highest: a, seen: 50%."
    )


def test_plots_are_images_with_names_and_tables_have_captions_and_headers() -> None:
    table = Table("t", [Column(number=False, names=("backbone",)), Column("Score")], [Row([Cell("a"), Cell("1")])],
                  "All scores", head=True)  # fmt: skip
    html = page_html(Page("p", [Section("s", "s", ["It falls."], [figure()], tables=[table])]))
    assert re.search(r'class="plot [^>]*role="img" tabindex="0" aria-label="Accuracy\. [^"]*It falls', html)
    assert '<caption class="hidden">All scores</caption>' in html
    assert '<th scope="col" data-names="backbone"><span class="hidden">backbone</span></th>' in html
    assert "<th scope=row>a</th>" in re.sub(r"\s*\n\s*", "", html)
