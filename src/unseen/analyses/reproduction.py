"""Check whether a study of a published backbone reproduces its published numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unseen.data.concepts.domains import SEEN
from unseen.errors import UserError
from unseen.papers import published
from unseen.probes.by_name.logistic import Logistic
from unseen.runs.comparability_words import refuse_other_data
from unseen.runs.data import RunData
from unseen.runs.tables import score_table, summarise

if TYPE_CHECKING:
    import pandas as pd

BACKBONE = "torchvision:resnet50.IMAGENET1K_V1"
PROTOCOL = "cog-v2"
"""The levels and the protocol of the published numbers."""
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


def compare_run(data: RunData, name: str = "the run") -> list[Compared]:
    """Compare the accuracies of the paper's ResNet-50 in a run with the published ones.

    A run of another backbone, of other levels or images, or by another protocol is refused.

    Args:
        name: name of the run, for errors.
    """
    if data.published != PROTOCOL:
        raise UserError(f"{name}: not a run of the levels {PROTOCOL}, whose published numbers runs are compared with")
    ids = {
        each.name: each.features.backbone.id if each.features and each.features.backbone else None
        for each in data.backbones
    }
    [backbone] = [each for each, id_ in ids.items() if (id_ or each) == BACKBONE][:1] or [""]
    if not backbone:
        raise UserError(
            f"{name}: a run of {', '.join(ids)}; only runs of {BACKBONE} are compared with published numbers. To check "
            "its results, export them (unseen export) and check the file"
        )
    other = next((each.name for each in data.protocols if each.probe == Logistic.name and each.name != PROTOCOL), None)
    if other is not None:
        raise UserError(f"{name}: a run by the protocol {other}; the published numbers are by {PROTOCOL}")
    refuse_other_data(name, data)
    scores = [score for score in data.scores if score.backbone == backbone]
    images = {each.domain: each.images["test"] for each in data.scored if each.backbone == backbone}
    return compare(summarise(score_table(scores)), published(PROTOCOL), images)


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
