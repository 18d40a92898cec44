"""Feature vectors in a folder, with one folder per data set; see `unseen.studies.stored_features`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.data.concepts.domains import SEEN
from unseen.data.core.splits import COG
from unseen.data.core.splits import Splits as DrawnSplits
from unseen.errors import UserError, names_of, option
from unseen.features.checked import Tell
from unseen.papers.comparability import Draw
from unseen.probes.samples import ClassCounts
from unseen.runs.means import Means
from unseen.runs.notices import Notice, left_out
from unseen.runs.setup import SplitsUsed
from unseen.studies.concepts.domains import split_rule
from unseen.studies.concepts.named_features import one_backbone
from unseen.studies.concepts.regroup import Grouped, grouped
from unseen.studies.inputs.vector_features import FeatureSource, FoundFeatures, existing_features, splits_of
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.stored_features import FEATURES, Place, Splits, check_alike, find_features, has_classes
from unseen.studies.study import Study

if TYPE_CHECKING:
    from unseen.studies.watch import Watch


@dataclass(frozen=True, eq=False)
class FolderFeatures(FeatureSource):
    """Existing features in the folders of data sets; features of the same concepts in other levels are regrouped.

    Attributes:
        backbones: names of those to use; empty for all.
        tell: as in `read_features`.
    """

    study: Study
    data: OpenedData
    folder: Path
    backbones: Sequence[str] = ()
    tell: Tell | None = None

    def splits(self, opened: OpenedData) -> SplitsUsed | None:
        """Those of the images that the features were extracted from, if known."""
        if not opened.domains:
            return opened.splits
        if self.most is not None:
            return SplitsUsed(max_train=self.most)
        if self._drawn is None or self.study.splits is None:
            return None
        return SplitsUsed(file=Path(self.study.splits).name, hash=self._drawn.content_hash)

    @cached_property
    def most(self) -> int | None:
        """Largest number of training images per concept, if the study limits it."""
        rule = split_rule(self.study)
        if rule == COG:
            return None
        if self.study.splits is not None:
            raise UserError("class-balanced draws its own splits; leave out splits")
        return rule.max_train

    @cached_property
    def _drawn(self) -> DrawnSplits | None:
        """The splits in the file of the study, which must have the concepts of all levels."""
        if self.study.splits is None:
            return None
        splits = DrawnSplits.read(Path(self.study.splits))
        names = [each.name for each in self.data.domains if each.name != self.data.seen]
        needed = {concept for name in names for concept in self._concepts.get(name, ())}
        lacking = sorted(needed - splits.classes.keys())
        if lacking:
            few = f"{len(lacking):,} of {len(needed):,} concepts ({names_of(lacking)})"
            raise UserError(
                f"{self.study.splits}: no images of {few}; give the splits of these features, or leave out splits"
            )
        return splits

    @property
    def _concepts(self) -> dict[str, tuple[str, ...]]:
        return self.data.levels.known if self.data.levels else {}

    def planned(self, out: Path, means: Means) -> FoundFeatures:
        others, faults = self._others()
        features = list(others)
        if self._regrouping:
            for of in self._groups(out):
                there = of.places
                if there is None:
                    counts = ClassCounts(*(tuple(each) for each in of.counts))
                    rows = {"train": sum(counts.train), "test": sum(counts.test)}
                    size = (rows, len(counts.train), of.dimension)
                    features.append(
                        ProbedFeatures(of.backbone, of.domain, *size, samples=counts.samples, counts=counts)
                    )
                else:
                    features.append(self._domain(of.backbone, of.domain, there))
            features += self._as_they_are
        else:
            features += self._given
        return FoundFeatures(features, faults)

    def found(self, out: Path, means: Means, watch: "Watch") -> FoundFeatures:
        features, faults = self._others()
        if self._regrouping:
            domains = [self._domain(of.backbone, of.domain, of.written()) for of in self._groups(out)]
            domains += self._as_they_are
        else:
            domains = self._given
        for fault in faults:
            watch.tell(fault.sentence)
        return FoundFeatures([*domains, *features], faults)

    def _others(self) -> tuple[list[ProbedFeatures], list[Notice]]:
        """Features of data sets that are no domains, and what is wrong with the others."""
        features, faults = list[ProbedFeatures](), list[Notice]()
        others = [each for each in self.data.data if not each.is_domain]
        for data in others:
            try:
                found = find_features(self.folder, data.name, splits_of(data), self.backbones)
                features += [existing_features(backbone, data, places, ()) for backbone, places in found.items()]
            except UserError as error:
                text = str(error)
                faults.append(left_out(data.name, text if text.startswith(data.name) else f"{data.name}: {text}"))
        if others and not features and not self.data.domains:
            more = f" (and {len(faults) - 1} more that cannot be used)" if len(faults) > 1 else ""
            raise UserError(f"{faults[0].text}{more}")
        return features, faults

    @cached_property
    def _regrouping(self) -> bool:
        """Whether domains consist of rows of other features: of other levels, or of all classes together."""
        domains = self.data.domains
        if not domains:
            return False
        lacking = [each for each in domains if not (self.folder / each.name).is_dir()]
        if self.most is not None or lacking:
            unknown = next((each.name for each in domains if each.name not in self._concepts), None)
            known = self.most is not None or (self.data.levels is not None and self.data.levels.by_class)
            return unknown is None and (known or self._has_named(lacking))
        places = [self._first(each.name) for each in domains]
        return any(
            place is not None and not has_classes(place.path, self._concepts[each.name])
            for each, place in zip(domains, places, strict=True)
            if each.name in self._concepts
        ) and self._has_named(domains)

    def _has_named(self, domains: Sequence[StudyData]) -> bool:
        """Whether the folder has features of all concepts of some domains, in some grouping."""
        from unseen.studies.concepts.named_features import named_classes

        needed = {concept for each in domains for concept in self._concepts.get(each.name, ())}
        return bool(needed) and needed <= named_classes(self.folder)

    def _first(self, domain: str) -> Place | None:
        try:
            found = find_features(self.folder, domain, Splits(("train", "test"), ("val",)), self.backbones)
        except UserError:
            return None
        return next(iter(found.values()))["train"]

    def _groups(self, out: Path) -> Iterator[Grouped]:
        known = self._concepts
        levels = {each.name: known[each.name] for each in self.data.domains if each.name in known}
        for name in self._names:
            yield from grouped(self.folder, name, levels, out / FEATURES, most=self.most, seen=self.data.seen or SEEN)

    @property
    def _names(self) -> Sequence[str]:
        return self.backbones or [one_backbone(self.folder)]

    @cached_property
    def _as_they_are(self) -> list[ProbedFeatures]:
        """The features of domains whose concepts are not known, beside regrouped ones."""
        return [
            self._domain(backbone, each.name, places)
            for each in self.data.domains
            if each.name not in self._concepts
            for backbone, places in find_features(self.folder, each.name, splits_of(each), self._names).items()
        ]

    @cached_property
    def _given(self) -> list[ProbedFeatures]:
        """The features of domains in their own grouping, by backbone."""
        found = dict[str, dict[str, dict[str, Place]]]()
        unknown = next((each.name for each in self.data.domains if each.name not in self._concepts), None)
        if unknown is not None and self.most is not None:
            raise UserError(f"{unknown}: its concepts are not known; leave it out ({option('datasets')})")
        for data in self.data.domains:
            splits = splits_of(data)
            for backbone, places in find_features(self.folder, data.name, splits, self.backbones).items():
                found.setdefault(backbone, {})[data.name] = places
        if len(found) > 1 and not self.backbones:
            names = ", ".join(found)
            raise UserError(
                f"{self.folder}: features of several backbones ({names}); choose one or more ({option('backbone')})"
            )
        for backbone, by_domain in found.items():
            lacking = next((data.name for data in self.data.domains if data.name not in by_domain), None)
            if lacking:
                raise UserError(f"{self.folder / lacking}: no features of {backbone}, which the other domains have")
        features = list[ProbedFeatures]()
        for backbone, by_name in found.items():
            check_alike(place for places in by_name.values() for place in places.values())
            own = [self._domain(backbone, name, places) for name, places in by_name.items()]
            other = next((each for each in own if each.dimension != own[0].dimension), None)
            if other is not None:
                lengths = f"{other.dimension} dimensions, those of {own[0].dataset} {own[0].dimension}"
                raise UserError(
                    f"{self.folder / other.dataset}: features of {lengths}; they are of different backbones"
                )
            features += own
        return features

    def _domain(self, backbone: str, name: str, places: Mapping[str, Place]) -> ProbedFeatures:
        data = next(each for each in self.data.data if each.name == name)
        draw: Draw = "unknown" if self._drawn is None else "given" if self._drawn.rule is None else "ours"
        concepts = self._concepts.get(name, ())
        return existing_features(backbone, data, places, concepts, seen=self.data.seen, draw=draw, tell=self.tell)
