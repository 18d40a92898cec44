"""The sentences about a ranking, for the page and the terminal."""

from collections.abc import Mapping

from markupsafe import Markup

from unseen.analyses.core.rankings import Ranking
from unseen.metrics.catalogue import Metric
from unseen.report.core.metric_words import TRAINED_ON
from unseen.report.core.ranking_words import SAME_IMAGES, by_text, code, compared_on, leaders_sentence, title
from unseen.text.words import joined

MOST_REASONS = 8
"""Backbones without a rank that have their own sentence."""


def score_text(metric: Metric, value: float | None) -> str:
    """A score in percent if it is a share, otherwise as a number."""
    if value is None:
        return "–"
    return (
        f"{100 * value:.1f}" if metric.unit == "share" else f"{value:.2f}" if metric.unit != "score" else f"{value:.3f}"
    )


def leaders(ranking: Ranking, titles: Mapping[str, str]) -> Markup:
    """Who is first, as far as it is resolved."""
    if ranking.basis == "alone":
        by, ranked = by_text(ranking, titles), ranking.ranked
        alone = Markup("there is one backbone to rank by {}, {}").format(by, code(ranked[0].backbone)) if ranked else ""
        return Markup("{}: {}.").format(title(ranking), alone or f"no ranks by {by}")
    sentence = Markup("{}.").format(leaders_sentence(ranking, titles))
    return Markup("{} {}").format(sentence, SAME_IMAGES) if ranking.of_episodes else sentence


def findings(ranking: Ranking, titles: Mapping[str, str]) -> list[str]:
    """Who is first, as far as it is resolved, and who is not ranked."""
    first = [leaders(ranking, titles)]
    if ranking.basis == "scores":
        first.append(Markup("Results on some of these data sets keep nothing of single test images."))
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
        *([SAME_IMAGES] if ranking.of_episodes else []),
        f"Intervals and tie groups are from comparisons of all pairs on the same {compared_on(ranking)}; another study "
        f"would draw other {joined(ranking.units)} and, where there are several, other seeds. An interval has every "
        "rank that these comparisons leave possible, with 95% confidence for each backbone (Holm’s correction over its "
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
