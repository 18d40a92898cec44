"""The settings of dense tasks: what was trained on boxes or maps, and the metric of its score.

Ericsson et al. 2021 train detectors and map heads (Tables 4 and 5); probes on patch features are ours and have no
published numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from unseen.metrics.catalogue import METRICS
from unseen.papers.image_settings import IMAGE_SETTINGS
from unseen.probes.by_name import patch_probes


@dataclass(frozen=True)
class Trained:
    """One of the paper's dense settings.

    Attributes:
        printed: its name in `published("ericsson-2021")`.
        protocol: its name among our protocols.
        domain: the data set.
        caution: what a reader must know about the printed numbers.
    """

    printed: str
    protocol: str
    domain: str
    caution: str = ""


_AP = "AP is the paper's here: the mean of 11-point VOC AP over IoU 0.50, 0.55 … 0.95, not COCO's."
TRAINED: Mapping[str, Trained] = {
    "detector-frozen": Trained(
        "detection-frozen", "ericsson-2021-detection-frozen", "voc-detection", _AP
    ),
    "detector-finetuned": Trained(
        "detection-finetune", "ericsson-2021-detection-finetuned", "voc-detection", _AP
    ),
    "psp": Trained("normals", "ericsson-2021-normals", "nyuv2-normals"),
    "upernet": Trained(
        "segmentation", "ericsson-2021-segmentation", "ade20k",
        "Read the published rows with caution: the authors' public code does not load checkpoints of the usual "
        "ResNet-50, so that it did not give these numbers as it stands, and its own ResNet-50 with UPerNet reports "
        "40.4% mIoU and 79.8% of pixels where the paper's supervised model has 25.6% and 61.8%. A correct training "
        "is expected well above them.",
    ),
}  # fmt: skip
"""Settings by probe, in the paper's order."""
PATCH_PROBES = tuple(patch_probes())
PRINTED_METRICS = {"AP": "ap", "AP50": "ap50", "AP75": "ap75", "mean": "angle-mean", "median": "angle-median"}
"""The paper's name of a metric, if it differs from ours."""
HEADLINES = ("ap50", "within-11.25", "miou", "delta1")
"""The metric of each kind of labels that is correlated: the first three are in the paper's Fig. 1."""
RANKED = ("ap50", "angle-mean", "miou", "delta1")
"""The metric that models are ranked by: the first three are in the paper's Fig. 7."""
PROBE_TITLES = {
    "detector-frozen": "Detection, frozen",
    "detector-finetuned": "Detection, fine-tuned",
    "psp": "Surface normals",
    "upernet": "Segmentation",
    "detector-frozen-extended": "Detection, frozen, beyond the paper",
    "detector-finetuned-extended": "Detection, fine-tuned, beyond the paper",
    "psp-extended": "Surface normals, beyond the paper",
    "upernet-extended": "Segmentation, beyond the paper",
    **{name: probe.label for name, probe in patch_probes().items()},
}
METRIC_TITLES = {
    "ap": "AP",
    "ap50": "AP50",
    "ap75": "AP75",
    "coco-ap": "COCO AP",
    "coco-ap50": "COCO AP50",
    "coco-ap75": "COCO AP75",
    "angle-mean": "mean angle",
    "angle-median": "median angle",
    "within-11.25": "within 11.25°",
    "within-22.5": "within 22.5°",
    "within-30": "within 30°",
    "miou": "mIoU",
    "pixel-accuracy": "pixel accuracy",
    "depth-rmse": "RMSE",
    "delta1": "δ₁",
}
DENSE_SETTINGS: Mapping[str, tuple[str, str]] = {
    f"{probe}-{metric}": (probe, metric) for probe in PROBE_TITLES for metric in METRIC_TITLES
}
"""Setting → probe and metric; scores of different metrics are never averaged."""
UNITS = {"share": "%", "degrees": "°", "metres": "m"}


def dense_title(setting: str) -> str:
    """Title of a dense setting on a page."""
    probe, metric = DENSE_SETTINGS[setting]
    return f"{PROBE_TITLES[probe]}: {METRIC_TITLES[metric]}"


def is_headline(setting: str) -> bool:
    """Whether a setting is correlated with all others and plotted.

    Among the dense settings these are the main metrics; analyses of images are only compared with ImageNet.
    """
    if setting in IMAGE_SETTINGS:
        return False
    return setting not in DENSE_SETTINGS or DENSE_SETTINGS[setting][1] in HEADLINES


def is_ranked(setting: str) -> bool:
    """Whether a dense setting is a spoke of a radar chart of ranks, as in the paper's Fig. 7."""
    return DENSE_SETTINGS[setting][1] in RANKED


def column_title(metric: str) -> str:
    """A metric with its unit, as a column heading."""
    return f"{METRIC_TITLES[metric]} ({UNITS[METRICS[metric].unit]})"


def column_text(metric: str, value: float) -> str:
    """A value under such a heading: shares in percent."""
    return f"{100 * value:.2f}" if METRICS[metric].unit == "share" else f"{value:.2f}"


def text_with_unit(metric: str, value: float) -> str:
    """A value with its unit."""
    return f"{column_text(metric, value)}{' ' if METRICS[metric].unit == 'metres' else ''}{UNITS[METRICS[metric].unit]}"
