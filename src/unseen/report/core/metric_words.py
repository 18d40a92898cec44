"""The words for metrics and probes on pages, where results have short codes such as top1 or ece."""

from collections.abc import Mapping

from unseen.papers.dense_settings import METRIC_TITLES, PROBE_TITLES
from unseen.papers.image_settings import TITLES

TRAINED_ON = "†"
"""The mark of a score on a data set that is among the training data of the backbone."""
METRICS: Mapping[str, str] = {
    "top1": "top-1 accuracy",
    "top5": "top-5 accuracy",
    "mean-per-class": "mean per-class accuracy",
    "map-11-point": "11-point mean average precision",
    "ece": "expected calibration error",
    "scaled-ece": "expected calibration error after temperature scaling",
    "effective-robustness": "effective robustness",
    "purity": "cluster purity",
    "ami": "adjusted mutual information",
    "nmi": "normalized mutual information",
    "ari": "adjusted Rand index",
    **METRIC_TITLES,
    **{name: title[:1].lower() + title[1:] for name, title in TITLES.items()},
}
PROBES: Mapping[str, str] = {
    "logistic": "linear probe (SGD)",
    "linear": "linear probe (optimum)",
    "centroids": "nearest centroid, few-shot episodes",
    "knn": "k nearest neighbours",
    "mlp": "MLP",
    "ridge": "ridge regression",
    "kmeans": "k-means clusters",
    "geometry": "alignment and uniformity",
    "fine-tuned": "fine-tuning",
    **PROBE_TITLES,
}


def metric_words(name: str) -> str:
    """What a page calls a metric; metrics of the user's own keep their names."""
    return METRICS.get(name, name)


def probe_words(name: str) -> str:
    """What a page calls a probe; probes of the user's own keep their names."""
    return PROBES.get(name, name)
