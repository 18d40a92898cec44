"""Several sources of images combined into one, such as separate training and validation images."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from unseen.data.core.entries import EntryTable
from unseen.data.core.source import Image, ImageSource


@dataclass(frozen=True, eq=False)
class JoinedImages:
    """The images of several sources, one source after another.

    Attributes:
        starts: index of the first image of each source.
    """

    parts: tuple[ImageSource, ...]
    starts: tuple[int, ...]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> Image:
        part = bisect_right(self.starts, number) - 1
        return self.parts[part].read(number - self.starts[part])


def joined_images(parts: Mapping[str, ImageSource], called: Callable[[str], str] = str) -> JoinedImages:
    """Named sources combined into one; ids are prefixed by the name (`train/…`), since sources may share ids.

    Args:
        called: maps the source's name of a class to the name to use.
    """
    rows = ((f"{name}/{entry.id}", called(entry.label)) for name, source in parts.items() for entry in source.entries)
    lengths = [len(source.entries) for source in parts.values()]
    about = {f"{label} of {name}": text for name, source in parts.items() for label, text in source.about.items()}
    starts = tuple(accumulate(lengths[:-1], initial=0))
    return JoinedImages(tuple(parts.values()), starts, EntryTable.of(rows, " and ".join(parts)), about)
