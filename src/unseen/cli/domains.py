"""The options that name the domains of a concept study and their images, for `unseen concepts` and `unseen extract`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.choices import choose
from unseen.cli.options import (
    DomainsOption,
    ImageNet1kOption,
    MissingOption,
    SeenOption,
    SplitsOption,
    TruthOption,
    VariantOption,
    VectorsOption,
)
from unseen.cli.output import note

if TYPE_CHECKING:
    from unseen.images.domains import OnMissing
    from unseen.studies.concepts.chosen import ChosenLevels
    from unseen.studies.concepts.images import ImagePlaces


@dataclass(frozen=True)
class DomainOptions:
    """Which domains, and where their images are."""

    vectors: VectorsOption = None
    domains: DomainsOption = None
    seen: SeenOption = None
    variant: VariantOption = "plain"
    imagenet_1k: ImageNet1kOption = None
    splits: SplitsOption = None
    truth: TruthOption = None
    on_missing: MissingOption = "fail"

    def levels(self, name: str, images: str | None = None, features: Path | None = None) -> "ChosenLevels":
        """The levels with this name, with the names of their domains.

        Args:
            images: of the user's own data, if its file does not name them.
            features: folder of features that are used instead of images.
        """
        from unseen.studies.concepts.chosen import choose_levels

        place = Path(images) if images else None
        return choose_levels(name, vectors=self.vectors, seen=self.seen, images=place, features=features, tell=note)

    def places(self, images: str | None, *, may_report: bool = True) -> "ImagePlaces":
        """The places of the images.

        Args:
            may_report: whether the study can continue without concepts that lack images.
        """
        from unseen.studies.concepts.images import ImagePlaces

        kinds: tuple[OnMissing, ...] = ("fail", "report")
        kind = choose("--on-missing", self.on_missing, kinds)
        return ImagePlaces(
            images, self.imagenet_1k, self.truth, self.splits, self.variant, kind if may_report else None
        )
