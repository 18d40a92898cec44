"""Feature vectors that are extracted from the images of a study."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.backbone import Backbone
from unseen.backbones.vector_parts import stored_parts
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import ImageError, UserError
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.settings import Settings
from unseen.features.speed import Speed, extraction_seconds, seconds_per_image
from unseen.papers.comparability import Draw
from unseen.probes.samples import SamplesPerClass
from unseen.probes.vectors import Order
from unseen.runs.extraction import Pass, extract_passes, refuse_unfinished
from unseen.runs.means import Means
from unseen.runs.notices import Notice, left_out
from unseen.runs.parts import WHOLE
from unseen.studies.features import FEATURES, damaged_images
from unseen.studies.inputs.vector_features import FoundFeatures, PlannedFeatures, described, splits_of
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probed_features import ProbedFeatures, class_counts
from unseen.studies.stored_features import Place
from unseen.studies.study import Study

if TYPE_CHECKING:
    from unseen.studies.watch import Watch


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """Features that are extracted from images into the folder of the run."""

    study: Study
    data: OpenedData
    backbones: Sequence[Backbone]
    settings: Settings

    @cached_property
    def groups(self) -> list[list[StudyData]]:
        """Data sets that are extracted by one call: levels share the start of workers; others may fail alone."""
        alone = [[each] for each in self.data.data if not each.is_domain]
        return [self.data.domains, *alone] if self.data.domains else alone

    def planned(self, out: Path, means: Means) -> PlannedFeatures:
        features, done, size, seconds = list[ProbedFeatures](), dict[str, float](), 0, 0.0
        speeds = dict[int, Speed]()
        for data in self.data.data:
            left = self._left(data, out, self.settings)
            whole = left if self.settings.part == WHOLE else self._left(data, out, replace(self.settings, part=WHOLE))
            done[data.name] = 1 - max(whole) / sum(data.images.rows.values())
            there = None if max(whole) else self._existing(data, out)
            if max(left) and there is None:
                source = data.images.part(splits_of(data).needed[0])[0]
                if id(source) not in speeds:
                    speeds[id(source)] = seconds_per_image(source, self.backbones, self.settings)
                seconds += extraction_seconds(speeds[id(source)], left, self.settings, means.places)
            of = there or [expected_features(data, each) for each in self.backbones]
            size += sum(feature_bytes(n, each.dimension, self.settings) for each, n in zip(of, left, strict=True))
            features += of
        return PlannedFeatures(features, done=done, bytes=size, seconds=seconds)

    def found(self, out: Path, means: Means, watch: "Watch") -> FoundFeatures:
        features, faults, unfinished = list[ProbedFeatures](), list[Notice](), list[Path]()
        for group in self.groups:
            try:
                made = list(self._extracted(group, out, means, watch))
            except ImageError as error:
                if group[0].is_domain:
                    raise
                faults.append(left_out(group[0].name, f"{group[0].name}: {error}"))
                continue
            stores = [store for _, of in made for places in of.values() for store in places]
            if self.settings.part != WHOLE and not all(_is_finished(store) for store in stores):
                unfinished += stores
                continue
            for data, of in made:
                features += self._usable(data, of, faults)
                _tell_damaged(data.name, of, watch)
        refuse_unfinished(unfinished, self.settings.part)
        for fault in faults if features else faults[1:]:  # else the first is the error below
            watch.tell(fault.sentence)
        if not features:
            raise UserError(faults[0].text)
        return FoundFeatures(features, faults)

    def _usable(
        self, data: StudyData, stores: Mapping[str, Sequence[Path]], faults: list[Notice]
    ) -> Iterator[ProbedFeatures]:
        """The features of a data set by backbone; what is wrong with others is added to `faults`."""
        for number, backbone in enumerate(self.backbones):
            try:
                where = {split: Place(places[number]) for split, places in stores.items()}
                yield self._described(backbone.label, data, where)
            except UserError as error:
                if data.is_domain:
                    raise
                faults.append(left_out(data.name, str(error)))

    def _extracted(
        self, group: Sequence[StudyData], out: Path, means: Means, watch: "Watch"
    ) -> Iterator[tuple[StudyData, dict[str, list[Path]]]]:
        """The stores of each data set by split, one for each backbone, after one pass over its images for all."""
        sides = [(data, split) for data in group for split in splits_of(data).needed]
        passes = [
            Pass(
                *data.images.part(split), split, out / FEATURES / data.name, partial(watch.extracting, data.name, split)
            )
            for data, split in sides
        ]
        made: dict[str, dict[str, list[Path]]] = {data.name: {} for data in group}
        stores = extract_passes(means, passes, self.backbones, self.settings)
        for (data, split), places in zip(sides, stores, strict=True):
            made[data.name][split] = places
        yield from ((data, made[data.name]) for data in group)

    def _left(self, data: StudyData, out: Path, settings: Settings) -> list[int]:
        """Number of images of a data set without features, by backbone."""
        specs, place = [backbone.spec for backbone in self.backbones], out / FEATURES / data.name
        opened = data.images
        parts = [remaining_rows(*opened.part(split), split, specs, place, settings) for split in splits_of(data).needed]
        return [sum(of) for of in zip(*parts, strict=True)]

    def _existing(self, data: StudyData, out: Path) -> list[ProbedFeatures] | None:
        """The features of a data set for all backbones; None if they cannot be used, which is reported later."""
        try:
            return [
                self._described(backbone.label, data, self._places(data, backbone, out)) for backbone in self.backbones
            ]
        except UserError:
            return None

    def _places(self, data: StudyData, backbone: Backbone, out: Path) -> dict[str, Place]:
        from unseen.features.extract import store_place

        place = out / FEATURES / data.name
        splits = splits_of(data).needed
        return {
            split: Place(store_place(*data.images.part(split), split, backbone.spec, place, self.settings))
            for split in splits
        }

    def _described(self, backbone: str, data: StudyData, places: Mapping[str, Place]) -> ProbedFeatures:
        draw: Draw = "ours" if self.study.splits is None else "given"
        levels = self.data.levels
        concepts = data.images.classes if data.is_domain else ()
        return described(backbone, data, places, concepts, seen=levels.seen_domain if levels else None, draw=draw)


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


def _tell_damaged(name: str, stores: Mapping[str, Sequence[Path]], watch: "Watch") -> None:
    for split, places in stores.items():
        for sentence in dict.fromkeys(damaged_images(f"{name}, {split}", each) for each in places):
            if sentence:
                watch.tell(sentence)


def _is_finished(store: Path) -> bool:
    from unseen.features.store import MANIFEST

    return (store / MANIFEST).is_file()
