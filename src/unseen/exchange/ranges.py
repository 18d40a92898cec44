"""Facts of a record that no measurement can have: numbers out of range, names that are not plain text, false dates."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from unseen.exchange.record import ResultRecord
from unseen.text.plain import ACTING

MOST_CLASSES = 10**8
MOST_DIMENSIONS = 10**8
MOST_PARAMETERS = 10**14
MOST_PIXELS = 10**5
MOST_IMAGES = 10**13
LARGEST_SIMILARITY = 1e6
"""Far beyond what any data set, backbone or measure of similarity has."""
MOST_SHOWN = 1e300
"""Whole numbers may have any number of digits."""
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?")


def range_errors(record: ResultRecord) -> Iterator[str]:
    """A sentence for each fact that is out of range."""
    yield from _names(record)
    for name, (value, least, most) in _numbers(record).items():
        if value is not None and not least <= value <= most:
            shown = f"{value:g}" if abs(value) < MOST_SHOWN else f"beyond {MOST_SHOWN:g}"
            wanted = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            yield f"{name} is {shown}, but must be {wanted}"
    data = record.data
    images, several = sum(data.images.values()), any(score.metric.startswith("map") for score in record.scores)
    if data.classes is not None and data.images and not several and MOST_CLASSES >= data.classes > images >= 0:
        yield f"the data have {data.classes:,} classes, but only {images:,} images"
    transform = record.backbone.preprocessing
    if transform is not None and not all(value > 0 and math.isfinite(value) for value in transform.std):
        yield "preprocessing divides by numbers that are not positive (std)"
    yield from _dates(record)


def _names(record: ResultRecord) -> Iterator[str]:
    data, backbone = record.data, record.backbone
    names = {
        "backbone": backbone.name, "id": backbone.id or "", "category": backbone.category, "data": data.name,
        "title of the data": data.title, "protocol": record.protocol,
        **{f"probe of score {number}": score.probe for number, score in enumerate(record.scores, 1)},
        **{f"metric of score {number}": score.metric for number, score in enumerate(record.scores, 1)},
    }  # fmt: skip
    for what, name in names.items():
        if ACTING.search(name) or "\n" in name or "\t" in name:
            yield f"the {what} is {name[:80]!a}, which is not plain text in one line"


def _numbers(record: ResultRecord) -> Mapping[str, tuple[float | None, float, float]]:
    """Fact → its value, and the least and the greatest possible one."""
    data, backbone, splits, transform = record.data, record.backbone, record.data.splits, record.backbone.preprocessing
    return {
        "classes": (data.classes, 1, MOST_CLASSES),
        "limit": (data.limit, 1, math.inf),
        "similarity": (data.similarity, -LARGEST_SIMILARITY, LARGEST_SIMILARITY),
        "dimension": (backbone.dimension, 1, MOST_DIMENSIONS),
        "parameters": (backbone.parameters, 0, MOST_PARAMETERS),
        "imagenet_top1": (backbone.imagenet_top1, 0, 1),
        "size of preprocessing": (transform.size if transform else None, 1, MOST_PIXELS),
        "resize of preprocessing": (transform.resize if transform else None, 1, MOST_PIXELS),
        "seed of splits": (splits.seed if splits else None, 0, math.inf),
        "test of splits": (splits.test if splits else None, 0, math.inf),
        "max_train of splits": (splits.max_train if splits else None, 1, math.inf),
        "seconds": (record.made.seconds, 0, math.inf),
        **{f"number of images for {split}": (number, 0, MOST_IMAGES) for split, number in data.images.items()},
        **{f"number of images in the source of {each.split}": (each.images, 0, MOST_IMAGES) for each in data.sources},
    }


def _dates(record: ResultRecord) -> Iterator[str]:
    times = []
    for name, text in (("first", record.made.first), ("last", record.made.last)):
        if not text:
            continue
        try:
            if not DATE.fullmatch(text):
                raise ValueError
            time = datetime.fromisoformat(text)
        except ValueError:
            yield f"made, {name} is {text[:40]!a}, which is no date in ISO 8601, such as 2026-01-31T12:00:00Z"
            continue
        times.append(time.replace(tzinfo=None) - (time.utcoffset() or _NONE))
    if len(times) == 2 and times[0] > times[1]:
        yield f"made, first is {record.made.first}, after last, {record.made.last}"


_NONE = datetime.min - datetime.min
