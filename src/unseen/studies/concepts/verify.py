"""Check whether a study of a published backbone reproduces its published numbers."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.images.domains import SEEN
from unseen.papers import published
from unseen.runs.data import RunData
from unseen.runs.tables import score_table, summarise

if TYPE_CHECKING:
    import pandas as pd

BACKBONE = "torchvision:resnet50.IMAGENET1K_V1"
MODEL = "ResNet50"
"""Its name in ImageNet-CoG."""
SEEDS = 5
"""Number of seeds of the published means."""
ERRORS = 3.0
"""Largest difference that counts as chance, in standard errors."""
ROUNDING = 0.05
"""Rounding error of published numbers in points: they have one decimal."""
SLACK = 0.25
"""Additional tolerance in points for JPEG decoders, 16-bit features and the order of the search."""


@dataclass(frozen=True)
class Compared:
    """A measured accuracy, the published one, and the tolerance of their difference, in percent."""

    domain: str
    shots: str
    measured: float
    published: float
    tolerance: float

    @property
    def difference(self) -> float:
        return self.measured - self.published

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= self.tolerance


def tolerance(
    published: float, deviations: tuple[float, float], seeds: int, images: int, *, same_images: bool
) -> float:
    """The tolerated difference of two means, in points.

    Three standard errors of their difference, plus rounding and slack. Two independently drawn test sets of n images
    each contribute the variance p(1 − p)/n of an accuracy p; the same test set contributes none. The rest is the
    variance of both means over seeds.

    Args:
        published: accuracy in percent.
        deviations: standard deviations over seeds of the published number and of ours, in points.
        seeds: number of our seeds.
        images: images in a test set.
    """
    share = published / 100
    draws = 0.0 if same_images else 2 * share * (1 - share) / images * 100**2
    return ERRORS * math.sqrt(draws + deviations[0] ** 2 / SEEDS + deviations[1] ** 2 / seeds) + ROUNDING + SLACK


def compare(summary: "pd.DataFrame", printed: "pd.DataFrame", images: Mapping[str, int]) -> list[Compared]:
    """Compare every measured top-1 accuracy of the logistic probe that has a published number.

    Args:
        summary: the result of `summarise` for one backbone.
        printed: the published numbers of `cog-v2`.
        images: number of test images of each domain.
    """
    reference = printed[printed["model"] == MODEL].set_index(["domain", "shots"])
    ours = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic")]
    if ours["backbone"].nunique() > 1:
        raise UserError(f"scores of {', '.join(sorted(set(ours['backbone'])))}; one backbone is compared at a time")
    rows = []
    for row in ours.itertuples(index=False):
        if (row.domain, row.shots) not in reference.index:
            continue
        number = reference.loc[(row.domain, row.shots)]
        mean, deviation = float(number["mean"]), float(number["deviation"])
        allowed = tolerance(
            mean,
            # The deviation of a single seed is unknown: that of the published number is used.
            (deviation, deviation if row.seeds == 1 else 100 * row.deviation),
            row.seeds,
            images[row.domain],
            same_images=row.domain == SEEN,
        )
        rows.append(Compared(row.domain, row.shots, 100 * row.mean, mean, allowed))
    if not rows:
        raise UserError("none of these scores has a published number to compare with")
    return rows


def compare_run(data: RunData, domains: Collection[str]) -> list[Compared]:
    """Compare the accuracies of a run on some of its domains with the published ones."""
    scores = [score for score in data.scores if score.domain in domains]
    images = {each.domain: each.images["test"] for each in data.scored}
    return compare(summarise(score_table(scores)), published("cog-v2"), images)


def verdict(rows: Sequence[Compared]) -> str:
    """A sentence that summarizes the comparison."""
    off = [row for row in rows if not row.agrees]
    if not off:
        return f"All {len(rows)} accuracies agree with the published ones."
    worst = max(off, key=lambda row: abs(row.difference) / row.tolerance)
    return (
        f"{len(off)} of {len(rows)} accuracies differ too much, most of all {worst.domain} with {worst.shots} samples "
        f"per concept: {worst.measured:.1f} instead of the published {worst.published:.1f}."
    )
