"""Benchmarks that are named sets of data sets, with the means that their papers print.

The shipped study of the same name has the data sets of a suite and a probe.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """A suite.

    Attributes:
        name: that of the shipped study.
        datasets: names of its data sets and levels.
        groups: title of a group → its data sets; empty if the paper has one mean only.
        citation: the paper, and what the study does otherwise, in one sentence each.
        papers: the papers, as data sets name theirs.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    citation: str = ""
    papers: str = ""


def _vtab(*names: str) -> tuple[str, ...]:
    return tuple(f"vtab-1k-{name}" for name in names)


VTAB_GROUPS = {
    "Natural": _vtab("caltech101", "cifar100", "dtd", "flowers", "pets", "svhn", "sun397"),
    "Specialized": _vtab("patch-camelyon", "eurosat", "resisc45", "diabetic-retinopathy"),
    "Structured": _vtab(
        "clevr-count", "clevr-distance", "dmlab", "kitti-distance", "dsprites-location", "dsprites-orientation",
        "smallnorb-azimuth", "smallnorb-elevation",
    ),
}  # fmt: skip
SUITES: Mapping[str, Suite] = {
    each.name: each
    for each in (
        Suite(
            "vtab-1k",
            "VTAB-1k",
            tuple(name for names in VTAB_GROUPS.values() for name in names),
            VTAB_GROUPS,
            "Zhai et al. 2019, A Large-scale Study of Representation Learning with the Visual Task Adaptation "
            "Benchmark. Its own protocol fine-tunes the whole network on images squashed to 224 × 224 pixels: compare "
            "only scores of the same probe and preprocessing.",
            "Zhai et al. 2019, A Large-scale Study of Representation Learning",
        ),
        Suite(
            "unic-15",
            "UNIC",
            (
                *(
                    "l1",
                    "l2",
                    "l3",
                    "l4",
                    "l5",
                    "aircraft",
                    "cars",
                    "dtd",
                    "eurosat-split",
                    "flowers",
                    "pets",
                    "food101",
                ),
                *("sun397", "inaturalist-2018", "inaturalist-2019"),
            ),
            citation="Sariyildiz et al. 2023, No Reason for No Supervision (T-ReX); Sariyildiz et al. 2024, UNIC. The "
            "papers fit the small data sets by scikit-learn, and drew the images of EuroSAT otherwise.",
            papers="Sariyildiz et al. 2023, No Reason for No Supervision; Sariyildiz et al. 2024, UNIC",
        ),
        Suite(
            "dinov2-fine-grained",
            "DINOv2’s table 8",
            (
                *("food101", "cifar10", "cifar100", "sun397", "cars", "aircraft", "voc2007", "dtd", "pets"),
                *("caltech101", "flowers", "cub"),
            ),
            citation="Oquab et al. 2023, DINOv2, table 8, after Kornblith et al. 2019. The paper searches "
            "scikit-learn’s C from 1e-6 to 1e5, the probe here penalties 1/C in that range.",
            papers="Oquab et al. 2023, DINOv2; Kornblith et al. 2019, Do Better ImageNet Models Transfer Better?",
        ),
    )
}
