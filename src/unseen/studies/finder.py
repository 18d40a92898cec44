"""Features that are extracted from images: which are missing, what it takes to extract them, and where they are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.extract import store_place
from unseen.features.settings import Settings, extraction_settings
from unseen.features.speed import Speed, extraction_seconds, seconds_per_image
from unseen.runs.extraction import Pass, Watching, extract_passes
from unseen.runs.means import Means
from unseen.runs.parts import WHOLE, Part
from unseen.studies.stored_features import damaged_images
from unseen.studies.study import Study

Stores = Mapping[str, Sequence[Mapping[str, Path]]]
"""Data set → for each backbone, split → the folder of its features."""


def study_settings(study: Study, means: Means, part: Part) -> Settings:
    """The settings of the extractions of a study."""
    return extraction_settings(
        None,
        study.precision,
        study.batch,
        means.decoding,
        "report" if study.on_error == "skip" else "fail",
        fast=study.fast,
        exif=study.exif,
        decode=study.decode,
        part=part,
    )


@dataclass(frozen=True, eq=False)
class Finder:
    """Finds the features of some images by some backbones, and extracts those that are missing.

    Attributes:
        passes: the images by data set and split; one pass over the images of each serves all backbones.
        speeds: seconds per image of each source, measured once (`seconds_per_image`).
    """

    passes: Sequence[Pass]
    backbones: Sequence[Backbone]
    settings: Settings
    speeds: dict[int, Speed] = field(default_factory=dict, repr=False)

    def of(self, *names: str) -> "Finder":
        """The features of some of the data sets."""
        return replace(self, passes=[each for each in self.passes if each.name in names])

    def missing(self, *, whole: bool = False) -> list[int]:
        """Number of images without features by backbone, all splits together.

        Args:
            whole: count what other parts of a job array extract, too.
        """
        specs = [each.spec for each in self.backbones]
        how = replace(self.settings, part=WHOLE) if whole else self.settings
        rows = [remaining_rows(each.source, each.manifest, each.split, specs, each.folder, how) for each in self.passes]
        return [sum(of) for of in zip(*rows, strict=True)]

    def seconds(self, missing: Sequence[int], places: int = 1) -> float:
        """Estimated seconds to extract the features of that many images by each backbone.

        Args:
            places: number of GPUs working in parallel.
        """
        if not any(missing):
            return 0.0
        source = self.passes[0].source
        if id(source) not in self.speeds:
            self.speeds[id(source)] = seconds_per_image(source, self.backbones, self.settings)
        return extraction_seconds(self.speeds[id(source)], missing, self.settings, places)

    def bytes(self, missing: Sequence[int]) -> list[int]:
        """Bytes of the features of that many images, by backbone."""
        pairs = zip(self.backbones, missing, strict=True)
        return [feature_bytes(images, backbone.spec.dimension, self.settings) for backbone, images in pairs]

    def stores(self) -> Stores:
        """Where the features are, or will be."""
        return self._by_name(
            [
                store_place(each.source, each.manifest, each.split, backbone.spec, each.folder, self.settings)
                for backbone in self.backbones
            ]
            for each in self.passes
        )

    def extracted(self, means: Means, watch: Watching) -> Stores:
        """Where the features are, after the missing ones of this part have been extracted."""
        return self._by_name(extract_passes(means, self.passes, self.backbones, self.settings, watch))

    def _by_name(self, stores: Iterable[Sequence[Path]]) -> Stores:
        found: dict[str, list[dict[str, Path]]] = {each.name: [{} for _ in self.backbones] for each in self.passes}
        for each, paths in zip(self.passes, stores, strict=True):
            for of_backbone, path in zip(found[each.name], paths, strict=True):
                of_backbone[each.split] = path
        return found


def tell_damaged(name: str, stores: Sequence[Mapping[str, Path]], tell: Callable[[str], None]) -> None:
    """Tell how many damaged images the features of a data set lack.

    Args:
        stores: for each backbone, split → the folder of its features.
    """
    sentences = [damaged_images(f"{name}, {split}", path) for of in stores for split, path in of.items()]
    for sentence in filter(None, sentences):
        tell(sentence)
