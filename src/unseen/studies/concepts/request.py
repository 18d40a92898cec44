"""The request for a concept study: its options and the source of its features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, argument, names_of, option
from unseen.features.settings import Settings
from unseen.images.splits import COG, Splits
from unseen.papers.comparability import Draw
from unseen.runs.means import Means
from unseen.runs.notices import told
from unseen.runs.record import LEVELS
from unseen.runs.setup import SplitsUsed
from unseen.studies.concepts.chosen import ChosenLevels
from unseen.studies.concepts.features import class_names
from unseen.studies.concepts.images import ImagePlaces, open_domains
from unseen.studies.concepts.leaderboard import refuse_other_data
from unseen.studies.concepts.named_features import one_backbone
from unseen.studies.concepts.plan import Asked
from unseen.studies.concepts.sources import GivenFeatures, ImageFeatures, RegroupedFeatures, Source
from unseen.studies.concepts.study import own_splits, splits_used, study_jobs, study_run
from unseen.studies.concepts.variants import split_rule
from unseen.studies.prepared import prepared_probes
from unseen.studies.study import Plan, Prepared, Watch


@dataclass(frozen=True, eq=False)
class ConceptRequest:
    """A concept study.

    Attributes:
        published: whether features are refused before probing if their data differ from those of the published numbers.
    """

    asked: Asked
    source: Source
    published: bool = False

    def plan(self, out: Path, means: Means) -> Plan:
        """Plan the work in a folder; a folder with another run is refused."""
        return self.source.plan(self.asked, out, means)

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """Prepare the study, and extract missing features."""
        found = self.source.features(self.asked, out, watch, means)
        planned = study_run(
            self.asked, found.pairs, found.places, images=found.images, splits=found.splits, notices=found.notices
        )
        if self.published:
            refuse_other_data(out, planned)
        jobs, levels = study_jobs(self.asked, found.pairs), self.asked.levels
        return prepared_probes(planned, jobs, found.pairs, write_beside=lambda folder: levels.write(folder / LEVELS))


def request_of_features(
    asked: Asked,
    folder: Path,
    backbones: Sequence[str] = (),
    watch: Watch | None = None,
    *,
    regroup: bool = False,
    by_class: bool = False,
    splits: Path | None = None,
    published: bool = False,
) -> ConceptRequest:
    """A study of existing features.

    Args:
        folder: folder with one folder per domain.
        backbones: the backbones whose features are used; may be empty if there is only one.
        regroup: whether the features are of the same concepts in other levels and are regrouped.
        by_class: regroup the features unless there is a folder for each domain.
        splits: file with the splits of the images that the features were extracted from.
        published: as in `ConceptRequest`.
    """
    if by_class and (regroup or not all((folder / domain).is_dir() for domain in asked.domains)):
        regroup, backbones = True, backbones or [one_backbone(folder)]
    drawn: SplitsUsed | None = None
    if splits is not None:
        asked, drawn = _of_splits(asked, splits)
    if not regroup:
        given = GivenFeatures.below(folder, asked, backbones, drawn, watch.tell if watch else None)
        named = class_names(next(iter(given.found.places.values())))
        return ConceptRequest(replace(asked, concepts={**named, **asked.concepts}), given, published)
    if not backbones:
        raise UserError(f"name the backbone whose features to regroup ({option('backbone')})")
    unknown = [name for name in asked.domains if name not in asked.concepts]
    if unknown:
        raise UserError(f"{unknown[0]}: its concepts are not known; leave it out ({option('domains')})")
    return ConceptRequest(asked, RegroupedFeatures(folder, tuple(backbones), drawn), published)


def _of_splits(asked: Asked, file: Path) -> tuple[Asked, SplitsUsed]:
    """The options with the draw of a file of splits, which must have the concepts of all levels."""
    if split_rule(asked.variant) != COG:
        raise UserError(f"{option('variant', asked.variant)} draws its own splits; leave out {argument('splits')}")
    splits = Splits.read(file)
    needed = {name for domain in asked.domains if domain != asked.seen for name in asked.concepts.get(domain, ())}
    lacking = sorted(needed - splits.classes.keys())
    if lacking:
        raise UserError(
            f"{file}: no images of {len(lacking):,} of {len(needed):,} concepts ({names_of(lacking)}); give the splits "
            f"of these features, or leave out {argument('splits')}"
        )
    drawn = replace(asked, draw="given" if splits.rule is None else "ours")
    return drawn, SplitsUsed(file=file.name, hash=splits.content_hash)


def request_of_images(
    asked: Asked,
    chosen: ChosenLevels,
    places: ImagePlaces,
    backbones: Sequence[Backbone],
    settings: Settings,
    watch: Watch | None = None,
    *,
    published: bool = False,
) -> ConceptRequest:
    """A study of images, which are indexed now and extracted when the study is run."""
    domains, said = open_domains(chosen, asked.domains, places, watch)
    draw: Draw = "ours" if places.splits is None else "given"  # if stores of an earlier version do not record it
    asked = replace(asked, concepts={domain.name: domain.classes for domain in domains}, draw=draw)
    drawn = own_splits(chosen.data) if chosen.data else splits_used(places.splits, places.variant)
    source = ImageFeatures(domains, backbones, settings, drawn, [told(text) for text in said])
    return ConceptRequest(asked, source, published)
