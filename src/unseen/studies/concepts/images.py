"""The images of a concept study: their locations, and the domains that are opened from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError, argument, option
from unseen.images.domains import SEEN, OnMissing, level_domains, seen_domain
from unseen.images.imagenet_1k import imagenet_1k
from unseen.images.open_dataset import OpenDataset
from unseen.images.open_source import open_images
from unseen.images.own.concept_data import ConceptData
from unseen.images.source import ImageSource
from unseen.images.splits import COG, Splits
from unseen.studies.concepts.chosen import ChosenLevels
from unseen.studies.concepts.variants import PLAIN, split_rule
from unseen.studies.study import Silent, Watch

INDEXED = "classes indexed"


@dataclass(frozen=True)
class ImagePlaces:
    """The locations of images, and how they are split.

    Attributes:
        images: images of the levels.
        imagenet_1k: images of the seen concepts.
        truth: file with the classes of a flat validation set in `imagenet_1k`.
        splits: file with the splits, instead of our own draw.
        on_missing: None if the caller has no such option; concepts without enough images are then an error.
    """

    images: str | None = None
    imagenet_1k: Path | None = None
    truth: Path | None = None
    splits: Path | None = None
    variant: str = PLAIN
    on_missing: OnMissing | None = None


def open_domains(
    chosen: ChosenLevels, names: Sequence[str], places: ImagePlaces, watch: Watch | None = None
) -> tuple[list[OpenDataset], list[str]]:
    """The images of domains, in order, and sentences about skipped concepts, which `watch` receives too."""
    told = watch or Silent()
    if chosen.data is not None:
        return _own_domains(chosen.data, names, places, told)
    rule = split_rule(places.variant)
    if places.splits and rule != COG:
        raise UserError(f"{option('variant', places.variant)} draws its own splits; leave out {argument('splits')}")
    found: dict[str, OpenDataset] = {}
    said: list[str] = []
    seen = chosen.seen_domain
    if seen in names:
        found[seen] = _seen(chosen, places, told)
    levels = {name: chosen.domains[name] for name in names if name != seen}
    if levels and places.images is None:
        raise UserError(
            f"{', '.join(levels)}: give the images of the levels ({option('images')}), ImageNet-21K for cog-v2"
        )
    if levels and places.images is not None:
        drawn, lost = level_domains(
            open_images(places.images, watch=lambda classes: told.track(classes, INDEXED)),
            levels,
            str(places.images),
            rule=rule,
            splits=Splits.read(places.splits) if places.splits else None,
            on_missing=places.on_missing or "fail",
            advice=f"{option('on-missing', 'report')} skips them" if places.on_missing else "",
        )
        found |= {domain.name: domain for domain in drawn}
        if lost:
            wanted = len(set[str]().union(*levels.values()))
            said.append(f"Left out: {lost.sentence(wanted, rule.test + rule.min_train)}.")
            told.tell(said[-1])
    return [found[name] for name in names], said


def _own_domains(
    data: ConceptData, names: Sequence[str], places: ImagePlaces, told: Watch
) -> tuple[list[OpenDataset], list[str]]:
    """The images of the user's own data."""
    given = [("imagenet-1k", places.imagenet_1k), ("truth", places.truth), ("splits", places.splits)]
    others = [name for name, place in given if place is not None]
    wrong = next(iter([*others, *(["variant"] if places.variant != PLAIN else [])]), None)
    if wrong is not None:
        raise UserError(f"{data.description.path}: defines training and test images; leave out {argument(wrong)}")
    domains, lost = data.open(names, places.on_missing or "fail", told.track)
    if not lost:
        return domains, []
    wanted = len({each for name in names for each in data.classes[name]})
    said = f"Left out: {lost.sentence(wanted, data.least)}."
    told.tell(said)
    return domains, [said]


def sources_of_tests(
    domains: Sequence[str], seen: str | None, places: ImagePlaces, watch: Watch | None = None
) -> dict[str, ImageSource]:
    """The sources of the test images of domains, as far as they were given.

    Args:
        seen: the domain of seen concepts.
    """
    told = watch or Silent()
    found: dict[str, ImageSource] = {}
    if places.images is not None:
        source = open_images(places.images, watch=lambda classes: told.track(classes, INDEXED))
        found |= {name: source for name in domains if name != seen}
    if places.imagenet_1k is not None and seen is not None and seen in domains:
        found[seen] = imagenet_1k(
            places.imagenet_1k, split="val", truth=places.truth, watch=lambda classes: told.track(classes, INDEXED)
        )
    return found


def _seen(chosen: ChosenLevels, places: ImagePlaces, watch: Watch) -> OpenDataset:
    place = places.imagenet_1k
    if place is None:
        rest = option("domains", [*chosen.domains])
        what = "ImageNet-1K" if chosen.seen_domain == SEEN else "the seen concepts"
        raise UserError(
            f"{chosen.seen_domain}: give the images of {what} ({option('imagenet-1k')}), or leave it out: {rest}"
        )
    train = imagenet_1k(place, split="train", watch=lambda classes: watch.track(classes, INDEXED))
    test = imagenet_1k(place, split="val", truth=places.truth, watch=lambda classes: watch.track(classes, INDEXED))
    return seen_domain(train, test, chosen.seen, str(place), chosen.seen_domain)
