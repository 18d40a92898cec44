"""Metadata of a data set of the task study."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unseen.images.datasets.listing import ALL, Listing

Metric = Literal["top1", "mean-per-class", "map-11-point"]
"""Accuracy; mean per-class accuracy; 11-point average precision, for images with several classes."""
Test = Literal["author", "beyond-30", "fifth"]
"""How test images are chosen: the authors' split; all but 30 images per class; a fifth."""
Validation = Literal["author", "fifth"]
"""How validation images are chosen: the authors' split, or a fifth of the training images."""
FewShot = Literal["kornblith", "cd-fsl", "other"]
"""The few-shot table a data set belongs to; `other` data sets are in no table of the paper."""


def nowhere() -> Iterable[Path]:
    """No places outside the folder of all data sets."""
    return ()


@dataclass(frozen=True)
class Layout:
    """One of the layouts in which a data set is found on disk.

    Attributes:
        folder: path below the folder of all data sets; torchvision's name for it, if torchvision reads the data set.
        files: files and folders that it must contain.
        read: lists the images in such a folder.
        elsewhere: gives further folders to search, such as those of installed packages.
    """

    folder: str
    files: tuple[str, ...]
    read: Callable[[Path], Listing]
    elsewhere: Callable[[], Iterable[Path]] = nowhere

    def places(self, root: Path | None) -> Iterator[Path]:
        """Possible locations of the data set, in order of preference."""
        if root is not None:
            yield root / self.folder
        yield from self.elsewhere()


@dataclass(frozen=True)
class Dataset:
    """A data set: its metric, its splits, its origin and its layouts on disk.

    Attributes:
        classes: number of classes.
        test, validation: None if the images have no splits; such a data set is used for few-shot episodes only.
        few_shot: None if episodes make no sense because images have several classes.
        counts: images per split of a complete copy, under "train", "val" and "test", or under "all".
        layouts: in order of preference; `open_dataset` decides which of several copies is read.
        column: position in the paper's table of its family; data sets with the same position are sorted by name.
        get: the site and the files to download, or the package to install.
        kind: the kind of task, the name of a file in `unseen.studies.tasks.kinds`.
        content: for a user's own data set, the hash of its images, classes and splits; otherwise empty.
        shared: number of test images of a user's own data set that are also training images, if the user allowed them.
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
        """Pickle without the layouts: a data set sent to another process is already open."""
        return self.__dict__ | {"layouts": ()}

    @property
    def multi_label(self) -> bool:
        """Whether an image has several classes; see `unseen.images.datasets.multi_label`."""
        return self.metric == "map-11-point"

    @property
    def in_paper(self) -> bool:
        """Whether Ericsson et al. (2021) evaluated on it."""
        return self.few_shot != "other"

    @property
    def drawn(self) -> bool:
        """Whether some of its splits are drawn by us rather than given by the authors."""
        return self.test not in {"author", None} or self.validation == "fifth"

    @property
    def images(self) -> int:
        """Number of images in a complete copy."""
        return sum(self.counts.values())

    @property
    def parts(self) -> dict[str, int]:
        """Images in each part of a complete copy as its authors made it, before any split is drawn."""
        if self.test != "author":
            return {ALL: self.images}
        if self.validation != "author":
            return {"train": self.counts["train"] + self.counts["val"], "test": self.counts["test"]}
        return dict(self.counts)

    def find(self, root: Path | None) -> Iterator[tuple[Layout, Path]]:
        """The existing folders that may contain the data set, with the layout of each."""
        places = ((layout, place) for layout in self.layouts for place in layout.places(root))
        return ((layout, place) for layout, place in places if place.is_dir())
