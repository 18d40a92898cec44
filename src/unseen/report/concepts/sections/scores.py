"""All scores in one table."""

from dataclasses import astuple

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import Row, unique
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Section, Table
from unseen.report.core.model import Row as TableRow
from unseen.text.words import signed

FIVE = 5
SAMPLES = Column(
    "Samples per class", "for training: of the smallest to the largest class",
    names=("fewest_samples", "median_samples", "most_samples"),
)  # fmt: skip
PROTOCOL = Column("Protocol", number=False, names=("setting",))
COLUMNS = (
    Column("Backbone", number=False, names=("backbone",)),
    Column("Domain", number=False, names=("domain",)),
    Column("Shots", names=("shots",)),
    SAMPLES,
    Column("Metric", number=False, names=("metric",)),
    Column("Mean", "percent, over seeds", names=("mean",)),
    Column("Over concepts", "95% interval over seeds and concepts, percent",
           names=("concept_low", "concept_high")),
    Column("Gap to seen", "points", names=("gap",)),
    Column("Rank", "on the domain by the mean, 1 is best; ranges are in the section on ranks", names=("rank",)),
    Column("Deviation", "standard deviation over seeds, points", names=("deviation",)),
    Column("Interval", "95% bootstrap interval of the mean over seeds, percent", names=("low", "high")),
    Column("Seeds", "number of seeds", names=("seeds",)),
    Column("Category", number=False, names=("category",)),
    PROTOCOL,
)  # fmt: skip


def build(context: ConceptContext) -> Section:
    """The columns that matter most come first; those that say nothing are left out.

    These are the protocol where there is one, and samples per class where they are the number of shots.
    """
    one = len(unique(row.setting for row in context.rows)) == 1
    short = any(row.samples and row.shots != "all" and row.samples.fewest < int(row.shots) for row in context.rows)
    left_out = [column for column, empty in ((PROTOCOL, one), (SAMPLES, not short)) if empty]
    shown = [place for place, column in enumerate(COLUMNS) if column not in left_out]
    titles = {domain.name: (place, domain.title) for place, domain in enumerate(context.data.domains)}
    cells = (_row(row, *titles[row.domain]) for row in context.rows)
    table = Table(
        "scores", [COLUMNS[place] for place in shown], [TableRow([row[place] for place in shown]) for row in cells],
        sortable=True, filter="words in any column, e.g. l5 top1 all",
    )  # fmt: skip
    note = (
        'Means and intervals are in percent, deviations and gaps in points; other scores have no unit. "Over concepts" '
        'is a 95% interval over concepts and seeds, "Interval" one over seeds only. Click a heading to sort.'
    )
    few = {domain.name for domain in context.data.domains if 0 < (domain.classes or len(domain.concepts)) <= FIVE}
    sure = [row.domain for row in context.rows if row.metric == "top5" and row.domain in few and row.mean == 1]
    if sure:
        names = ", ".join(unique(titles[domain][1] for domain in sure))
        note += f" Among five classes or fewer, a top-5 accuracy of 100% says nothing: {names}."
    return Section("scores", "All scores", tables=[table], note=note)


def _row(row: Row, place: int, title: str) -> list[Cell]:
    def number(value: float) -> str:
        return f"{100 * value:.1f}" if row.is_share else f"{value:.3f}"

    def ends(low: float | None, high: float | None) -> Cell:
        return Cell() if low is None or high is None else Cell(f"{number(low)} to {number(high)}", (low, high))

    gap = Cell() if row.gap is None else Cell(
        signed(100 * row.gap) if row.is_share else f"{row.gap:+.3f}", (row.gap,)
    )  # fmt: skip
    return [
        Cell(row.backbone), Cell(title, (row.domain,), order=place),
        Cell(row.shots, order="Infinity" if row.shots == "all" else None), _samples(row), Cell(row.metric),
        Cell(number(row.mean), (row.mean,), style="main"), ends(row.concept_low, row.concept_high), gap,
        Cell() if row.rank is None else Cell(str(row.rank)),
        Cell() if row.deviation is None else Cell(number(row.deviation), (row.deviation,)), ends(row.low, row.high),
        Cell(str(row.seeds)), Cell(row.category), Cell(row.setting),
    ]  # fmt: skip


def _samples(row: Row) -> Cell:
    return Cell(str(row.samples), astuple(row.samples), order=row.samples.fewest) if row.samples else Cell()


SECTION = PageSection("concepts", 200, build)
