"""Feature vectors that are extracted from the images of a study."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from unseen.backbones.backbone import Backbone
from unseen.backbones.vector_parts import stored_parts
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import ImageError, OtherPartsError, UserError
from unseen.features.settings import Settings, checked_device
from unseen.papers.comparability import Draw
from unseen.probes.samples import SamplesPerClass
from unseen.probes.vectors import Order
from unseen.runs.extraction import Pass, refuse_unfinished
from unseen.runs.means import Means
from unseen.runs.notices import Notice, left_out
from unseen.runs.parts import WHOLE
from unseen.runs.setup import Extraction
from unseen.studies.finder import Finder, tell_damaged
from unseen.studies.inputs.vector_features import FeatureSource, FoundFeatures, existing_features, splits_of
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probed_features import ProbedFeatures, class_counts
from unseen.studies.record import Described
from unseen.studies.stored_features import FEATURES, Place
from unseen.studies.study import Study

if TYPE_CHECKING:
    from unseen.studies.watch import Watch


@dataclass(frozen=True, eq=False)
class ImageFeatures(FeatureSource):
    """Features that are extracted from images into the folder of the run."""

    study: Study
    data: OpenedData
    backbones: Sequence[Backbone]
    settings: Settings
    extracts: ClassVar[bool] = True

    @property
    def described(self) -> list[Described]:
        return [Described(each.label, Extraction.by(each.spec, self.settings)) for each in self.backbones]

    @cached_property
    def groups(self) -> list[list[StudyData]]:
        """Data sets that are extracted by one call: levels share the start of workers; others may fail alone."""
        alone = [[each] for each in self.data.data if not each.is_domain]
        return [self.data.domains, *alone] if self.data.domains else alone

    def finder(self, out: Path) -> Finder:
        """Finds the features in the folder of a run."""
        passes = [
            Pass(*data.images.part(split), split, out / FEATURES / data.name, data.name)
            for data in self.data.data
            for split in splits_of(data).needed
        ]
        return Finder(passes, self.backbones, self.settings)

    def planned(self, out: Path, means: Means) -> FoundFeatures:
        features, done, size, seconds = list[ProbedFeatures](), dict[str, float](), 0, 0.0
        checked_device(self.settings)
        finder = self.finder(out)
        for data in self.data.data:
            own = finder.of(data.name)
            left = own.missing()
            whole = left if self.settings.part == WHOLE else own.missing(whole=True)
            done[data.name] = 1 - max(whole) / sum(data.images.rows.values())
            seconds += own.seconds(left, means.places)
            size += sum(own.bytes(left))
            there = None if max(whole) else self._existing(data, own)
            features += there or [expected_features(data, each) for each in self.backbones]
        return FoundFeatures(features, done=done, bytes=size, seconds=seconds)

    def found(self, out: Path, means: Means, watch: "Watch") -> FoundFeatures:
        features, faults, waiting = list[ProbedFeatures](), list[Notice](), list[OtherPartsError]()
        finder = self.finder(out)
        for group in self.groups:
            try:
                stores = finder.of(*(each.name for each in group)).extracted(means, watch.extracting)
                paths = [path for of_data in stores.values() for of in of_data for path in of.values()]
                refuse_unfinished(paths, self.settings.part)
            except ImageError as error:
                if group[0].is_domain:
                    raise
                faults.append(left_out(group[0].name, f"{group[0].name}: {error}"))
                continue
            except OtherPartsError as error:  # the other data sets are extracted first
                waiting.append(error)
                continue
            for data in group:
                features += self._usable(data, stores[data.name], faults)
                tell_damaged(data.name, stores[data.name], watch.tell)
        if waiting:
            raise waiting[0]
        for fault in faults if features else faults[1:]:  # else the first is the error below
            watch.tell(fault.sentence)
        if not features:
            raise UserError(faults[0].text)
        return FoundFeatures(features, faults)

    def _usable(
        self, data: StudyData, stores: Sequence[Mapping[str, Path]], faults: list[Notice]
    ) -> Iterator[ProbedFeatures]:
        """The features of a data set by backbone; what is wrong with others is added to `faults`."""
        for backbone, places in zip(self.backbones, stores, strict=True):
            try:
                yield self._features(backbone.label, data, places)
            except UserError as error:
                if data.is_domain:
                    raise
                faults.append(left_out(data.name, str(error)))

    def _existing(self, data: StudyData, finder: Finder) -> list[ProbedFeatures] | None:
        """The features of a data set for all backbones; None if they cannot be used, which is reported later."""
        stores = zip(self.backbones, finder.stores()[data.name], strict=True)
        try:
            return [self._features(backbone.label, data, places) for backbone, places in stores]
        except UserError:
            return None

    def _features(self, backbone: str, data: StudyData, places: Mapping[str, Path]) -> ProbedFeatures:
        draw: Draw = "ours" if self.study.splits is None else "given"
        concepts = data.images.classes if data.is_domain else ()
        found = {split: Place(path) for split, path in places.items()}
        return existing_features(backbone, data, found, concepts, seen=self.data.seen, draw=draw)


def expected_features(data: StudyData, backbone: Backbone) -> ProbedFeatures:
    """Features that are still to be extracted."""
    opened, several = data.images, data.dataset.multi_label
    order: Order = "training" if data.is_domain else "sorted"
    labels = dict(_labels(opened, splits_of(data).needed))
    names = sorted({name for of in labels.values() for name in of})
    place = {name: number for number, name in enumerate(names)}
    numbers = {split: [place[name] for name in of] for split, of in labels.items()}
    counts = class_counts(numbers, names, several=several)
    fitted = Counter(number for split in ("train", "val") for number in numbers.get(split, ()))
    return ProbedFeatures(
        backbone.label,
        data.name,
        {split: len(of) for split, of in numbers.items()},
        len(counts.train) if data.dataset.has_classes else 0,
        backbone.spec.dimension,
        samples=SamplesPerClass.of(fitted.values()) if fitted else None,
        counts=counts if data.dataset.has_classes else None,
        target=data.dataset.target,
        metric=data.dataset.metric,
        order=order,
        parts=stored_parts({"backbone": vars(backbone.spec)}),
        gaps=data.dataset.gaps,
        names=tuple(names),
        limit=opened.manifest.limit,
    )


def _labels(opened: OpenDataset, splits: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for split in splits:
        _, manifest = opened.part(split)
        words = zip(manifest.entries, manifest.splits, strict=True)
        yield split, [entry.label for entry, word in words if word == split]
