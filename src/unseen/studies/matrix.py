"""Which probes of a study are fitted to which of its data sets."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from unseen.data.core.dataset import Target
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import ALL, SPLIT_WORDS
from unseen.errors import UserError, option
from unseen.probes.probe import Probe
from unseen.runs.notices import Notice, notice
from unseen.studies.class_gaps import untrained_classes
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probes import StudyProbe
from unseen.text.words import joined

DRAWING = ("vectors", "patches")
"""Inputs of probes that are fitted to a number of samples per class."""
LABELS: dict[Target, str] = {
    "class": "one class per image",
    "classes": "several classes per image",
    "map": "maps of classes",
    "normals": "surface normals",
    "depth": "depth maps",
    "boxes": "boxes",
    "ranking": "queries for retrieval",
    "none": "single images",
}


def takes(probe: Probe, data: StudyData) -> bool:
    """Whether a probe can be fitted to a data set."""
    return not why_not(probe, data)


def why_not(probe: Probe, data: StudyData) -> str:
    """Why a probe cannot be fitted to a data set; empty if it can."""
    if probe.unlabelled:
        return ""
    if not probe.takes_target(data.dataset.target):
        wanted = " or ".join(LABELS[target] for target in probe.targets if probe.takes_target(target))
        return f"{probe.name} takes {wanted}, not {LABELS[data.dataset.target]}"
    if probe.input == "outputs" and data.is_test_set:
        return ""
    if not probe.takes_gaps and data.opened is not None and untrained_classes(data.opened):
        return needs_every_class(probe)
    lacking = [split for split in probe.needed_splits if split not in splits_in(data)]
    return f"{probe.name} needs {joined([SPLIT_WORDS[each] for each in lacking])} images" if lacking else ""


def splits_in(data: StudyData) -> Sequence[str]:
    """The splits of a data set."""
    if data.opened is not None:
        return [*data.opened.rows]
    if data.dataset.test is None:
        return [ALL]
    if data.dataset.target == "ranking":
        return ["train", "test"]
    return ["train", "val", "test"]


def refuse_unused(probes: Iterable[Probe], opened: OpenedData) -> None:
    """Refuse a data set that the user named and that no probe can be fitted to."""
    every = list(probes)
    for data in opened.data:
        reasons = [why_not(probe, data) for probe in every]
        if all(reasons) and (opened.named or not taken(every, opened)):
            raise UserError(f"{data.name}: {'; '.join(reasons)}; unseen ls probes lists what each probe takes")


def unfitted(probes: Iterable[Probe], opened: OpenedData) -> Iterator[Notice]:
    """Notices about probes that take the labels of a data set but not its images, where other probes are fitted.

    That a split is lacking is told only of data sets that the user named.
    """
    every = list(probes)
    for data in opened.data:
        if data.is_test_set or not any(takes(probe, data) for probe in every):
            continue
        for probe in every:
            reason = why_not(probe, data)
            gaps = reason == needs_every_class(probe)
            if reason and probe.takes_target(data.dataset.target) and (gaps or opened.named):
                yield not_fitted(data.name, data.dataset.title, reason)


def not_fitted(name: str, title: str, reason: str) -> Notice:
    """A notice about a probe that a data set is left out of."""
    return notice("not-fitted", name, title=title, reason=reason)


def needs_every_class(probe: Probe) -> str:
    """Why a probe cannot be fitted where only test images have some class."""
    return f"{probe.name} needs training images of every class"


def refuse_shots_of_several(probes: Iterable[StudyProbe], opened: OpenedData) -> None:
    """Refuse numbers of samples per class for data sets whose images have several classes: none can be drawn so."""
    several = [each for each in opened.data if each.dataset.target == "classes"]
    for each in probes:
        numbers = [str(number) for number in each.numbers if number is not None]
        data = next((data for data in several if takes(each.probe, data)), None)
        if each.probe.input in DRAWING and numbers and data is not None:
            raise UserError(
                f"{data.name}: its images have several classes, and shots ({joined(numbers)}) are for one class per "
                f"image; use all for {each.probe.name} ({option('shots', 'all')}), or leave out {data.name}"
            )


def taken(probes: Iterable[Probe], opened: OpenedData) -> list[StudyData]:
    """The data sets that at least one of some probes is fitted to, in order."""
    every = list(probes)
    return [each for each in opened.data if any(takes(probe, each) for probe in every)]


def as_test_set(data: StudyData) -> OpenDataset:
    """The test images of a data set, as classifiers are scored on them; a test set as it is."""
    if data.is_test_set:
        return data.images
    source, manifest = data.images.part("test")
    places = [place for place, split in enumerate(manifest.splits) if split == "test"]
    dataset = replace(data.dataset, shifted=False, counts={"test": len(places)})
    entries = [manifest.entries[place] for place in places]
    return OpenDataset(dataset, source, Manifest(entries, [dataset.split] * len(entries), manifest.limit))
