"""The tables of ranks and of paired differences, of every page."""

from collections.abc import Sequence

from unseen.analyses.core.comparable import Comparable
from unseen.analyses.paired import Comparison, PairComparison, SuiteComparison
from unseen.metrics.paired.estimate import Estimate
from unseen.report.core.compared import Resolution, amount, difference_text, ends_text, score_text
from unseen.report.core.metric_words import metric_words
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.report.core.rank_figure import rank_range
from unseen.runs.score import shots_name
from unseen.text.words import counted, signed

RANKS = (
    Column("Data set", number=False, names=("domain",)),
    Column("Probe", number=False, names=("probe",)),
    Column("Backbone", number=False, names=("backbone",)),
    Column("Score", "mean over seeds", names=("score",)),
    Column("Rank", "95% interval", names=("rank", "low", "high")),
    Column("Tie group", names=("group",)),
    Column("Resolves", "difference from the best seen with 80% power", names=("detectable",)),
)
PAIRS = (
    Column("Pair", number=False, names=("first", "second")),
    Column("Data set", number=False, names=("domain",)),
    Column("Probe", number=False, names=("probe",)),
    Column("Difference", names=("difference",)),
    Column("95% interval", names=("low", "high")),
    Column("p (Holm)", "corrected for the comparisons of the pair", names=("p_holm",)),
    Column("Over", "units and seeds", number=False, names=("units", "unit", "seeds")),
    Column("Effect size", "Cohen's d over units", names=("standardised",)),
    Column("Won", "share of units, ties count as half", names=("won",)),
    Column("McNemar", "images only one has right, exact p", names=("only_first", "only_second", "p_mcnemar")),
)
FOLDED = 12
"""Rows from which a table is closed at first."""


def rank_table(shown: Resolution, ranked: Sequence[Comparable]) -> Table:
    rows = list[Row]()
    for each in ranked:
        standings = each.standings
        found = zip(standings.names, standings.value, standings.rank, standings.low, standings.high, standings.group,
                    strict=True)  # fmt: skip
        for name, value, rank, low, high, group in found:
            title = shown.titles.get(each.place.dataset, each.place.dataset)
            detectable = each.detectable(name)
            resolves = "–" if detectable is None else amount(each.metric, detectable)
            cells = [
                Cell(title, (each.place.dataset,)), Cell(_probe(each), (each.place.probe,)),
                Cell(name, look=name in shown.drawn),
                Cell(score_text(each.metric, value), (float(value),), about=metric_words(each.metric.name)),
                Cell(rank_range(low, high, len(standings.names)), (int(rank), int(low), int(high))),
                Cell(str(group), (int(group),)), Cell(resolves, (detectable,)),
            ]  # fmt: skip
            rows.append(Row(cells, backbone=shown.look(name)))
    folded = f"All {len(rows)} ranks, with intervals and tie groups" if len(rows) > FOLDED else ""
    return Table("ranks-resolved", RANKS, rows, "Ranks", sortable=True, folded=folded)


def _probe(each: Comparable) -> str:
    shots = "" if each.place.shots is None else f", {counted(each.place.shots, 'shot')}"
    return f"{each.place.probe}{shots}"


def pair_table(shown: Resolution) -> Table:
    rows = [
        Row(_cells(shown, pair, item, number)) for pair in shown.pairs for number, item in enumerate(pair.comparisons)
    ]
    rows += [
        Row(_suite_cells(shown, pair, suite, estimate, kind), "main")
        for pair in shown.pairs
        for suite in pair.suites
        for estimate, kind in ((suite.means.over_these, "fixed"), (suite.means.over_others, "random"))
        if estimate is not None
    ]
    folded = f"All {len(rows)} differences, with intervals and p-values" if len(rows) > FOLDED else ""
    return Table("comparison", PAIRS, rows, "Paired differences", sortable=True, folded=folded)


def _cells(shown: Resolution, pair: PairComparison, item: Comparison, number: int) -> list[Cell]:
    metric, estimate, images = shown.metric(item.metric), item.difference, item.images
    interval, over = estimate.interval(), f"{estimate.units:,} {item.unit}"
    seeds = counted(estimate.seeds, "seed") if estimate.seeds > 1 else "one fit each"
    exact = (images.only_first, images.only_second, images.p_value) if images else (None, None, None)
    title = shown.titles.get(item.place.dataset, item.place.dataset)
    return [
        Cell(f"{pair.first} − {pair.second}", (pair.first, pair.second)),
        Cell(title, (item.place.dataset,), order=number),
        Cell(item.place.probe + ("" if item.place.shots is None else f", {shots_name(item.place.shots)} shots"),
             (item.place.probe,)),
        Cell(difference_text(metric, estimate.value), (estimate.value,), style="main",
             about=metric_words(item.metric)),
        Cell(ends_text(metric, estimate), (interval.low, interval.high)),
        Cell(f"{item.p_holm:.2g}", (item.p_holm,)),
        Cell(f"{over}, {seeds}", (estimate.units, item.unit, estimate.seeds)),
        Cell(signed(item.standardised, 2), (item.standardised,)), Cell(f"{100 * item.won:.0f}%", (item.won,)),
        Cell(f"{images.only_first:,} : {images.only_second:,}, p {images.p_value:.2g}" if images else "–", exact),
    ]  # fmt: skip


def _suite_cells(
    shown: Resolution, pair: PairComparison, suite: SuiteComparison, estimate: Estimate, kind: str
) -> list[Cell]:
    metric, interval = shown.metric(suite.metric), estimate.interval()
    mean = f"mean of {len(suite.datasets)} {suite.suite}"
    return [
        Cell(f"{pair.first} − {pair.second}", (pair.first, pair.second)), Cell(mean, (mean,)),
        Cell(suite.probe, (suite.probe,)), Cell(difference_text(metric, estimate.value), (estimate.value,)),
        Cell(ends_text(metric, estimate), (interval.low, interval.high)),
        Cell(f"{estimate.p_value:.2g}", (estimate.p_value,), about="not corrected: one mean per probe"),
        Cell(f"{suite.suite} as {kind}", (len(suite.datasets), f"{suite.suite} as {kind}", None)),
        Cell(), Cell(), Cell(),
    ]  # fmt: skip
