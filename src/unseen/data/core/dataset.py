"""What is known about a data set before its images are opened: labels, splits, origin, and layouts on disk."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from unseen.data.core.dense.labels import Kind
from unseen.data.core.rows import ALL, Listing

Target = Literal["class", "classes", "map", "normals", "depth", "boxes", "ranking", "none"]
"""The label of an image: a class, several classes; for each pixel a class, a normal or a depth; boxes; its relation to
the queries of a retrieval benchmark; or none."""
Metric = Literal["top1", "mean-per-class", "map-11-point"]
"""Accuracy; mean per-class accuracy; 11-point average precision, for images with several classes."""
Test = Literal["author", "beyond-30", "fifth", "held-810"]
"""How test images are chosen: the authors' split; all but 30 images per class; a fifth; 810 images per class."""
Validation = Literal["author", "fifth", "held-540"]
"""How validation images are chosen: the authors' split; a fifth of the training images; 540 of them per class."""
FewShot = Literal["kornblith", "cd-fsl", "other"]
"""The few-shot table a data set belongs to; `other` data sets are in no table of the paper."""
LabelSpace = Literal["imagenet-1k", "cifar-10", "your own"]
"""What labels of test sets are: synset ids of ImageNet-1K (joined by + for any of several), or names."""
KINDS: Mapping[Target, Kind] = {"boxes": "boxes", "map": "classes", "normals": "normals", "depth": "depth"}
"""The targets of data sets with boxes or maps, and the kinds of their labels."""


def nowhere() -> Iterable[Path]:
    """No places outside the folder of all data sets."""
    return ()


@dataclass(frozen=True)
class Layout:
    """One of the layouts in which a data set is found on disk.

    Attributes:
        folder: path below the folder of all data sets; torchvision's name for it, if torchvision reads the data set.
        files: files and folders that it must contain.
        read: lists the images in such a folder, and their labels.
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
    """A data set: the label of its images, its splits, its origin and its layouts on disk.

    Attributes:
        classes: number of classes in a complete copy; 0 for normals, depth and rankings.
        target: the label of an image.
        names: names of the classes, if they are known before images are opened. In their order for boxes and maps,
            whose labels are indices.
        metric: of classes; boxes and maps have the metrics of their probes.
        counts: images per split of a complete copy, under "train", "val" and "test", or under "all"; empty if any
            number is complete.
        layouts: in order of preference; `open_dataset` decides which of several copies is read.
        get: the site and the files to download, or the package to install.
        test: None if the images have no splits; such a data set is used for few-shot episodes only.
        validation: None if there are no validation images.
        few_shot: None if the paper has it but episodes make no sense, because an image does not have one class.
        column: position in the paper's table of its family; data sets with the same position are sorted by name.
        shifted: for a test set of the shift study, whether it is OOD; None for other data sets. A test set has test
            images only, and its name is its column in tables: the ImageNet testbed's name if it has the set, except
            for ObjectNet, which is `objectnet-1.0-beta` there.
        space: what the labels of a test set are.
        gaps: whether classes may be without training or validation images. They stay in the score, and those that only
            test images have are named by a notice.
        sample_of: name of the data set that this is a sample of; it is used only where it is named.
        also_called: other names of its images: usual ones, and one that data sets of the same images share. A backbone
            that was trained on one of these names was trained on the data set.
        revision: of a test set, increased when this code starts to give other pixels or labels for the same files.
        content: for a user's own data set, the hash of its images, classes and splits; otherwise empty.
        shared: number of test images of a user's own data set that are also training images, if the user allowed them.
    """

    name: str
    title: str
    classes: int
    target: Target = "class"
    names: tuple[str, ...] = ()
    metric: Metric = "top1"
    counts: Mapping[str, int] = field(default_factory=dict)
    layouts: tuple[Layout, ...] = ()
    get: str = ""
    licence: str = ""
    citation: str = ""
    test: Test | None = "author"
    validation: Validation | None = None
    few_shot: FewShot | None = None
    column: int = 0
    shifted: bool | None = None
    space: LabelSpace | None = None
    gaps: bool = False
    sample_of: str = ""
    also_called: tuple[str, ...] = ()
    revision: int = 1
    content: str = ""
    shared: int = 0

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the layouts: a data set sent to another process is already open."""
        return self.__dict__ | {"layouts": ()}

    @property
    def dense(self) -> bool:
        """Whether its labels are boxes or maps."""
        return self.target in KINDS

    @property
    def kind(self) -> Kind:
        """What the labels are, of a data set with boxes or maps."""
        return KINDS[self.target]

    @property
    def multi_label(self) -> bool:
        """Whether an image has several classes; see `unseen.data.core.multi_label`."""
        return self.target == "classes"

    @property
    def has_classes(self) -> bool:
        """Whether an image has one class or several."""
        return self.target in {"class", "classes"}

    @property
    def in_paper(self) -> bool:
        """Whether Ericsson et al. (2021) evaluated on it; for data sets with classes."""
        return self.few_shot != "other"

    @property
    def drawn(self) -> bool:
        """Whether some of its splits are drawn by us rather than given by the authors."""
        return self.test not in {"author", None} or self.validation == "fifth"

    @property
    def split(self) -> str:
        """The split of a test set in manifests; part of the key of results computed from its images."""
        return f"{self.name}-r{self.revision}"

    @property
    def images(self) -> int:
        """Number of images in a complete copy."""
        return sum(self.counts.values())

    @property
    def parts(self) -> dict[str, int]:
        """Images in each part of a complete copy as its authors made it, before any split is drawn."""
        if self.test != "author":
            return {ALL: self.images}
        if self.validation == "fifth":
            return {"train": self.counts["train"] + self.counts["val"], "test": self.counts["test"]}
        return dict(self.counts)

    def find(self, root: Path | None) -> Iterator[tuple[Layout, Path]]:
        """The existing folders that may contain the data set, with the layout of each."""
        places = ((layout, place) for layout in self.layouts for place in layout.places(root))
        return ((layout, place) for layout, place in places if place.is_dir())
