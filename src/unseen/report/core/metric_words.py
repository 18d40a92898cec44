"""The words for metrics and probes on pages, where results have short codes such as top1 or ece."""

from collections.abc import Mapping

from unseen.metrics.catalogue import DIFFICULTIES, FIRST_RANKS
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
    "map-at-r": "MAP@R",
    "recall-at-1": "recall@1",
    "map": "mean average precision",
    **{f"map-{level}": f"mean average precision, {level}" for level in DIFFICULTIES},
    **{f"precision-at-{k}-{level}": f"precision@{k}, {level}" for k in FIRST_RANKS for level in DIFFICULTIES},
    "rankme": "RankMe",
    "alpha-req": "α-ReQ exponent",
    "participation-ratio": "participation ratio",
    "two-nn-dimension": "TwoNN dimension",
    **METRIC_TITLES,
    **{name: title[:1].lower() + title[1:] for name, title in TITLES.items()},
}
PROBES: Mapping[str, str] = {
    "logistic": "linear probe (SGD)",
    "linear": "linear probe (optimum)",
    "dinov2-linear": "linear probe (DINOv2)",
    "centroids": "nearest centroid, few-shot episodes",
    "knn": "k nearest neighbours",
    "mlp": "MLP",
    "ridge": "ridge regression",
    "kmeans": "k-means clusters",
    "geometry": "alignment and uniformity",
    "spectrum": "spectrum without labels",
    "fine-tuned": "fine-tuning",
    "retrieval": "retrieval by cosine similarity",
    **PROBE_TITLES,
}


def metric_words(name: str) -> str:
    """What a page calls a metric; metrics of the user's own keep their names."""
    return METRICS.get(name, name)


def probe_words(name: str) -> str:
    """What a page calls a probe; probes of the user's own keep their names."""
    return PROBES.get(name, name)
