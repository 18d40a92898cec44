"""What a ranking is by, and who is first, in words."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from unseen.analyses.core.rankings import Ranking
from unseen.report.core.metric_words import metric_words, probe_words
from unseen.text.words import counted, joined

MOST_SETS = 4
"""Data sets that a sentence names."""
MOST_NAMED = 5
"""Backbones of a tie group that a sentence names; of more, the others are counted."""
SAME_IMAGES = "The intervals are over episodes, which draw from the same images: other images may rank otherwise."


def title(ranking: Ranking) -> str:
    """The probe and its shots: `K nearest neighbours, 5 samples per class`; names such as knn-20 stay."""
    words = probe_words(ranking.probe)
    shots = "all samples" if ranking.shots is None else f"{counted(ranking.shots, 'sample')} per class"
    return f"{words if words == ranking.probe else words[:1].upper() + words[1:]}, {shots}"


def by_text(ranking: Ranking, titles: Mapping[str, str]) -> str:
    """What backbones are ranked by: `mean top-1 accuracy over 3 data sets (DTD, Pets and Cars)`."""
    metrics = dict.fromkeys(metric_words(ranking.metrics[name].name) for name in ranking.by)
    metric = next(iter(metrics)) if len(metrics) == 1 else "score"
    if ranking.of_episodes:
        metric = f"{ranking.ways}-way {ranking.shots}-shot accuracy" if ranking.ways else f"{metric} in episodes"
    names = [titles.get(name, name) for name in ranking.by]
    if len(names) == 1:
        return f"{metric} on {names[0]}"
    which = f" ({joined(names)})" if len(names) <= MOST_SETS else ""
    return f"mean {metric} over {len(names)} data sets{which}"


def leaders_sentence(ranking: Ranking, titles: Mapping[str, str], aside: str = "") -> Markup:
    """Who is first among several backbones, or who shares the first place, after the probe: without its full stop.

    Args:
        aside: what is said of one that is first, such as its cost.
    """
    first = [each.backbone for each in ranking.ranked if each.group == 1]
    by, probe = by_text(ranking, titles), title(ranking)
    if ranking.basis == "pairs":
        return Markup("{}: {}").format(probe, leaders_text(first, by, aside))
    sentence = Markup("{}: {} has the best {}{}; whether its lead is more than chance is not known")
    return sentence.format(probe, code(ranking.ranked[0].backbone), by, aside)


def leaders_text(first: Sequence[str], by: str, aside: str = "") -> Markup:
    """The backbones of the first tie group, and what they are ranked by."""
    if len(first) == 1:
        return Markup("{} is best by {}{}").format(code(first[0]), by, aside)
    tied = "their difference is" if len(first) == 2 else "their differences from the best are"
    return Markup("{} share the first place by {}: {} not resolved").format(listed(first), by, tied)


def listed(names: Sequence[str]) -> Markup:
    """A few names in a sentence; of more, the others by their number."""
    left = len(names) - MOST_NAMED
    shown = [*map(code, names if left <= 0 else names[:MOST_NAMED])]
    *others, last = [*shown, *([Markup("{} more").format(left)] if left > 0 else [])]
    return Markup("{} and {}").format(Markup(", ").join(others), last) if others else last


def code(name: str) -> Markup:
    """The name of a backbone in a sentence."""
    return Markup("<code>{}</code>").format(name)


def compared_on(ranking: Ranking) -> str:
    """What both backbones of a pair are compared on."""
    return "episodes" if ranking.of_episodes else "test images"
