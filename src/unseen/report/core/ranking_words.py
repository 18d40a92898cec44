"""What a ranking is by, in words."""

from collections.abc import Mapping

from unseen.analyses.core.rankings import Ranking
from unseen.report.core.metric_words import metric_words
from unseen.text.words import joined

MOST_SETS = 4
"""Data sets that a sentence names."""


def by_text(ranking: Ranking, titles: Mapping[str, str]) -> str:
    """What backbones are ranked by: `mean top-1 accuracy over 3 data sets (DTD, Pets and Cars)`."""
    metrics = dict.fromkeys(metric_words(ranking.metrics[name].name) for name in ranking.by)
    metric = next(iter(metrics)) if len(metrics) == 1 else "score"
    names = [titles.get(name, name) for name in ranking.by]
    if len(names) == 1:
        return f"{metric} on {names[0]}"
    which = f" ({joined(names)})" if len(names) <= MOST_SETS else ""
    return f"mean {metric} over {len(names)} data sets{which}"
