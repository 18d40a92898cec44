"""A check of a user's own data set before it is used: its contents, and everything that is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import ImageSource
from unseen.data.own.contents import SharedImages, empty_images
from unseen.data.own.description import Description
from unseen.errors import UserError, names_of

GET = "it is your own"


@dataclass(frozen=True, eq=False)
class Survey:
    """The result of checking a data set.

    Attributes:
        opened: the data set, ready for use; None if something is wrong with it.
        images: split → number of images.
        counts: split → class → images, for all classes in order; empty for boxes and maps.
        missing: images or labels whose files are missing or empty, and images that are pointers of Git LFS.
        shared: images that occur in two splits.
        problems: sentences on what is wrong; a data set with any is refused.
    """

    description: Description
    opened: OpenDataset | None
    images: Mapping[str, int]
    counts: Mapping[str, Mapping[str, int]]
    missing: Sequence[str]
    shared: Sequence[SharedImages]
    problems: Sequence[str]

    def checked(self) -> OpenDataset:
        """The opened data set; a faulty one is refused with all its problems."""
        if self.opened is None:
            raise UserError(f"{self.description.place}: {'; '.join(self.problems)}")
        return self.opened


def missing_problem(missing: Sequence[str], files: int, what: str = "image files", advice: str = "") -> list[str]:
    """A sentence on missing files, if there are any.

    Args:
        files: number of all files, missing ones included.
        advice: clause to add if more than half of the files are missing.
    """
    if not missing:
        return []
    more = advice if len(missing) > files / 2 else ""
    return [f"{len(missing):,} of {files:,} {what} are missing or empty: {names_of(missing)}{more}"]


def without_content(
    source: ImageSource, numbers: Sequence[int], hashes: Mapping[int, bytes]
) -> tuple[list[str], list[str]]:
    """The ids of images that were read and have no content, and sentences on them.

    Args:
        numbers: of the images that were read.
        hashes: those of their contents, by number.
    """
    empty, pointers = empty_images(source, (number for number in numbers if number not in hashes))
    sentences = missing_problem(empty, len(numbers), "images")
    if pointers:
        what = f"{len(pointers):,} of {len(numbers):,} images are Git LFS pointers instead of images"
        sentences.append(f"{what}: {names_of(pointers)}; get the files with: git lfs pull")
    return [*empty, *pointers], sentences


def leaked(description: Description, shared: Sequence[SharedImages]) -> list[str]:
    """Sentences on test images that are also training or validation images, unless that is allowed."""
    sentences = [each.sentence for each in shared if each.second == "test" and each.pairs]
    if not sentences or description.table.allow_duplicates:
        return []
    return [
        *sentences[:-1],
        f"{sentences[-1]}; remove such images, or allow them in a .toml file (allow_duplicates = true)",
    ]
