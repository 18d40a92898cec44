"""What a run says of a user's own data sets: the hash of their content, their citation, and what was allowed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from unseen.runs.notices import Notice, notice
from unseen.runs.setup import ImagesUsed


class OwnDataset(Protocol):
    """What is said of data sets with classes and of those with boxes or maps alike.

    Attributes:
        content: empty for all but a user's own.
        shared: test images that are among those to learn from too.
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
    """By data set and split; a run refuses to go on with another content under the same name."""
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
    """What a reader must know before the scores."""
    return [
        notice("test-in-training", each.name, title=each.title, images=each.shared, of=each.counts["test"])
        for each in datasets
        if each.shared
    ]
