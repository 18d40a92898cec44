"""From the options of `unseen extract` and `unseen concepts` to levels, domains and their images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import note, track
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.images.domains import DomainImages, OnMissing
    from unseen.ontology.levels import Levels


@dataclass(frozen=True)
class Chosen:
    """Levels, and what they are called as domains.

    Attributes:
        domains: ids of the concepts of each level, by the name of its domain.
        seen: ids of the seen concepts, None where they are whatever the seen images are of.
    """

    levels: "Levels"
    domains: Mapping[str, tuple[str, ...]]
    seen: tuple[str, ...] | None


@dataclass(frozen=True)
class ImageOptions:
    """Where images are, and how they are drawn.

    Attributes:
        images: of the levels.
        imagenet_1k: of the seen concepts.
        truth: classes of a flat validation set among the latter.
    """

    images: str | None
    imagenet_1k: Path | None
    truth: Path | None = None
    splits: Path | None = None
    variant: str = "plain"
    on_missing: "OnMissing" = "fail"


def choose_levels(name: str, vectors: Path | None) -> Chosen:
    """Levels by what was given: a published set, a CSV file, a measure that ranks `cog-v2` again, or `random` sets."""
    from unseen.ontology.levels import SHIPPED, load_levels
    from unseen.ontology.measures import all_measures
    from unseen.ontology.wordnet import wordnet
    from unseen.studies.concept_variants import RANDOM, random_sets

    if name in all_measures():
        from unseen.cli.build_levels import reranked

        levels = reranked(SHIPPED[0], name, vectors, "imagenet-1k")
    elif vectors:
        raise UserError(f"--vectors is for --levels cosine, not {name}")
    else:
        levels = random_sets() if name == RANDOM else load_levels(name)
    prefix = RANDOM if name == RANDOM else "l"
    own = name not in {*SHIPPED, RANDOM, *all_measures()}
    domains = {f"{prefix}{number}": levels.ids(number) for number in levels.numbers}
    return Chosen(levels, domains, None if own else tuple(sorted(wordnet().members("imagenet-1k"))))


def open_domains(chosen: Chosen, names: Sequence[str], options: ImageOptions) -> "tuple[list[DomainImages], list[str]]":
    """The images of some domains, in order, and sentences on what was left out."""
    from unseen.images.domains import SEEN, level_domains
    from unseen.images.open_source import open_images
    from unseen.images.splits import COG, Splits
    from unseen.studies.concept_variants import split_rule

    rule = split_rule(options.variant)
    if options.splits and rule != COG:
        raise UserError(f"--variant {options.variant} draws its own images: leave out --splits")
    found: dict[str, DomainImages] = {}
    said: list[str] = []
    if SEEN in names:
        found[SEEN] = _seen(chosen, options)
    levels = {name: chosen.domains[name] for name in names if name != SEEN}
    if levels and options.images is None:
        raise UserError(f"{', '.join(levels)}: give the images of the levels (--images), ImageNet-21K for cog-v2")
    if levels and options.images is not None:
        source = open_images(options.images, watch=lambda classes: track(classes, "classes indexed"))
        drawn, lost = level_domains(
            source,
            levels,
            str(options.images),
            rule=rule,
            splits=Splits.read(options.splits) if options.splits else None,
            on_missing=options.on_missing,
        )
        found |= {domain.name: domain for domain in drawn}
        if lost:
            wanted = len(set[str]().union(*levels.values()))
            said.append(f"Left out: {lost.sentence(wanted, rule.test + rule.min_train)}.")
            note(said[-1])
    return [found[name] for name in names], said


def _seen(chosen: Chosen, options: ImageOptions) -> "DomainImages":
    from unseen.images.domains import SEEN, seen_domain
    from unseen.images.imagenet_1k import imagenet_1k

    place = options.imagenet_1k
    if place is None:
        rest = ",".join(chosen.domains)
        raise UserError(f"{SEEN}: give the images of ImageNet-1K (--imagenet-1k), or leave it out: --domains {rest}")
    train = imagenet_1k(place, split="train", watch=lambda classes: track(classes, "classes indexed"))
    test = imagenet_1k(place, split="val", truth=options.truth, watch=lambda classes: track(classes, "classes indexed"))
    return seen_domain(train, test, chosen.seen, str(place))
