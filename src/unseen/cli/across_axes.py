"""`unseen report` across axes: the same backbones on concepts, tasks and shifts, on one page."""

from typing import TYPE_CHECKING

from unseen.cli.output import console, print_table

if TYPE_CHECKING:
    from unseen.analyses.axes.together import Axes
    from unseen.report.axes.page_data import AxesPage

VALUED, NAMED = 16, 10
"""Minimum characters per column for values beside ranks, and for names of columns instead of numbers."""


def print_axes(page: "AxesPage") -> None:
    """Print the ranks of the same backbones on several axes, and the findings of the page."""
    from unseen.report.axes.words import findings, strong_and_weak

    _print(page.axes)
    shown = console()
    shown.print()
    for sentence in (*page.notices, *findings(page.axes)):
        shown.print(sentence)
    shown.print()
    for name in page.axes.backbones:
        shown.print(f"{name}. {strong_and_weak(page.axes, name)}")


def _print(axes: "Axes") -> None:
    """The rank by each measure, with values and column names if the terminal is wide enough."""
    from unseen.report.axes.words import from_seen, short_value

    titles = [measure.title for measure in axes.measures.values()]
    room = console().width / (len(titles) + 1)
    numbers = [str(number) for number, _ in enumerate(titles, 1)]
    columns = ["backbone", *(titles if room >= NAMED else numbers)]
    rows = []
    for name in axes.backbones:
        cells = []
        for measure in axes.measures.values():
            standing = axes.standings[measure.name].get(name)
            parts = [short_value(measure, name), from_seen(measure, name)] if standing else []
            value = f" ({', '.join(filter(None, parts))})" if room >= VALUED and standing else ""
            cells.append(f"{standing.rank}{value}" if standing else "–")
        rows.append([name, *cells])
    what = "ranks (1 is best)" + (", with values in percent or percentage points" if room >= VALUED else "")
    count = len(axes.backbones)
    print_table(f"{count} backbone{'s' if count > 1 else ''} across axes: {what}", columns, rows, right=columns[1:])
    if room < NAMED:
        console().print(", ".join(f"{number} {title}" for number, title in zip(numbers, titles, strict=True)))
