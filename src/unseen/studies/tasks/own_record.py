"""The entries of a run about the user's own data sets: hashes of their content, citations, and notices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from unseen.runs.notices import Notice, notice
from unseen.runs.setup import ImagesUsed


class OwnDataset(Protocol):
    """The common fields of data sets with classes and with boxes or maps.

    Attributes:
        content: hash of the content; empty for data sets that are not the user's own.
        shared: number of test images that are also training images.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def citation(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def shared(self) -> int: ...
    @property
    def counts(self) -> Mapping[str, int]: ...


def own_images(datasets: Iterable[OwnDataset]) -> list[ImagesUsed]:
    """The images by data set and split; a run refuses other content under the same name."""
    return [
        ImagesUsed(each.name, split, images=count, hash=each.content)
        for each in datasets
        if each.content
        for split, count in each.counts.items()
    ]


def own_citations(datasets: Iterable[OwnDataset]) -> dict[str, str]:
    """Lines of provenance."""
    return {f"citation of {each.name}": each.citation for each in datasets if each.content and each.citation}


def own_notices(datasets: Iterable[OwnDataset]) -> Sequence[Notice]:
    """Notices for the reader."""
    return [
        notice("test-in-training", each.name, title=each.title, images=each.shared, of=each.counts["test"])
        for each in datasets
        if each.shared
    ]
