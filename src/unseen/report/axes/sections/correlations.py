"""Whether axes go together: correlations between every two measures."""

from unseen.metrics.resampling import Interval
from unseen.report.axes.measures import axis_starts
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.studies.axes.page_data import AxesPage
from unseen.studies.axes.together import Axes, AxisPair
from unseen.words import signed


def build(page: AxesPage) -> Section:
    """A square of coefficients, each of which leads to its points."""
    axes, starts = page.axes, axis_starts(page.axes)
    titles = [measure.title for measure in axes.measures.values()]
    columns = [Column(number=False, names=("measure",))]
    columns += [Column(title, names=(title, f"{title} low", f"{title} high")) for title in titles]
    rows = [
        Row([Cell(title), *cells], "start" if number in starts else "")
        for number, (title, cells) in enumerate(zip(titles, correlation_matrix(axes), strict=True))
    ]
    note = (
        "Below the diagonal Pearson’s correlation, of logits where a measure is bounded; above it Spearman’s, of "
        "ranks. Measures are turned so that greater is better: blue is “good at one, good at the other”, orange “good "
        "at one, bad at the other”. Small: the 95% interval, by Fisher’s z; bold where it leaves out 0, before any "
        "correction. Point at a number for its n, from seven backbones on for the interval over draws of them, and for "
        "what a single one decides. Measures of one axis, pale, share what they are computed from: that they go "
        "together is no finding. Press a number to see its points."
    )
    table = Table("correlations", columns, rows, head=True, kind="matrix")
    return Section("correlations", "Do axes go together?", menu="Correlations", tables=[table], note=note)


def correlation_matrix(axes: Axes) -> list[list[Cell]]:
    """A cell for every two measures: Pearson's below the diagonal, Spearman's above."""
    pairs = {(pair.first, pair.second): pair for pair in axes.pairs}
    names, starts = list(axes.measures), axis_starts(axes)
    matrix = []
    for number, row in enumerate(names):
        cells = []
        for place, column in enumerate(names):
            start = "start" if place in starts else ""
            if number == place:
                cells.append(Cell("", style=f"diagonal {start}".strip()))
            elif number > place:
                cells.append(_coefficient(pairs[column, row], "pearson", (place, number), start))
            else:
                cells.append(_coefficient(pairs[row, column], "spearman", (place, number), start))
        matrix.append(cells)
    return matrix


def _coefficient(pair: AxisPair, kind: str, shows: tuple[int, int], start: str) -> Cell:
    if pair.correlation is None:
        return Cell(about=f"{pair.n} backbones: too few, or all alike", style=f"none {start}".strip())
    found: Interval = getattr(pair.correlation, kind)
    drawn = pair.correlation.resampled
    about = f"{kind.capitalize()}’s over {pair.n} backbones"
    if kind == "pearson":
        about += f"; over draws of backbones {signed(drawn.low, 2)} to {signed(drawn.high, 2)}" if drawn else ""
        if pair.without_one:
            about += f"; without any one {signed(pair.without_one[0], 2)} to {signed(pair.without_one[1], 2)}"
    if pair.corrected is not None:
        about += f"; p {pair.p_value:.3f}, corrected {pair.corrected:.2f}"
    strong, faint = "strong" if found.low > 0 or found.high < 0 else "", "" if pair.across else "faint"
    style = " ".join(filter(None, (strong, faint, start)))
    return Cell(
        signed(found.value, 2), (found.value, found.low, found.high), about=about, shade=found.value, shows=shows,
        below=f"{signed(found.low, 2)} to {signed(found.high, 2)}", style=style,
    )  # fmt: skip


SECTION = PageSection("axes", 30, build)
