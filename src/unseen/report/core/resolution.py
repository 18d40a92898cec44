"""The section of every page about what its differences mean: ranks with what is resolved, and paired comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from unseen.analyses.core.comparable import Comparable
from unseen.analyses.paired import SIGNIFICANT, PairComparison, SuiteComparison
from unseen.analyses.power.plans import plan_between
from unseen.metrics.catalogue import Metric
from unseen.metrics.paired.estimate import Estimate
from unseen.report.core.compared import Resolution, amount, difference_text, ends_text, score_text
from unseen.report.core.metric_words import probe_words
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.rank_figure import placed, rank_figure
from unseen.report.core.ranking_words import SAME_IMAGES
from unseen.report.core.resolution_tables import pair_table, rank_table
from unseen.text.words import counted, joined, signed

FEWEST_RANKS = 3
"""Backbones from which on ranks are drawn: those of two are a sentence."""
BESIDE, MOST_BESIDE = 0.08, 0.6
"""Distance of two pairs in the figure of differences, and of all of them, in places."""
MOST_NAMED = 4
MOST_SENTENCES = 3
"""Data sets and probes that the section states in sentences."""


def resolution_section(shown: Resolution) -> Section | None:
    """The section; None if nothing can be compared."""
    ranked = [each for each in shown.every.every if len(each.backbones) > 1]
    if not ranked and not shown.pairs:
        return None
    sentences = [*(_pair_sentence(shown, pair) for pair in shown.pairs), *_left_out(shown)]
    if not any(pair.requested for pair in shown.pairs):
        sentences = [*(standing_sentence(shown, each) for each in _headlines(ranked)), *sentences]
    tables = [table for table in (rank_table(shown, ranked), pair_table(shown)) if table.rows]
    figures = [*_rank_figures(shown, ranked), *([difference_figure(shown)] if shown.pairs else [])]
    return Section(
        "comparison", "Is the difference real?", sentences, figures, _method(shown), tables, menu="Differences"
    )


def _headlines(ranked: Sequence[Comparable]) -> list[Comparable]:
    """What the section states in sentences: of levels, only the last one, as at the top of the page; episodes last."""
    last = {each.place.probe: each for each in ranked if each.suite == "levels"}
    some = [each for each in ranked if each.suite != "levels" or each is last[each.place.probe]]
    return sorted(some, key=lambda each: each.unit == "episodes")[:MOST_SENTENCES]


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
    return f"{over}, and {ends_text(metric, others)} if others of their kind were drawn" if others else over


def _with_ends(metric: Metric, estimate: Estimate) -> str:
    return f"{difference_text(metric, estimate.value)} ({ends_text(metric, estimate)})"


def _rank_figures(shown: Resolution, ranked: Sequence[Comparable]) -> list[Figure]:
    """The ranks on the first of the data sets that the section states in sentences; of levels, on the last one."""
    several = [each for each in _headlines(ranked) if len(each.backbones) >= FEWEST_RANKS]
    each = next((each for each in several if each.suite == "levels"), next(iter(several), None))
    if each is None:
        return []
    texts = [score_text(each.metric, value) for value in each.standings.value]
    figure = rank_figure(placed(each.standings, texts), f"Ranks on {_where(shown, each)}")
    return [replace(figure, series=[replace(line, backbone=shown.look(line.backbone)) for line in figure.series])]


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
    series = [_series(shown, pair, number, step * (turn - middle)) for turn, pair in enumerate(shown.pairs)]
    return Figure("Paired differences", "", "Difference (points)", series, ticks, zero=True)


def _series(
    shown: Resolution, pair: PairComparison, number: Mapping[tuple[str, str, int | None], int], beside: float
) -> Series:
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
        backbone=shown.look(pair.first),
    )  # fmt: skip


def _method(shown: Resolution) -> str:
    """How intervals, p-values and ranks are found."""
    units = {each.unit for each in shown.every.every} | {item.unit for pair in shown.pairs for item in pair.comparisons}
    seeds = max((item.seeds for pair in shown.pairs for item in pair.comparisons), default=1)
    crossed = f"{joined(sorted(units))} and seeds, which are crossed" if seeds > 1 else joined(sorted(units))
    one = "" if seeds > 1 else " With one fit each, they say nothing of other fits."
    drawn = f" {SAME_IMAGES}" if units == {"episodes"} else ""
    return (
        f"Both backbones are scored on the same test images. Intervals of 95% and p-values are over {crossed} (two-way "
        f"random effects, t distribution).{drawn}{one} A difference is called clear if p < {SIGNIFICANT} after Holm's "
        "correction for all comparisons of the pair. Ranks are tested for each data set and probe by itself: the "
        "interval of a rank contains all ranks that Holm-corrected tests of a backbone against all others leave open, "
        "and the backbones of a tie group are not resolved from the best of the group."
    )
