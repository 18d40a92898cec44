"""Classes that only test images of a data set have, and what a reader is told of them."""

from collections import Counter
from collections.abc import Iterator, Mapping

from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import names_of
from unseen.runs.notices import Notice, notice
from unseen.studies.probed_features import ProbedFeatures


def untrained_classes(opened: OpenDataset) -> Mapping[str, int]:
    """Class → its test images, for the classes of a data set with gaps that no other images have."""
    if not opened.dataset.gaps:
        return {}
    labels = [
        (entry.label, split) for entry, split in zip(opened.manifest.entries, opened.manifest.splits, strict=True)
    ]
    trained = {label for label, split in labels if split != "test"}
    return dict(sorted(Counter(label for label, _ in labels if label not in trained).items()))


def gap_notices(opened: OpenDataset) -> Iterator[Notice]:
    """A notice about the classes of a data set that only test images have, if there are any."""
    yield from _notices(opened.name, opened.dataset.title, untrained_classes(opened), opened.rows["test"])


def gaps_of_features(features: ProbedFeatures, title: str) -> Iterator[Notice]:
    """The same from features."""
    counts, names = features.counts, features.names
    only = {names[number]: counts.test[number] for number in features.untrained} if counts and names else {}
    yield from _notices(features.dataset, title, only, features.rows.get("test", 0))


def _notices(name: str, title: str, classes: Mapping[str, int], images: int) -> Iterator[Notice]:
    if classes:
        shown = sum(classes.values())
        yield notice("classes-only-tested", name, title=title, classes=names_of([*classes]), images=shown, of=images)
