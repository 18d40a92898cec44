"""The sentences about a ranking, for the page and the terminal."""

from collections.abc import Mapping

from unseen.analyses.core.rankings import Ranking
from unseen.metrics.catalogue import Metric
from unseen.report.core.metric_words import TRAINED_ON, probe_words
from unseen.report.core.rank_figure import Placed
from unseen.report.core.ranking_words import by_text
from unseen.report.leaderboard.rank_parts import leaders_text
from unseen.text.words import counted, joined

MOST_REASONS = 8
"""Backbones without a rank that have their own sentence."""


def title(ranking: Ranking) -> str:
    """The probe and its shots: `k nearest neighbours, 5 samples per class`."""
    shots = "all samples" if ranking.shots is None else f"{counted(ranking.shots, 'sample')} per class"
    return f"{_capital(probe_words(ranking.probe))}, {shots}"


def score_text(metric: Metric, value: float | None) -> str:
    """A score in percent if it is a share, otherwise as a number."""
    if value is None:
        return "–"
    return (
        f"{100 * value:.1f}" if metric.unit == "share" else f"{value:.2f}" if metric.unit != "score" else f"{value:.3f}"
    )


def findings(ranking: Ranking, titles: Mapping[str, str]) -> list[str]:
    """Who is first, as far as it is resolved, and who is not ranked."""
    by, ranked = by_text(ranking, titles), ranking.ranked
    if ranking.basis == "alone":
        first = [f"There is one backbone to rank by {by}, {ranked[0].backbone}."] if ranked else [f"No ranks by {by}."]
    elif ranking.basis == "scores":
        first = [
            f"{ranked[0].backbone} has the best {by}; whether its lead is more than chance is unknown, since results "
            "on some of these data sets keep nothing of single test images."
        ]
    else:
        placed = [Placed(e.backbone, e.rank or 0, e.low, e.high, e.group, "") for e in ranked]
        first = [leaders_text(placed, by)]
    left = ranking.left_out
    told = [f"{each.backbone} is not ranked: {each.reason.rstrip('.')}." for each in left[:MOST_REASONS]]
    more = [f"{len(left) - MOST_REASONS} more are not ranked."] if len(left) > MOST_REASONS else []
    return [*first, *told, *more]


def notes(ranking: Ranking) -> list[str]:
    """Sentences about seeds, and about published models."""
    found = [*ranking.notes]
    if any(each.trained_on for each in ranking.entries):
        found.append(f"{TRAINED_ON} The backbone was trained on this data set: the score is not ranked.")
    if ranking.basis == "pairs" and ranking.fewest_seeds == 1:
        found.append("With one seed, intervals say nothing about what other fits would change.")
    if ranking.axis == "tasks":
        found.append(
            "Published models are not ranked here, since papers do not print results of single images; the page of "
            "unseen report has yours beside them."
        )
    return found


def how_ranked(ranking: Ranking, titles: Mapping[str, str]) -> str:
    """How ranks, intervals and groups are made."""
    lower = "" if ranking.metric.ranks_high else " Lower scores are better."
    by = f"Backbones are ranked by {by_text(ranking, titles)}, {_plain(ranking)}{lower}"
    aside = [titles.get(name, name) for name in ranking.metrics if name not in ranking.by]
    if aside:
        by += f" Not part of it: {joined(aside)}."
    if ranking.basis != "pairs":
        return f"{by} Ranks have no intervals." if ranking.basis == "scores" else by
    texts = [
        by,
        f"Intervals and tie groups are from comparisons of all pairs on the same test images; another study would "
        f"draw other {joined(ranking.units)} and, where there are several, other seeds. An interval has every rank "
        "that these comparisons leave possible, with 95% confidence for each backbone (Holm’s correction over its "
        "pairs). A tie group has the best backbone and all whose difference from it is not resolved; the next group "
        "begins with the best of the others.",
    ]
    if len(ranking.by) > 1:
        texts.append("Ranks hold for these data sets: their choice is not part of the intervals.")
    if len(ranking.by) > 1 and ranking.axis == "shifts":
        texts.append(
            "Test sets may share images, and share the training images, so errors are added as if they were fully "
            "correlated, which can only widen the intervals."
        )
    if any(each.others for each in ranking.ranked):
        texts.append(
            "“Other data sets” has the interval of the rank if these were drawn from many of their kind: it is from "
            f"how much differences vary over the {len(ranking.by)} data sets alone."
        )
    return " ".join(texts)


def _plain(ranking: Ranking) -> str:
    unit = {"share": "in percent", "degrees": "in degrees", "metres": "in metres"}.get(ranking.metric.unit, "as it is")
    return f"{unit}; each data set has the same weight." if len(ranking.by) > 1 else f"{unit}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
