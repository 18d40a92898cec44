"""Correlations between every two measures."""

from unseen.analyses.axes.together import Axes, AxisPair
from unseen.metrics.resampling import Interval
from unseen.report.axes.measures import axis_starts
from unseen.report.axes.page_data import AxesPage
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.text.words import signed


def build(page: AxesPage) -> Section:
    """A matrix of coefficients; pressing one shows its points."""
    axes, starts = page.axes, axis_starts(page.axes)
    titles = [measure.title for measure in axes.measures.values()]
    columns = [Column(number=False, names=("measure",))]
    columns += [Column(title, names=(title, f"{title} kind", f"{title} low", f"{title} high")) for title in titles]
    rows = [
        Row([Cell(title), *cells], "start" if number in starts else "")
        for number, (title, cells) in enumerate(zip(titles, correlation_matrix(axes), strict=True))
    ]
    note = (
        "Below the diagonal: Pearson’s correlation, of logits for bounded measures. Above it: Spearman’s rank "
        "correlation. The sign of measures is chosen so that higher is better: blue means “good at one, good at the "
        "other”, orange “good at one, bad at the other”. Below each number is its 95% interval by Fisher’s z; bold "
        "numbers have an interval that excludes 0, before any correction. Hover over a number for the number of "
        "backbones, the interval over resampled backbones (from seven on) and the range with any one left out. "
        "Measures of the same axis, in grey, share data, so their correlation is no finding. Press a number to see its "
        "points."
    )
    caption = "Pearson’s correlation below the diagonal, Spearman’s above it"
    bold = "Bold: the interval excludes 0."
    table = Table("correlations", columns, rows, caption, head=True, kind="matrix", bold=bold)
    return Section("correlations", "Do the axes correlate?", menu="Correlations", tables=[table], note=note)


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
        return Cell(about=f"{pair.n} backbones: too few, or equal values", style=f"none {start}".strip())
    found: Interval = getattr(pair.correlation, kind)
    drawn = pair.correlation.resampled
    about = f"{kind.capitalize()}’s correlation over {pair.n} backbones"
    if kind == "pearson":
        about += f"; over resampled backbones {signed(drawn.low, 2)} to {signed(drawn.high, 2)}" if drawn else ""
        if pair.without_one:
            about += f"; with any one left out {signed(pair.without_one[0], 2)} to {signed(pair.without_one[1], 2)}"
    if pair.corrected is not None:
        about += f"; p {pair.p_value:.3f}, corrected {pair.corrected:.2f}"
    strong, faint = "strong" if found.low > 0 or found.high < 0 else "", "" if pair.across else "faint"
    style = " ".join(filter(None, (strong, faint, start)))
    return Cell(
        signed(found.value, 2), (found.value, kind, found.low, found.high), about=about, shade=found.value, shows=shows,
        below=f"{signed(found.low, 2)} to {signed(found.high, 2)}", style=style,
    )  # fmt: skip


SECTION = PageSection("axes", 30, build)
