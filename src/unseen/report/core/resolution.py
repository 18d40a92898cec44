"""The section of every page about what its differences mean: ranks with what is resolved, and paired comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from unseen.analyses.core.comparable import Comparable
from unseen.analyses.core.comparables import Comparables
from unseen.analyses.paired import SIGNIFICANT, Comparison, PairComparison, SuiteComparison
from unseen.analyses.power.plans import plan_between
from unseen.metrics.catalogue import Metric
from unseen.metrics.paired.estimate import Estimate
from unseen.report.core.metric_words import metric_words, probe_words
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.report.core.rank_figure import placed, rank_figure, rank_range
from unseen.runs.data import RunData
from unseen.runs.score import shots_name
from unseen.text.words import counted, joined, signed

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
FEWEST_RANKS = 3
"""Backbones from which on ranks are drawn: those of two are a sentence."""
BESIDE, MOST_BESIDE = 0.08, 0.6
"""Distance of two pairs in the figure of differences, and of all of them, in places."""
MOST_NAMED = 4
MOST_SENTENCES = 3
"""Data sets and probes that the section states in sentences."""


@dataclass(frozen=True)
class Resolution:
    """What differences of a run, or of several that were merged, mean.

    Attributes:
        pairs: the comparison that was asked for, then those with the baseline.
    """

    data: RunData
    every: Comparables
    pairs: Sequence[PairComparison] = field(default=())

    @property
    def titles(self) -> Mapping[str, str]:
        return {domain.name: domain.title for domain in self.data.domains}

    def metric(self, name: str) -> Metric:
        return self.data.metrics[name]


def resolution_section(shown: Resolution) -> Section | None:
    """The section; None if nothing can be compared."""
    ranked = [each for each in shown.every.every if len(each.backbones) > 1]
    if not ranked and not shown.pairs:
        return None
    sentences = [*(_pair_sentence(shown, pair) for pair in shown.pairs), *_left_out(shown)]
    if not any(pair.requested for pair in shown.pairs):
        sentences = [*(standing_sentence(shown, each) for each in _headlines(ranked)), *sentences]
    tables = [table for table in (_ranks(shown, ranked), _pairs(shown)) if table.rows]
    figures = [*_rank_figures(shown, ranked), *([difference_figure(shown)] if shown.pairs else [])]
    return Section(
        "comparison", "Is the difference real?", sentences, figures, _method(shown), tables, menu="Differences"
    )


def _headlines(ranked: Sequence[Comparable]) -> list[Comparable]:
    """What the section states in sentences: of levels, only the last one, as at the top of the page."""
    last = {each.place.probe: each for each in ranked if each.suite == "levels"}
    return [each for each in ranked if each.suite != "levels" or each is last[each.place.probe]][:MOST_SENTENCES]


def standing_sentence(shown: Resolution, each: Comparable) -> Markup:
    """Who is best on a data set, or who shares the first place, and what the run could see."""
    standings, where = each.standings, _where(shown, each)
    names = [Markup("<code>{}</code>").format(name) for name in standings.groups[0]]
    seen = _smallest(each)
    if standings.winner:
        fits = " with the one seed of this run" if _one_seed(each) else ""
        return Markup("On {}, {} is best{}.").format(where, names[0], fits)
    tie = Markup("On {}, {} share the first place: the differences between them are not resolved{}.")
    return tie.format(where, _listed(names), seen) + _remedy(each)


def _remedy(each: Comparable) -> str:
    """What would resolve the present difference between the first two of a tie."""
    first, second = each.standings.groups[0][:2]
    if not each.seeds_of(first, second) or not each.difference(first, second).value:
        return ""
    plan = plan_between(each, first, second)
    if plan is None:
        return ""
    present = f" the present difference of {amount(each.metric, plan.difference)} between the first two"
    if not plan.enough:
        return f" More images, concepts or seeds alone would not resolve{present}."
    return f" To resolve{present}: {', or '.join(plan.enough)}, with the rest as it is."


def _listed(names: Sequence[Markup]) -> Markup:
    """A few names in a sentence; more by their number."""
    if len(names) > MOST_NAMED:
        return Markup("{} backbones").format(len(names))
    return Markup(" and ").join([*([Markup(", ").join(names[:-1])] if names[1:] else []), *names[-1:]])


def _smallest(each: Comparable) -> str:
    smallest = each.detectable(each.standings.names[0])
    return "" if smallest is None else f" (this run resolves {amount(each.metric, smallest)} with 80% power)"


def amount(metric: Metric, value: float) -> str:
    """A difference in words: points of a share, else in the unit of the metric."""
    return f"{100 * value:.1f} points" if metric.unit == "share" else f"{value:.3g}"


def _one_seed(each: Comparable) -> bool:
    return all(len(seeds) == 1 for seeds in each.kept.values())


def _where(shown: Resolution, each: Comparable) -> str:
    shots = "" if each.place.shots is None else f", {counted(each.place.shots, 'shot')}"
    several = len({other.place.probe for other in shown.every.every}) > 1
    probe = f" ({probe_words(each.place.probe)}{shots})" if several or shots else ""
    return f"{shown.titles.get(each.place.dataset, each.place.dataset)}{probe}"


def _left_out(shown: Resolution) -> list[str]:
    """Backbones that could not be compared, each reason once."""
    reasons = dict[str, list[str]]()
    for each in shown.every.left_out:
        reasons.setdefault(each.reason, []).append(f"{each.backbone} on {each.place.dataset}")
    return [f"Not compared: {_few(of)} ({reason})." for reason, of in reasons.items()]


def _few(names: Sequence[str]) -> str:
    once = [*dict.fromkeys(names)]
    return joined(once if len(once) <= 3 else [*once[:2], f"{len(once) - 2} more"])


def _pair_sentence(shown: Resolution, pair: PairComparison) -> Markup:
    """Where two backbones differ, and by how much on average."""
    clear = [item for item in pair.comparisons if item.clear]
    total = counted(len(pair.comparisons), "comparison")
    if not clear:
        differ = f"do not differ clearly in any of {total}" if len(pair.comparisons) > 1 else "do not differ clearly"
    elif len(clear) == len(pair.comparisons):
        differ = f"differ clearly in all {total}" if len(clear) > 1 else "differ clearly"
    else:
        places = _few([shown.titles.get(item.place.dataset, item.place.dataset) for item in clear])
        differ = f"differ clearly on {places} ({len(clear)} of {total})"
    means = "".join(_mean_text(shown, suite) for suite in pair.suites[:1])
    names = (Markup("<code>{}</code>").format(name) for name in (pair.first, pair.second))
    return Markup("{} and {} {}{}{}.").format(*names, differ, means, _drop_text(shown, pair))


def _drop_text(shown: Resolution, pair: PairComparison) -> str:
    """Which of two backbones loses more from the seen concepts to the last level."""
    if pair.drop is None:
        return ""
    drop, interval = pair.drop, pair.drop.estimate.interval()
    way = f"from {shown.titles.get(drop.seen, drop.seen)} to {shown.titles.get(drop.level, drop.level)}"
    value, low, high = (100 * each for each in (interval.value, interval.low, interval.high))
    if low <= 0 <= high:
        return f"; the first may lose as much as the second {way} (difference {signed(low)} to {signed(high)} points)"
    low, high = sorted((abs(low), abs(high)))
    less = "less" if value > 0 else "more"
    return f"; {way}, the first loses {abs(value):.1f} points {less} ({low:.1f} to {high:.1f})"


def _mean_text(shown: Resolution, suite: SuiteComparison) -> str:
    metric, means = shown.metric(suite.metric), suite.means
    these = _with_ends(metric, means.over_these)
    over = f"; over these {len(suite.datasets)} {suite.suite}, the mean difference is {these}"
    others = means.over_others
    return f"{over}, and {_ends(metric, others)} if others of their kind were drawn" if others else over


def _with_ends(metric: Metric, estimate: Estimate) -> str:
    return f"{_difference(metric, estimate.value)} ({_ends(metric, estimate)})"


def _ends(metric: Metric, estimate: Estimate) -> str:
    interval = estimate.interval()
    return f"{_difference(metric, interval.low)} to {_difference(metric, interval.high)}"


def _difference(metric: Metric, value: float) -> str:
    return signed(100 * value, 1) if metric.unit == "share" else signed(value, 3)


def score_text(metric: Metric, value: float) -> str:
    return f"{100 * value:.1f}" if metric.unit == "share" else f"{value:.3g}"


def _ranks(shown: Resolution, ranked: Sequence[Comparable]) -> Table:
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
                Cell(title, (each.place.dataset,)), Cell(_probe(each), (each.place.probe,)), Cell(name, look=True),
                Cell(score_text(each.metric, value), (float(value),), about=metric_words(each.metric.name)),
                Cell(rank_range(low, high, len(standings.names)), (int(rank), int(low), int(high))),
                Cell(str(group), (int(group),)), Cell(resolves, (detectable,)),
            ]  # fmt: skip
            rows.append(Row(cells, backbone=name))
    folded = f"All {len(rows)} ranks, with intervals and tie groups" if len(rows) > FOLDED else ""
    return Table("ranks-resolved", RANKS, rows, "Ranks", sortable=True, folded=folded)


def _probe(each: Comparable) -> str:
    shots = "" if each.place.shots is None else f", {counted(each.place.shots, 'shot')}"
    return f"{each.place.probe}{shots}"


def _pairs(shown: Resolution) -> Table:
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
        Cell(_difference(metric, estimate.value), (estimate.value,), style="main",
             about=metric_words(item.metric)),
        Cell(_ends(metric, estimate), (interval.low, interval.high)),
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
        Cell(suite.probe, (suite.probe,)), Cell(_difference(metric, estimate.value), (estimate.value,)),
        Cell(_ends(metric, estimate), (interval.low, interval.high)),
        Cell(f"{estimate.p_value:.2g}", (estimate.p_value,), about="not corrected: one mean per probe"),
        Cell(f"{suite.suite} as {kind}", (len(suite.datasets), f"{suite.suite} as {kind}", None)),
        Cell(), Cell(), Cell(),
    ]  # fmt: skip


def _rank_figures(shown: Resolution, ranked: Sequence[Comparable]) -> list[Figure]:
    """The ranks on the first of the data sets that the section states in sentences; of levels, on the last one."""
    several = [each for each in _headlines(ranked) if len(each.backbones) >= FEWEST_RANKS]
    each = next((each for each in several if each.suite == "levels"), next(iter(several), None))
    if each is None:
        return []
    texts = [score_text(each.metric, value) for value in each.standings.value]
    return [rank_figure(placed(each.standings, texts), f"Ranks on {_where(shown, each)}")]


def difference_figure(shown: Resolution) -> Figure:
    """The differences of each pair with their intervals, one place per data set and probe."""
    places = dict.fromkeys(
        (item.place.dataset, item.place.probe, item.place.shots) for pair in shown.pairs for item in pair.comparisons
        if shown.metric(item.metric).unit == "share"
    )  # fmt: skip
    number = {place: index for index, place in enumerate(places)}
    several = len({probe for _, probe, _ in places}) > 1
    ticks = tuple(
        (float(index), shown.titles.get(dataset, dataset) + (f", {probe}" if several else ""))
        for index, (dataset, probe, _) in enumerate(places)
    )
    # Pairs stand beside each other; at a single place, a table replaces the figure.
    step = min(BESIDE, MOST_BESIDE / len(shown.pairs)) if len(places) > 1 else 0.0
    middle = (len(shown.pairs) - 1) / 2
    series = [_series(pair, number, step * (turn - middle)) for turn, pair in enumerate(shown.pairs)]
    return Figure("Paired differences", "", "Difference (points)", series, ticks, zero=True)


def _series(pair: PairComparison, number: Mapping[tuple[str, str, int | None], int], beside: float) -> Series:
    items = [
        (number[place], item) for item in pair.comparisons
        if (place := (item.place.dataset, item.place.probe, item.place.shots)) in number
    ]  # fmt: skip
    intervals = [item.difference.interval() for _, item in items]
    return Series(
        f"{pair.first} − {pair.second}", [place + beside for place, _ in items],
        [100 * each.value for each in intervals], strong=True, mode="markers",
        low=[100 * each.low for each in intervals], high=[100 * each.high for each in intervals],
        hover=[
            f"{pair.first} minus {pair.second}, {item.place.dataset}: {signed(100 * each.value)} "
            f"({signed(100 * each.low)} to {signed(100 * each.high)})"
            for (_, item), each in zip(items, intervals, strict=True)
        ],
        backbone=pair.first,
    )  # fmt: skip


def _method(shown: Resolution) -> str:
    """How intervals, p-values and ranks are found."""
    units = {each.unit for each in shown.every.every} | {item.unit for pair in shown.pairs for item in pair.comparisons}
    seeds = max((item.seeds for pair in shown.pairs for item in pair.comparisons), default=1)
    crossed = f"{joined(sorted(units))} and seeds, which are crossed" if seeds > 1 else joined(sorted(units))
    one = "" if seeds > 1 else " With one fit each, they say nothing of other fits."
    return (
        f"Both backbones are scored on the same test images. Intervals of 95% and p-values are over {crossed} (two-way "
        f"random effects, t distribution).{one} A difference is called clear if p < {SIGNIFICANT} after Holm's "
        "correction for all comparisons of the pair. Ranks are tested for each data set and probe by itself: the "
        "interval of a rank contains all ranks that Holm-corrected tests of a backbone against all others leave open, "
        "and the backbones of a tie group are not resolved from the best of the group."
    )
