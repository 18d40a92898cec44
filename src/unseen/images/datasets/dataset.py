"""What is known of a data set of the task study."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unseen.images.datasets.listing import ALL, Listing

Metric = Literal["top1", "mean-per-class", "map-11-point"]
"""Accuracy; accuracy averaged over classes; average precision at eleven recalls, where images have several classes."""
Test = Literal["author", "beyond-30", "fifth"]
"""Images that test: the authors'; all beyond 30 of each class; a fifth."""
Validation = Literal["author", "fifth"]
"""Images that choose hyper-parameters: the authors', or a fifth of the training images."""
FewShot = Literal["kornblith", "cd-fsl", "other"]
"""The table of few-shot scores that a data set belongs to; `other` ones are in no table of the paper."""


def nowhere() -> Iterable[Path]:
    """Outside the folder of all data sets there is nothing to look at."""
    return ()


@dataclass(frozen=True)
class Layout:
    """One of the ways in which a data set lies on disk.

    Attributes:
        folder: below the folder of all data sets; torchvision's name, where torchvision reads the data set.
        files: what must be in it, files and folders.
        read: lists the images in such a folder.
        elsewhere: further folders to look for, such as those of installed packages.
    """

    folder: str
    files: tuple[str, ...]
    read: Callable[[Path], Listing]
    elsewhere: Callable[[], Iterable[Path]] = nowhere

    def places(self, root: Path | None) -> Iterator[Path]:
        """Where the data set may be, in the order of preference."""
        if root is not None:
            yield root / self.folder
        yield from self.elsewhere()


@dataclass(frozen=True)
class Dataset:
    """A data set: what it measures, how it is split, where it comes from and how it lies on disk.

    Attributes:
        classes: how many.
        test, validation: None where nobody split the images: such a data set serves few-shot episodes only.
        few_shot: None where episodes make no sense, as images have several classes.
        counts: images of each split of a complete copy, under "train", "val" and "test", or under "all".
        layouts: in the order of preference; see `open_dataset` for which of several copies is read.
        column: its place in the paper's table of its family; those with the same place go by name.
        get: the site and the files to take from it, or the package to install.
        kind: of task, the name of a file in `unseen.studies.tasks.kinds`.
        content: of a user's own data set, hash of its images, classes and splits; empty for all others.
        shared: test images of a user's own data set that are among those to learn from too, which the user allowed.
    """

    name: str
    title: str
    classes: int
    metric: Metric
    test: Test | None
    validation: Validation | None
    few_shot: FewShot | None
    counts: Mapping[str, int]
    layouts: tuple[Layout, ...]
    get: str
    licence: str
    citation: str
    column: int = 0
    kind: str = "classification"
    content: str = ""
    shared: int = 0

    def __getstate__(self) -> dict[str, Any]:
        """Sent to a process that works on it, it is open: how it lies on disk stays behind."""
        return self.__dict__ | {"layouts": ()}

    @property
    def multi_label(self) -> bool:
        """Whether an image has several classes; see `unseen.images.datasets.multi_label`."""
        return self.metric == "map-11-point"

    @property
    def in_paper(self) -> bool:
        """Whether it is one of those that Ericsson et al. measured on."""
        return self.few_shot != "other"

    @property
    def drawn(self) -> bool:
        """Whether some of its splits are not the authors' but drawn."""
        return self.test not in {"author", None} or self.validation == "fifth"

    @property
    def images(self) -> int:
        """How many images a complete copy has."""
        return sum(self.counts.values())

    @property
    def parts(self) -> dict[str, int]:
        """Images of each part of a complete copy as its authors made it, before anything is drawn."""
        if self.test != "author":
            return {ALL: self.images}
        if self.validation != "author":
            return {"train": self.counts["train"] + self.counts["val"], "test": self.counts["test"]}
        return dict(self.counts)

    def find(self, root: Path | None) -> Iterator[tuple[Layout, Path]]:
        """The folders where the data set may be and that are there, and how it would lie in them."""
        places = ((layout, place) for layout in self.layouts for place in layout.places(root))
        return ((layout, place) for layout, place in places if place.is_dir())
