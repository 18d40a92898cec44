"""What a screen reader says of a figure: its title, its axes, and its lowest and highest point."""

from collections.abc import Iterator

from unseen.report.core.model import Figure, Section, Series


def alt_text(figure: Figure, section: Section) -> str:
    """A few sentences in place of the drawing, with the first finding of its section."""
    finding = section.sentences[0] if section.sentences else ""
    parts = [figure.title or section.title, _axes(figure), figure.caption, finding, *_points(figure)]
    sentences = dict.fromkeys(part.strip().rstrip(".") for part in parts if part.strip())
    return ". ".join(sentences) + "."


def _axes(figure: Figure) -> str:
    return f"{figure.y_label} by {figure.x_label}" if figure.x_label and figure.y_label else figure.y_label


def _points(figure: Figure) -> Iterator[str]:
    """All spokes of a polar figure; else the lowest and the highest point of the first series or of the strong ones.

    A figure with a drawing of its own changes with the choices of the reader, so its points are left to the tables.
    """
    if figure.drawing:
        return
    if figure.polar:
        yield from figure.series[0].hover
        return
    strong = [series for series in figure.series if series.strong or series.hover]
    found = [(y, series, place) for series in strong for place, y in enumerate(series.y) if y is not None]
    if len(found) < 2:
        return
    lowest, highest = (choose(found, key=lambda point: point[0]) for choose in (min, max))
    yield f"Lowest: {_point(figure, *lowest)}"
    yield f"Highest: {_point(figure, *highest)}"


def _point(figure: Figure, y: float, series: Series, place: int) -> str:
    if series.hover:
        return series.hover[place]
    at = next((text for where, text in figure.x_ticks if where == series.x[place]), f"{series.x[place]:g}")
    return f"{series.name}, {at}: {y:.4g}"
