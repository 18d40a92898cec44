"""Every value with its rank."""

from unseen.analyses.axes.together import Axes, Measure, Standing
from unseen.report.axes.measures import axis_groups, axis_starts
from unseen.report.axes.page_data import AxesPage
from unseen.report.axes.words import about_ranks, from_seen, rank_text, short_value, value_text
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.core.ties import RULE
from unseen.text.words import joined


def build(page: AxesPage) -> Section:
    """One row per backbone, one column per measure."""
    axes, measures = page.axes, list(page.axes.measures.values())
    columns = [
        Column("Backbone", number=False, names=("backbone",)),
        *(
            Column(measure.title, measure.about, names=[f"{measure.name} {what}" for what in _held(measure, axes)])
            for measure in measures
        ),
    ]  # fmt: skip
    rows = [Row([Cell(name, look=True), *_cells(axes, name)], backbone=name) for name in axes.backbones]
    note = (
        "Values are in percent, or in points if they have a sign. The small number is the rank, 1 being the best; the "
        "colour shows it, from blue for the first to orange for the last. Hover over a number for its interval and the "
        "range of its rank. Where results keep which test images are classified correctly, the range is from "
        "comparisons of all pairs on the same images, and backbones whose order is not resolved are in one tie group; "
        "elsewhere, the list below says what it is from. A value is bold if the range of its rank is the first rank "
        "alone, except for few-shot episodes, whose ranges do not cover the choice of the images that episodes are "
        "drawn from. Only ranges from comparisons cover other test images, on concepts other concepts, and none covers "
        "the choice of data sets. Press a heading to sort."
    )
    return Section(
        "values", "Values and ranks", menu="Values", note=note,
        tables=[Table("values", columns, rows, sortable=True, head=True, groups=axis_groups(axes), bold=_bold(axes))],
        facts={measure.title: f"{measure.about} {about_ranks(axes, measure.name)}" for measure in measures},
    )  # fmt: skip


def _bold(axes: Axes) -> str:
    """What bold values are in papers."""
    if len(axes.backbones) < 2:
        return ""
    without = [
        measure.title for measure in axes.measures.values()
        if all(each.group is None for each in axes.standings[measure.name].values())
    ]  # fmt: skip
    alone = "a value is bold only if the range of its rank is the first rank alone; ties with it are not decided."
    if len(without) == len(axes.measures):
        return f"{alone[:1].upper()}{alone[1:]}"
    return f"{RULE} For {joined(without)}, {alone}" if without else RULE


def _held(measure: Measure, axes: Axes) -> tuple[str, ...]:
    """What the columns of a measure hold in CSV: bounded ones also the logits that are ranked and correlated.

    If lower is better, these are the negative logits. Ends of ranges and tie groups are there if they are known.
    """
    standings = axes.standings[measure.name].values()
    ranks = ["rank"]
    ranks += ["rank low", "rank high"] if any(each.low is not None for each in standings) else []
    ranks += ["tie group"] if any(each.group is not None for each in standings) else []
    if not measure.bounded:
        return ("points", *ranks)
    return ("percent", "logit" if measure.higher_is_better else "negative logit", *ranks)


def _cells(axes: Axes, name: str) -> list[Cell]:
    cells, starts = [], axis_starts(axes)
    for place, measure in enumerate(axes.measures.values()):
        start = "start" if place in starts else ""
        standing = axes.standings[measure.name].get(name)
        if standing is None:
            cells.append(Cell(about=f"{measure.title}: not measured", style=f"none {start}".strip()))
            continue
        about = f"{measure.title}: {value_text(measure, name)}, {rank_text(standing)}"
        tied = "tied" if standing.group == 1 and standing.of > 1 and not standing.over_episodes else ""
        strong = "best" if standing.sure_first else tied
        cells.append(
            Cell(
                short_value(measure, name), _values(measure, name, standing, axes), small=str(standing.rank),
                about=about, shade=2 * standing.ahead - 1 if standing.of > 1 else None,
                style=f"{strong} {start}".strip(), below=from_seen(measure, name),
            )
        )  # fmt: skip
    return cells


def _values(measure: Measure, name: str, standing: Standing, axes: Axes) -> tuple[float | None, ...]:
    """The values of `_held`."""
    [compared] = measure.oriented([name]).tolist()
    known = {
        "rank": standing.rank, "rank low": standing.low, "rank high": standing.high, "tie group": standing.group,
    }  # fmt: skip
    ranks = [known[what] for what in _held(measure, axes) if what in known]
    return (measure.shown(name), *([compared] if measure.bounded else []), *ranks)


SECTION = PageSection("axes", 20, build)
