"""Backbones compared with the baseline, or with one another, image by image."""

from collections.abc import Sequence

from unseen.analyses.paired import ENOUGH_SEEDS, SIGNIFICANT, Comparison, PairComparison
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.rows import seen_domain
from unseen.report.concepts.section_parts import domain_ticks
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.runs.concept_resamples import drop_difference
from unseen.runs.score import shots_name
from unseen.text.words import counted, signed

COLUMNS = (
    Column("Pair", number=False, names=("first", "second")),
    Column("Domain", number=False, names=("domain",)),
    Column("Difference", "points", names=("difference",)),
    Column("95% interval", "over concepts and seeds, points", names=("low", "high")),
    Column("p (Holm)", "corrected for the domains of the pair", names=("p_holm",)),
    Column("Effect size", "Cohen's d over concepts", names=("standardised",)),
    Column("Concepts won", "ties count as half", names=("won",)),
)

FOLDED = 12
"""Rows from which the table is closed at first: the figure shows the same differences."""


def build(context: ConceptContext) -> Section | None:
    """The pairs that were compared, where there are some."""
    if not context.pairs:
        return None
    known = {name for pair in context.pairs for name in (item.domain for item in pair.domains)}
    domains = [domain for domain in context.data.domains if domain.name in known]
    titles = {domain.name: domain.title for domain in domains}
    series = [_series(pair, list(titles)) for pair in context.pairs]
    figure = Figure("", "Domain", "Difference (points)", series, domain_ticks(domains), zero=True)
    rows = [Row(_cells(pair, item, titles)) for pair in context.pairs for item in pair.domains]
    folded = f"All {len(rows)} differences, with intervals, p-values and effect sizes" if len(rows) > FOLDED else ""
    table = Table("comparison", COLUMNS, rows, "Differences in top-1 accuracy", sortable=True, folded=folded)
    sentences = [_sentence(context, pair, titles) for pair in context.pairs]
    return Section(
        "comparison", "Paired comparison", [*sentences, *seeds_caution(context.pairs)], [figure],
        method_text(context.pairs[0]), tables=[table], menu="Paired",
    )  # fmt: skip


def _series(pair: PairComparison, places: list[str]) -> Series:
    ends = [100 * item.difference.accuracy.low for item in pair.domains]
    tops = [100 * item.difference.accuracy.high for item in pair.domains]
    return Series(
        f"{pair.first} − {pair.second}", [float(places.index(item.domain)) for item in pair.domains],
        [100 * item.difference.accuracy.value for item in pair.domains], strong=True, low=ends, high=tops,
        hover=[
            f"{pair.first} minus {pair.second}, {item.domain}: {', '.join(pair_texts(item)[:2])}"
            for item in pair.domains
        ],
        backbone=pair.first,
    )  # fmt: skip


def _cells(pair: PairComparison, item: Comparison, titles: dict[str, str]) -> list[Cell]:
    difference, (text, ends, p, effect, won) = item.difference, pair_texts(item)
    return [
        Cell(f"{pair.first} − {pair.second}", (pair.first, pair.second)),
        Cell(titles[item.domain], (item.domain,), order=list(titles).index(item.domain)),
        Cell(text, (difference.accuracy.value,), style="main"),
        Cell(ends, (difference.accuracy.low, difference.accuracy.high)), Cell(p, (item.p_holm,)),
        Cell(effect, (difference.standardised,)), Cell(won, ((1 + difference.dominance) / 2,)),
    ]  # fmt: skip


def pair_texts(item: Comparison) -> tuple[str, str, str, str, str]:
    """Difference and its interval in points, p-value, effect size, and the share of concepts won."""
    found = item.difference
    return (
        signed(100 * found.accuracy.value),
        f"{signed(100 * found.accuracy.low)} to {signed(100 * found.accuracy.high)}",
        f"{item.p_holm:.2g}",
        signed(found.standardised, 2),
        f"{100 * (1 + found.dominance) / 2:.0f}%",
    )


def _sentence(context: ConceptContext, pair: PairComparison, titles: dict[str, str]) -> str:
    """On which domains two backbones differ, and which loses more from the seen concepts to the last level."""
    sure = [titles[item.domain] for item in pair.domains if item.clear]
    count = len(pair.domains)
    differ = (
        f"does not differ clearly from {pair.second} on any of {counted(count, 'domain')}" if not sure
        else f"differs clearly from {pair.second} on all {counted(count, 'domain')}" if len(sure) == count > 1
        else f"differs clearly from {pair.second} on {', '.join(sure)} ({len(sure)} of {counted(count, 'domain')})"
    )  # fmt: skip
    shots = "" if pair.shots is None else f"With {counted(pair.shots, 'shot')}, "
    return f"{shots}{pair.first} {differ}{_drop_text(context, pair, titles)}."


def _drop_text(context: ConceptContext, pair: PairComparison, titles: dict[str, str]) -> str:
    seen, last = seen_domain(context.main), pair.domains[-1].domain
    if seen not in titles or seen == last:
        return ""
    names = (pair.first, pair.second)
    found = drop_difference(context.main.concept_hits, names, (seen, last), shots_name(pair.shots))
    if found is None:
        return ""
    value, low, high = (100 * each for each in (found.value, found.low, found.high))
    way = f"from {titles[seen]} to {titles[last]}"
    if low <= 0 <= high:
        return f"; its drop {way} may be the same (difference {signed(low)} to {signed(high)} points)"
    low, high = sorted((abs(low), abs(high)))
    return f"; {way}, it loses {abs(value):.1f} points {'less' if value > 0 else 'more'} ({low:.1f} to {high:.1f})"


CALLED_CLEAR = {1: ("25 to 35%", "80 to 86%"), 3: ("8 to 11%", "24 to 25%"), 5: ("5 to 6%", "13 to 14%")}
"""Number of seeds → how often equal backbones are called different, with 45 and with 1000 concepts.

From `benchmarks/equal_backbones.py`, which states what its seeds and concepts vary by.
"""


def seeds_caution(pairs: Sequence[PairComparison]) -> list[str]:
    """A sentence about intervals and p-values that are too small, if there are fewer than ten seeds."""
    few = [item.seeds for pair in pairs for item in pair.domains if item.few_seeds]
    if not few:
        return []
    simulated = max(seeds for seeds in CALLED_CLEAR if seeds <= min(few))
    some, many = CALLED_CLEAR[simulated]
    return [
        f"With {counted(min(few), 'seed')}, intervals are too narrow and p-values too small if another seed would "
        "shift all concepts together, the more so the more concepts there are. In simulations of equal backbones, in "
        f"which a seed shifts all concepts by a third of the spread over concepts, {counted(simulated, 'seed')} "
        f"{'calls' if simulated == 1 else 'call'} a difference clear in {some} of cases with 45 concepts and in {many} "
        f"with 1000, instead of 5%. Use at least {ENOUGH_SEEDS} seeds."
    ]


def method_text(pair: PairComparison) -> str:
    """How intervals and p-values are found."""
    first = pair.domains[0]
    seeds, concepts = first.seeds, first.difference.concepts
    over = f"concepts and {seeds} seeds" if seeds > 1 else "concepts"
    added = "; the variance over seeds is added" if seeds > 1 else ""
    return (
        f"Intervals of 95% are from a bootstrap over {concepts} {over}. A difference is called clear if p < "
        f"{SIGNIFICANT}: p is from random exchanges of the two backbones, concept by concept{added}, with Holm's "
        f"correction for {counted(len(pair.domains), 'domain')}. The effect size is Cohen's d over concepts. Ties "
        "count as half won."
    )


SECTION = PageSection("concepts", 18, build)
