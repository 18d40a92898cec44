"""Feature vectors of the data sets of a study: where they come from, how they are described, and those in files.

Those of images are in `image_features`, those in a folder in `folder_features`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from unseen.data.concepts.domains import DRAWN_BY, SEEN, SOMEBODY_ELSE, US
from unseen.features.checked import Tell
from unseen.papers.comparability import Draw
from unseen.runs.data import Axis
from unseen.runs.means import Means
from unseen.runs.notices import Notice
from unseen.runs.setup import SHORT, FeatureKey, SplitsUsed
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probed_features import UNNAMED, ProbedFeatures, features_of_domain, features_of_task
from unseen.studies.record import Described
from unseen.studies.stored_features import Place, Splits, read_about

if TYPE_CHECKING:
    from unseen.studies.watch import Watch


@dataclass(frozen=True)
class FoundFeatures:
    """The features of a study, existing or, in a plan, still to be extracted.

    Attributes:
        faults: a notice about each data set whose images or features cannot be used.
        done: data set → share of the images with existing features.
        bytes, seconds: bytes that this part of the work has yet to write, and estimated seconds of the extraction.
    """

    features: Sequence[ProbedFeatures]
    faults: Sequence[Notice] = ()
    done: Mapping[str, float] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0


class FeatureSource(ABC):
    """Where features come from.

    Attributes:
        axis: what a study of them measures, for the title of one without a title.
        extracts: whether they are extracted from images into the folder of the run.
    """

    axis: ClassVar[Axis] = "tasks"
    extracts: ClassVar[bool] = False

    @abstractmethod
    def planned(self, out: Path, means: Means) -> FoundFeatures:
        """The features, for planning: nothing is extracted."""

    @abstractmethod
    def found(self, out: Path, means: Means, watch: "Watch") -> FoundFeatures:
        """The features; missing ones are extracted."""

    @property
    def described(self) -> list[Described]:
        """The backbones, as far as they are known before there are features."""
        return [Described(UNNAMED)]

    def splits(self, opened: OpenedData) -> SplitsUsed | None:
        """How the images of levels are split, if known."""
        return opened.splits

    def key(self, features: ProbedFeatures) -> FeatureKey:
        """What a run records of features, so that others with the same names are refused."""
        keys = {split: key[:SHORT] for split, key in features.keys.items()}
        return FeatureKey(features.backbone, features.dataset, keys)

    def remarks(self, features: ProbedFeatures) -> dict[str, str]:
        """Lines of provenance about the features."""
        return {}


@dataclass(frozen=True, eq=False)
class FileFeatures(FeatureSource):
    """Features in files, which alone say what they are of; classes keep the order of the training file."""

    backbone: str
    data: StudyData
    places: Mapping[str, Path]
    tell: Tell | None = None
    axis: ClassVar[Axis] = "probe"

    @cached_property
    def features(self) -> ProbedFeatures:
        places = {split: Place(path) for split, path in self.places.items()}
        found = existing_features(self.backbone, self.data, places, (), tell=self.tell, verify=True)
        return replace(found, draw="unknown")

    def planned(self, out: Path, means: Means) -> FoundFeatures:
        return FoundFeatures([self.features])

    def found(self, out: Path, means: Means, watch: "Watch") -> FoundFeatures:
        return FoundFeatures([self.features])

    def key(self, features: ProbedFeatures) -> FeatureKey:
        names = {split: Path(place).name for split, place in features.places.items()}
        return FeatureKey(features.backbone, features.dataset, features.hashes, names)

    def remarks(self, features: ProbedFeatures) -> dict[str, str]:
        return {"features": f"{features.classes} classes, {features.dimension} dimensions"}


def splits_of(data: StudyData) -> Splits:
    """The splits of a data set whose features are used."""
    return Splits.of(data.dataset, is_domain=data.is_domain or data.is_file)


def existing_features(
    backbone: str,
    data: StudyData,
    places: Mapping[str, Place],
    concepts: Sequence[str],
    *,
    seen: str | None = None,
    draw: Draw = "unknown",
    tell: Tell | None = None,
    verify: bool = False,
) -> ProbedFeatures:
    """The features of a backbone on a data set, as they are planned with; features that do not fit are refused.

    Args:
        concepts: ids of the classes of a domain, if known.
        seen: name of the domain of seen concepts, whose images are all of ImageNet-1K's.
        draw: who chose the images of a level, if its features do not record it.
        verify: as in `read_for_planning`.
    """
    paths = {split: place.path for split, place in places.items()}
    if not (data.is_domain or data.is_file):
        return features_of_task(backbone, data.dataset, paths)
    found = features_of_domain(backbone, data.name, paths, concepts, tell, verify=verify)
    if data.is_file or data.name in {SEEN, seen}:
        return found
    sources = [Place(path, _about(path)).about.get("source") for path in paths.values()]
    by = {source.get(DRAWN_BY) if isinstance(source, dict) else None for source in sources}
    drawn: Draw = "ours" if by == {US} else "given" if by == {SOMEBODY_ELSE} else draw
    return replace(found, draw=drawn)


def _about(path: Path) -> Mapping[str, object]:
    return read_about(path) if path.is_dir() else {}
