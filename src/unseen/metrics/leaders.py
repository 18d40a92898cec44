"""Whether the highest of several accuracies is higher than the others beyond chance.

The rule for every bold number and every "highest" in tables of accuracies: pages show 113 of 150 correct images beside
112 of 150 without a winner.
"""

from collections.abc import Mapping
from math import hypot

from unseen.metrics.resampling import Interval

RULE = "the 95% interval of its difference from every other score of the column excludes 0"
"""The rule of `clear_leader` in the words of a page."""
METHOD = (
    "the paired comparison of backbones whose results keep which test images are right, and else Newcombe's interval "
    "from the number of test images, which is conservative"
)
"""How this interval is computed, in the words of a page."""


def clear_leader(accuracies: Mapping[str, float], images: int | None) -> str | None:
    """The name with the highest accuracy, if the 95% interval of its difference from every other excludes 0.

    Only the second highest has to be compared: the intervals of all lower ones are farther from 0. If all are equally
    accurate, a leader is found in at most about 5% of cases, for two or for many names: two equal ones are the worst
    case (Gutmann and Maymin 1987).

    Args:
        accuracies: shares of the same test images that are classified correctly.
        images: number of these images; None if it is not known, and then there is no leader.
    """
    if images is None or len(accuracies) < 2:
        return None
    first, second = sorted(accuracies, key=accuracies.__getitem__, reverse=True)[:2]
    found = difference_interval(accuracies[first], accuracies[second], images)
    return first if found.low > 0 else None


def difference_interval(first: float, second: float, images: int, level: float = 0.95) -> Interval:
    """The difference of two accuracies on equally many images, with Newcombe's interval from the two Wilson intervals.

    With Wilson's intervals [l₁, u₁] and [l₂, u₂], the ends are d − √((p₁ − l₁)² + (u₂ − p₂)²) and d + √((u₁ − p₁)² +
    (p₂ − l₂)²) (Newcombe 1998, method 10). It is for independent samples of images. Of the same images, models usually
    classify the same ones correctly; then the interval is too wide, and the comparison is conservative.

    Args:
        first, second: shares; a share printed with few digits is taken as the nearest whole number of images.
    """
    from scipy.stats import binomtest

    counts = [round(share * images) for share in (first, second)]
    p, q = (count / images for count in counts)
    of_p, of_q = (binomtest(count, images).proportion_ci(level, method="wilson") for count in counts)
    below, above = hypot(p - of_p.low, of_q.high - q), hypot(of_p.high - p, q - of_q.low)
    return Interval(p - q, p - q - below, p - q + above)
