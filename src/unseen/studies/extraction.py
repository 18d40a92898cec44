"""Features of data sets without probes: `unseen extract` and `unseen.extract`.

Each data set has a folder of its own, as in the folder of a run, so that a study can be run with these features.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from unseen.backbones.patches import PatchSpec
from unseen.data.core.dataset import Target
from unseen.data.core.links import links_within
from unseen.data.core.manifest import Manifest, drawn, whole
from unseen.data.core.source import ImageSource
from unseen.data.core.splits import Splits
from unseen.data.own.description import SUFFIX
from unseen.data.registry import DATASETS
from unseen.data.sources.open_source import open_images
from unseen.data.sources.repository import has_all_splits
from unseen.device import default_device
from unseen.errors import UserError, option
from unseen.features.disk import free_disk, refuse_full_disk
from unseen.features.patches import patch_settings
from unseen.features.settings import Settings
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import WHOLE, Part
from unseen.studies.backbones import StudyBackbones
from unseen.studies.finder import Finder, study_settings
from unseen.studies.given import Given
from unseen.studies.keys import ALL
from unseen.studies.opened import Wanted, open_data
from unseen.studies.plan import Cell, Plan
from unseen.studies.study import Study
from unseen.studies.watch import Silent, Watch

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone

EXTRACTION = Study(name="extract", preprocessing="own")
"""What `unseen extract` starts from: features with the preprocessing of each backbone."""
KEYS = ("images", "root", "config", "split", "image", "label")
"""Keys of images without training and test parts, in `[data.NAME]`."""


@dataclass(frozen=True, eq=False)
class FeatureExtraction:
    """The features of some data sets by some backbones.

    Attributes:
        study: its data sets, backbones and the keys of extraction.
        split: the only split to extract; None for all.
        by_name: whether each data set has a folder of its own, by its name.
    """

    study: Study
    given: Given
    means: Means = ALONE
    watch: Watch = field(default_factory=Silent)
    part: Part = WHOLE
    split: str | None = None
    by_name: bool = True

    @cached_property
    def backbones(self) -> "list[Backbone]":
        """For vectors, or for the features of patches if the study has a number of them."""
        study, given = self.study, self.given
        found = StudyBackbones(study, given.backbones, default_device().type, self.watch.tell, given.allow_code)
        patches = study.backbone_keys("").patches
        if patches is not None and study.levels is not None:
            raise UserError("backbone.patches: concepts are probed with features of whole images; leave it out")
        return found.vectors if patches is None else found.drawn_patches(patches)

    @cached_property
    def settings(self) -> Settings:
        found = study_settings(self.study, self.means, self.part)
        return patch_settings(found, self.backbones) if self.of_patches else found

    @property
    def of_patches(self) -> bool:
        """Whether there are features of patches: the study has a number of them, or a backbone was loaded with them."""
        return any(isinstance(each.spec, PatchSpec) for each in self.backbones)

    @cached_property
    def passes(self) -> list[Pass]:
        """All images, by data set and split, with the folder of their features below that of the results."""
        study = self.study
        plain = {word: images for word in study.datasets if (images := self._plain(word)) is not None}
        words = [word for word in study.datasets if word not in plain]
        found = list[Pass]()
        if words or not plain or self.given.datasets:
            study = replace(study, datasets=tuple(words))
            wanted = Wanted(frozenset({"vectors"}), frozenset(get_args(Target)) - {"none"})
            opened = open_data(study, self.given.places, wanted, self.watch, given=self.given.datasets)
            for notice in opened.absent:
                self.watch.tell(notice.sentence)
            for data in opened.data:
                found += [
                    Pass(*data.images.part(split), split, self._folder(data.name), data.name)
                    for split, count in data.images.rows.items()
                    if count
                ]
        for source, manifest, name in plain.values():
            splits = dict.fromkeys(manifest.splits)
            found += [Pass(source, manifest, split, self._folder(name), name) for split in splits]
        return [each for each in found if self.split in {None, each.split}]

    def _folder(self, name: str) -> Path:
        return Path(name) if self.by_name else Path()

    def _finders(self, out: Path) -> list[Finder]:
        """One for each data set and split."""
        passes = [replace(each, folder=out / each.folder) for each in self.passes]
        return [Finder([each], self.backbones, self.settings) for each in passes]

    def _plain(self, word: str) -> tuple[ImageSource, Manifest, str] | None:
        """Images without training and test parts: a folder of classes, a list, archives; None for other words."""
        table: dict[str, Any] = dict(self.study.data.get(word, {}))
        root = self.given.places.root
        if table and not {*table} <= {*KEYS}:
            return None
        text = str(table.pop("images", word))
        if not table and (word in DATASETS or word == ALL or text.lower().endswith(SUFFIX) or self.study.levels):
            return None
        below = root is not None and not Path(text).exists() and (root / text).exists()
        place = str(root / text) if below and root is not None else text
        folder = Path(place)
        if not table and ((folder / "train").is_dir() and (folder / "test").is_dir()):
            return None
        if folder.is_dir() and "split" not in table and has_all_splits(folder):
            return None
        if not folder.exists() and ":" not in place and "*" not in place and "{" not in place:
            return None
        options: dict[str, Any] = {key: Path(value) if key == "root" else value for key, value in table.items()}
        with links_within(follow=self.study.follow_links):
            source = open_images(place, **options, watch=lambda each: self.watch.track(each, "classes indexed"))
        splits = self.study.splits
        manifest = whole(source, "all") if splits is None else drawn(source, Splits.read(Path(splits)))
        name = word if word in self.study.data else folder.name.partition(".")[0] or folder.resolve().name
        return source, manifest, name.replace(":", "-")

    def plan(self, out: Path) -> Plan:
        """The images that are still to be extracted, and the space that their features need."""
        rows, size = list[dict[str, Cell]](), 0
        for finder in self._finders(out):
            [each], left = finder.passes, finder.missing()
            images = each.manifest.splits.count(each.split)
            for backbone, missing, needed in zip(self.backbones, left, finder.bytes(left), strict=True):
                size += needed
                rows.append(
                    {
                        "data set": each.name, "split": each.split, "backbone": backbone.label, "images": images,
                        "extracted": 1 - missing / images, "features": needed,
                    }
                )  # fmt: skip
        return Plan("Features", rows, 0, 0, disk=size, free=free_disk(out))

    def run(self, out: Path) -> Iterator[tuple[Pass, Sequence[Path]]]:
        """Extract the missing features, and yield the stores of each split when they are done."""
        _ = self.backbones  # a backbone that cannot be loaded is an error before images are listed
        refuse_full_disk(out, self.plan(out).disk)
        passes = [each for finder in self._finders(out) for each in finder.passes]
        stores = extract_passes(self.means, passes, self.backbones, self.settings, self.watch.extracting)
        yield from zip(passes, stores, strict=True)


def extraction_of(study: Study, *, levels_given: bool) -> Study:
    """The study of an extraction; levels have the preprocessing of ImageNet-CoG unless another is given."""
    if not study.backbones:
        raise UserError(f"no backbone was given; name one ({option('backbone')})")
    return replace(study, preprocessing="published") if levels_given else study
