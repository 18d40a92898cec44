"""Ranks across axes, as lines from measure to measure."""

from unseen.report.axes.measures import rank_spots
from unseen.report.axes.page_data import AxesPage
from unseen.report.axes.words import findings, rank_text, value_text
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series


def build(page: AxesPage) -> Section:
    """One line per backbone."""
    axes, measures = page.axes, list(page.axes.measures.values())
    spots = []
    for measure in measures:
        standings = [axes.standings[measure.name].get(name) for name in axes.backbones]
        spots.append(rank_spots([standing.rank if standing else None for standing in standings]))
    series = [
        Series(
            name, [float(place) for place in range(len(measures))], [each[number] for each in spots], strong=True,
            backbone=name,
            hover=[
                f"{measure.title}: {value_text(measure, name)}, {rank_text(axes.standings[measure.name][name])}"
                if name in axes.standings[measure.name] else ""
                for measure in measures
            ],
        )
        for number, name in enumerate(axes.backbones)
    ]  # fmt: skip
    ticks = tuple((float(place), measure.title) for place, measure in enumerate(measures))
    figure = Figure(
        "", "", "Rank (1 is best)", series, ticks, top_is_low=True, drawing="bump", caption=findings(axes)[0]
    )
    note = (
        "One line per backbone, with the best rank at the top. Press a name, or point at a line, to follow a backbone. "
        "A line that crosses many others belongs to a backbone that a single axis would misjudge. Backbones that share "
        "a rank are drawn close together. A line is broken if a measure is missing."
    )
    return Section("ranks", "Ranks across axes", menu="Ranks", figures=[figure], legend=True, note=note)


SECTION = PageSection("axes", 10, build)
