"""The images of seen concepts and of levels, opened as data sets."""

from collections.abc import Sequence
from pathlib import Path

from unseen.data.concepts.domains import SEEN, level_domains, seen_domain
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import ImageSource
from unseen.data.core.splits import COG, COG_BALANCED, SplitRule, Splits
from unseen.data.core.tars.index import Watch as IndexWatch
from unseen.data.own.concept_data import ConceptData
from unseen.data.sources.imagenet_1k import imagenet_1k
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError, option
from unseen.runs.setup import SplitsUsed
from unseen.studies.concepts.levels import ChosenLevels
from unseen.studies.places import LEVELS, TRUTH, Places, named_place
from unseen.studies.places import SEEN as IMAGENET_1K
from unseen.studies.study import Study
from unseen.studies.watch import Watch

INDEXED = "classes indexed"


def split_rule(study: Study) -> SplitRule:
    """The numbers of training and test images per concept."""
    return COG_BALANCED if study.class_balanced else COG


def open_domains(
    study: Study, chosen: ChosenLevels, names: Sequence[str], places: Places, watch: Watch
) -> tuple[list[OpenDataset], list[str]]:
    """The images of domains, in order, and sentences about skipped concepts."""
    if chosen.data is not None:
        return _own_domains(study, chosen.data, names, watch)
    if chosen.drawn is not None:
        _refuse_splits(study, str(study.levels))
        return chosen.drawn.open(names), []
    rule, found, said = split_rule(study), dict[str, OpenDataset](), list[str]()
    if study.splits and rule != COG:
        raise UserError("class-balanced draws its own splits; leave out splits")
    seen = chosen.seen_domain
    if seen in names:
        found[seen] = _seen(chosen, places, watch)
    levels, images = {name: chosen.domains[name] for name in names if name != seen}, places.place(LEVELS)
    if levels and images is None:
        raise UserError(
            f"{', '.join(levels)}: give the images of the levels ({named_place(LEVELS, 'PLACE')}), ImageNet-21K "
            "for cog-v2"
        )
    if levels and images is not None:
        drawn, lost = level_domains(
            open_images(images, watch=_tracked(watch)),
            levels,
            images,
            rule=rule,
            splits=Splits.read(Path(study.splits)) if study.splits else None,
            on_missing="report" if study.missing_classes == "skip" else "fail",
            advice='missing-classes = "skip" leaves them out',
        )
        found |= {domain.name: domain for domain in drawn}
        if lost:
            wanted = len(set[str]().union(*levels.values()))
            said.append(f"Left out: {lost.sentence(wanted, rule.test + rule.min_train)}.")
            watch.tell(said[-1])
    return [found[name] for name in names], said


def _own_domains(
    study: Study, data: ConceptData, names: Sequence[str], watch: Watch
) -> tuple[list[OpenDataset], list[str]]:
    """The images of the user's own data."""
    _refuse_splits(study, str(data.description.path))
    domains, lost = data.open(names, "report" if study.missing_classes == "skip" else "fail", watch.track)
    if not lost:
        return domains, []
    wanted = len({each for name in names for each in data.classes[name]})
    sentence = f"Left out: {lost.sentence(wanted, data.least)}."
    watch.tell(sentence)
    return domains, [sentence]


def _refuse_splits(study: Study, where: str) -> None:
    """Refuse settings of splits for levels that define their training and test images."""
    wrong = "splits" if study.splits else "class-balanced" if study.class_balanced else ""
    if wrong:
        raise UserError(f"{where}: defines training and test images; leave out {wrong}")


def _seen(chosen: ChosenLevels, places: Places, watch: Watch) -> OpenDataset:
    place = places.path(IMAGENET_1K)
    if place is None:
        rest = option("datasets", [*chosen.domains])
        what = "ImageNet-1K" if chosen.seen_domain == SEEN else "the seen concepts"
        raise UserError(
            f"{chosen.seen_domain}: give the images of {what} ({named_place(IMAGENET_1K, 'FOLDER')}), or leave it "
            f"out: {rest}"
        )
    truth = places.path(TRUTH)
    train = imagenet_1k(place, split="train", watch=_tracked(watch))
    test = imagenet_1k(place, split="val", truth=truth, watch=_tracked(watch))
    return seen_domain(train, test, chosen.seen, str(place), chosen.seen_domain)


def test_sources(domains: Sequence[str], seen: str | None, places: Places, watch: Watch) -> dict[str, ImageSource]:
    """The sources of the test images of domains, as far as they are given.

    Args:
        seen: the domain of seen concepts.
    """
    found: dict[str, ImageSource] = {}
    images, imagenet = places.place(LEVELS), places.path(IMAGENET_1K)
    if images is not None:
        source = open_images(images, watch=_tracked(watch))
        found |= {name: source for name in domains if name != seen}
    if imagenet is not None and seen is not None and seen in domains:
        found[seen] = imagenet_1k(imagenet, split="val", truth=places.path(TRUTH), watch=_tracked(watch))
    return found


def splits_used(study: Study, chosen: ChosenLevels) -> SplitsUsed | None:
    """How the images of the levels are split: by a file, by our own draw, or as the user's own data say.

    None for drawings, whose splits never change.
    """
    if chosen.drawn is not None:
        return None
    if chosen.data is not None:
        rule, description = chosen.data.rule, chosen.data.description
        if rule is None:
            return SplitsUsed(file=description.path.name)
        return SplitsUsed(seed=0, test=rule.test, max_train=description.file.train or None)
    if study.splits is not None:
        return SplitsUsed(file=Path(study.splits).name, hash=Splits.read(Path(study.splits)).content_hash)
    rule = split_rule(study)
    return SplitsUsed(seed=0, test=rule.test, max_train=rule.max_train)


def _tracked(watch: Watch) -> IndexWatch:
    return lambda classes: watch.track(classes, INDEXED)
