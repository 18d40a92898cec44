"""The sentences of the page across axes: findings, and the strengths and weaknesses of each backbone."""

from collections import Counter

from unseen.analyses.axes.together import CONCEPTS, SEEN, Axes, AxisPair, Measure, Standing
from unseen.metrics.correlation import LEAST
from unseen.metrics.resampling import Interval
from unseen.text.words import counted, joined, signed

FEW = 10
"""With fewer backbones, correlations come with a warning."""
SURE = 0.05


def value_text(measure: Measure, name: str) -> str:
    """The value of a backbone with its unit and, if known, its interval: `71.2% (70.9 to 71.5)`."""
    write = _percent if measure.bounded else _points
    known = measure.interval(name)
    ends = f" ({write(known.low)} to {write(known.high)})" if known else ""
    beside = from_seen(measure, name)
    return f"{short_value(measure, name)}{'%' if measure.bounded else ' points'}{ends}{beside and f', {beside}'}"


def from_seen(measure: Measure, name: str) -> str:
    """The difference from the accuracy on seen concepts, `−10.9 from seen`; empty if unknown."""
    return f"{_points(measure.from_seen[name])} from seen" if name in measure.from_seen else ""


def short_value(measure: Measure, name: str) -> str:
    """The value of a backbone alone, in percent, or in points with its sign."""
    return (_percent if measure.bounded else _points)(measure.shown(name))


def rank_text(standing: Standing) -> str:
    """`rank 2 of 6 (1 to 3)`; the range only if it is known and wider than the rank, and the tie group if there is one.

    With a group: `rank 2 of 6 (1 to 3, tie group 1)`.
    """
    known = standing.low is not None and standing.low != standing.high
    beside = [f"{standing.low} to {standing.high}"] if known else []
    beside += [f"tie group {standing.group}"] if standing.group is not None else []
    return f"rank {standing.rank} of {standing.of}" + (f" ({', '.join(beside)})" if beside else "")


def about_ranks(axes: Axes, name: str) -> str:
    """What the intervals of the ranks by a measure are from, as a sentence."""
    measure, of = axes.measures[name], axes.standings[name].values()
    if any(standing.group is not None for standing in of):
        return "Ranks: intervals and tie groups from comparisons of all pairs on the same test images."
    if all(standing.low is None for standing in of):
        return "Ranks have no intervals."
    if measure.over_episodes:
        return "Ranks: 95% range over few-shot episodes."
    if measure.axis in {SEEN, CONCEPTS}:
        fit = " and over the fitted models" if measure.name == "effective" else ""
        return f"Ranks: 95% range over seeds, for published models from their printed standard deviations{fit}."
    return "Ranks: 95% range over the models of the fit."


def findings(axes: Axes) -> list[str]:
    """The leading backbones, and how the axes correlate."""
    return [*_leaders(axes), *_agreement(axes)]


def strong_and_weak(axes: Axes, name: str) -> str:
    """The measures with the best and the worst rank of a backbone, and whether their ranges overlap."""
    ends = axes.best_and_worst(name)
    if ends is None:
        own = [measure for measure, found in axes.standings.items() if name in found]
        return "The same rank on every measure." if len(own) > 1 else "Only one measure: nothing to compare."
    best, worst = (axes.standings[measure][name] for measure in ends)
    strong, weak = (f"{axes.measures[measure].title}, {_sure_rank(axes.standings[measure][name])}" for measure in ends)
    chance = " The ranges of the two ranks overlap, so the difference may be chance." if _meet(best, worst) else ""
    return f"Strongest on {strong}; weakest on {weak}.{chance}"


def _sure_rank(standing: Standing) -> str:
    return rank_text(standing) + (", uncertainty unknown" if standing.low is None else "")


def _meet(best: Standing, worst: Standing) -> bool:
    """Whether the ranges of two ranks overlap, each scaled to 0 for the first rank and 1 for the last."""
    if best.high is None or worst.low is None:
        return False
    return (best.high - 1) * (worst.of - 1) >= (worst.low - 1) * (best.of - 1)


def _leaders(axes: Axes) -> list[str]:
    """The backbones with the most first ranks, over measures of two backbones or more."""
    firsts = axes.firsts()
    if not firsts:
        return []
    holders = Counter(name for measures in firsts.values() for name in measures)
    most = len(next(iter(firsts.values())))
    leaders = [name for name, measures in firsts.items() if len(measures) == most]
    who = joined(leaders)
    sure = sum(axes.standings[name][leaders[0]].sure_first for name in firsts[leaders[0]])
    certain = f"; the 95% ranges of its ranks support {sure} of {most}" if len(leaders) == 1 else ""
    if most == len(holders):
        every = f"all {most} measures" if most > 1 else "the one measure"
        does = "is first" if len(leaders) == 1 else "share the first rank"
        return [f"{who} {does} on {every} of generalisation{certain}."]
    titles = [f"{axes.measures[name].title}{', shared' if holders[name] > 1 else ''}" for name in firsts[leaders[0]]]
    which = f" ({'; '.join(titles)})" if len(leaders) == 1 else ""
    return [
        f"No backbone is first on every measure: {who} {'is' if len(leaders) == 1 else 'are each'} first on {most} of "
        f"{len(holders)} measures of generalisation{which}{certain}; {len(firsts)} backbones are first on at least one."
    ]


def _agreement(axes: Axes) -> list[str]:
    """The range of correlations across axes, and how many exclude 0."""
    across = [pair for pair in axes.pairs if pair.across]
    known = [pair for pair in across if pair.correlation]
    if not known:
        return [_why_none(axes, across)]
    ordered = sorted(known, key=lambda pair: -_pearson(pair).value)
    ends = [f"{_r(pair)} between {_pair_text(axes, pair)}" for pair in dict.fromkeys((ordered[-1], ordered[0]))]
    if len(ends) > 1:
        sentences = [f"Correlations across axes go from {ends[0]} to {ends[1]}."]
    else:
        sentences = [f"The correlation across axes is {ends[0]}."]
    apart = sum(_pearson(pair).low > 0 or _pearson(pair).high < 0 for pair in known)
    kept = sum(pair.corrected is not None and pair.corrected < SURE for pair in known)
    chance = f"{SURE * len(known):.1f}"
    sentences.append(
        f"Of {len(known)} correlations across axes, {apart or 'none'} {'has' if apart <= 1 else 'have'} an interval "
        f"that excludes 0 (by chance alone: {chance}); after correction (Holm), {kept or 'none'} remain"
        f"{'s' if kept == 1 or not kept else ''}."
    )
    return [*sentences, *_few(known)]


def _few(known: list[AxisPair]) -> list[str]:
    """A warning for few backbones, with how often a single one decides the sign."""
    most = max(pair.n for pair in known)
    if most >= FEW:
        return []
    tried = [pair.without_one for pair in known if pair.without_one]
    turned = sum(low < 0 < high for low, high in tried)
    rest = len(known) - len(tried)
    others = f" ({rest} more cannot be checked this way)" if rest else ""
    changed = f"changes the sign of {turned} of {counted(len(tried), 'correlation')}{others}"
    one = f"; leaving out one backbone {changed}" if tried else ""
    return [
        f"With {most} backbones, intervals are wide{one}. They hold for these backbones, not for models in general."
    ]


def _why_none(axes: Axes, across: list[AxisPair]) -> str:
    if not across:
        return "There is only one axis: correlations need two, with the same backbones under the same names."
    most = max(pair.n for pair in across)
    if most >= LEAST:
        return "The backbones have equal values on the measures that they share: there is nothing to correlate."
    return (
        f"No correlations between axes: they need {LEAST} backbones on two axes under the same names, and there "
        f"{'is' if most == 1 else 'are'} {most or 'none'}."
    )


def _pair_text(axes: Axes, pair: AxisPair) -> str:
    return f"“{axes.measures[pair.first].title}” and “{axes.measures[pair.second].title}”"


def _r(pair: AxisPair) -> str:
    found = _pearson(pair)
    ends = f"{signed(found.low, 2)} to {signed(found.high, 2)}"
    one = pair.without_one
    without = f"; {signed(one[0], 2)} to {signed(one[1], 2)} when any one is left out" if one else ""
    return f"r {signed(found.value, 2)} (95% interval {ends}, {pair.n} backbones{without})"


def _pearson(pair: AxisPair) -> Interval:
    assert pair.correlation is not None, "only pairs that have one are ordered"
    return pair.correlation.pearson


def _percent(value: float) -> str:
    return f"{value:.1f}"


def _points(value: float) -> str:
    return signed(value)
