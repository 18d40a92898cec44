"""Contradictions within a record: what can be computed from its other numbers, and differs.

- Settings are those of the named protocol.
- The mean, the standard deviation and the interval over seeds are those of the values; the interval over test images is
  Wilson's; the interval over episodes is centred on the value, and that over concepts contains it.
- A top-1 or top-5 accuracy is a number of correct images divided by the number of test images.
- Some class has as many training images as there are shots.

The ends of intervals over concepts depend on the accuracy on each concept, which a results file does not contain.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isclose

import numpy as np

from unseen.exchange.export import over_images
from unseen.exchange.named_protocols import deviations, matching_names, named
from unseen.exchange.ranges import MOST_IMAGES
from unseen.exchange.record import Interval95, ResultRecord, ScoreFacts
from unseen.metrics.catalogue import Metric
from unseen.probes.by_name import all_probes
from unseen.runs.setup import Setting
from unseen.runs.tables import nearly_bootstrap_interval

ROUNDING = 1e-9
SINGLE_PRECISION = 1e-7
"""Rounding of an accuracy that was computed in 32 bits."""
LARGE = 1e150
"""Numbers above this are scaled before sums and squares."""
COUNTED = ("top1", "top5")
EPISODES = "centroids"
"""The probe whose accuracies are means over episodes, for which images are drawn from several splits."""


def setting_contradictions(probe: str, protocol: str, settings: Mapping[str, Setting]) -> Iterator[str]:
    """A sentence if settings are not those of the protocol that they are said to be."""
    known = named(probe, protocol)
    wrong = [*deviations(known, settings)] if known else []
    if wrong:
        values = ", ".join(f"{name} is {_given(value, right)}, not {_text(right)}" for name, value, right in wrong[:3])
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        same = next(matching_names(probe, settings), None)
        yield (
            f"the settings of {probe} are not those of {protocol}: {values}{more}"
            f"{f' (they are those of {same})' if same else ''}"
        )


def score_contradictions(score: ScoreFacts, metric: Metric | None, record: ResultRecord) -> Iterator[str]:
    """Clauses about a score whose numbers cannot all be right."""
    if not score.values or len(score.values) != len(score.seeds) or len({*score.seeds}) < len(score.seeds):
        yield f"has {len(score.values)} values for {len({*score.seeds})} seeds"
        return
    if min(score.seeds) < 0:
        yield "has a negative seed"
    if score.shots is not None and score.shots < 1:
        yield "has shots below 1"
    elif score.shots is not None and score.probe != EPISODES and score.shots > _most_per_class(record):
        yield f"has {score.shots} shots, but no class can have as many of the training images"
    if metric and any(not metric.allows(value, ROUNDING) for value in (score.value, *score.values)):
        wrong = next(value for value in (score.value, *score.values) if not metric.allows(value, ROUNDING))
        yield f"is {wrong:g}, but its range is {metric.range}"
        return
    with np.errstate(all="ignore"):  # a metric without bounds may have values whose squares overflow
        yield from _spread(score)
        yield from _intervals(score, record)
    yield from _counts(score, record)


def _spread(score: ScoreFacts) -> Iterator[str]:
    values = np.asarray(score.values, dtype=np.float64)
    # Sums and squares of the largest numbers overflow, but not those of their shares of the largest one.
    unit = max(1.0, float(np.abs(values).max())) if np.abs(values).max() > LARGE else 1.0
    mean = unit * float(np.mean(values / unit))
    if not _same(mean, score.value):
        yield f"is {score.value:g}, but the mean of its values is {mean:g}"
    several = len(score.values) > 1
    deviation = unit * float(np.std(values / unit, ddof=1)) if several else None
    if deviation is None and score.deviation is not None:
        yield "has a standard deviation, but only one value"
    elif deviation is not None and (score.deviation is None or not _same(deviation, score.deviation)):
        given = "none" if score.deviation is None else f"{score.deviation:g}"
        yield f"has the standard deviation {given}, but that of its values is {deviation:g}"


def _intervals(score: ScoreFacts, record: ResultRecord) -> Iterator[str]:
    for each in score.intervals:
        if each.low > each.high:
            yield f"has an interval over {each.over} with its lower end above its upper end"
            continue
        if each.over == "images" and not 0 <= score.values[0] <= 1:
            yield f"is {score.values[0]:g}, which is no share of images, but has an interval over images"
            continue
        expected = _expected(each, score, record)
        if expected and not (_same(each.low, expected[0]) and _same(each.high, expected[1])):
            yield (
                f"has the interval {each.low:g} to {each.high:g} over {each.over}, but that of its values is "
                f"{expected[0]:g} to {expected[1]:g}"
            )
        if each.over == "episodes" and not _same((each.low + each.high) / 2, score.value):
            yield f"is {score.value:g}, but its interval over episodes is centred on {(each.low + each.high) / 2:g}"
        if each.over == "concepts" and not each.low - ROUNDING <= score.value <= each.high + ROUNDING:
            yield f"is {score.value:g}, but its interval over concepts is {each.low:g} to {each.high:g}"


def _expected(interval: Interval95, score: ScoreFacts, record: ResultRecord) -> tuple[float, float] | None:
    images = record.data.images.get("test", 0)
    if interval.over == "seeds" and len(score.values) > 1:
        return nearly_bootstrap_interval(score.values)
    if interval.over == "images" and 0 < images <= MOST_IMAGES:
        wilson = over_images(score.values[0], images)
        return wilson.low, wilson.high
    return None


def _counts(score: ScoreFacts, record: ResultRecord) -> Iterator[str]:
    images = record.data.images.get("test", 0)
    if not 1 <= images <= MOST_IMAGES or not _is_counted(score, record):
        return
    for value in score.values:
        correct = round(value * images)
        if abs(value - correct / images) > max(_printed_rounding(value), SINGLE_PRECISION):
            yield f"is {value:.10g}, which is no number of correct images out of {images:,}"
            return


def _is_counted(score: ScoreFacts, record: ResultRecord) -> bool:
    """Whether a score is a share of the test images; the user's own probes may compute theirs in any way."""
    if score.metric not in COUNTED or "code" in record.settings.get(score.probe, {}):
        return False
    probe = next((name for name in all_probes() if score.probe == name or score.probe.startswith(f"{name}-")), None)
    return probe not in (None, EPISODES)


def _printed_rounding(value: float) -> float:
    """Half a unit of the last digit with which a number is printed."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)


def _most_per_class(record: ResultRecord) -> float:
    """The largest possible number of training images of a class, if every class has at least one."""
    images = {split: number for split, number in record.data.images.items() if split != "test"}
    if not images:
        return float("inf")
    return sum(images.values()) - ((record.data.classes or 1) - 1)


def _same(first: float, second: float) -> bool:
    return isclose(first, second, abs_tol=ROUNDING, rel_tol=ROUNDING)


def _given(value: Setting, right: Setting) -> str:
    """A wrong setting; text is called so if another type is expected."""
    return f"the text {_text(value)}" if isinstance(value, str) and not isinstance(right, str) else _text(value)


def _text(value: Setting) -> str:
    """A setting as it is written in a results file."""
    return json.dumps(value, ensure_ascii=False)
