"""From the options of `unseen extract` and `unseen concepts` to levels, domains and their images."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.output import note, track
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.images.domains import DomainImages, OnMissing
    from unseen.ontology.levels import Levels

NAME = re.compile(r"[\w-][\w.-]*")


@dataclass(frozen=True)
class Chosen:
    """Levels, and what they are called as domains.

    Attributes:
        domains: ids of the concepts of each level, by the name of its domain.
        seen: ids of the seen concepts, None where they are whatever the seen images are of.
        seen_domain: what their domain is called.
    """

    levels: "Levels"
    domains: Mapping[str, tuple[str, ...]]
    seen: tuple[str, ...] | None
    seen_domain: str

    @property
    def names(self) -> tuple[str, ...]:
        """All domains, that of the seen concepts first."""
        return (self.seen_domain, *self.domains)


@dataclass(frozen=True)
class ImageOptions:
    """Where images are, and how they are drawn.

    Attributes:
        images: of the levels.
        imagenet_1k: of the seen concepts.
        truth: classes of a flat validation set among the latter.
        on_missing: None where the command has no such option: then concepts without enough images are an error.
    """

    images: str | None
    imagenet_1k: Path | None
    truth: Path | None = None
    splits: Path | None = None
    variant: str = "plain"
    on_missing: "OnMissing | None" = None


def choose_levels(name: str, vectors: Path | None, seen: str | None = None) -> Chosen:
    """Levels by what was given: a published set, a CSV file, a measure that ranks `cog-v2` again, or `random` sets.

    Args:
        seen: what to call the domain of the seen concepts, of levels in a CSV file.
    """
    from unseen.images.domains import SEEN
    from unseen.ontology.levels import SHIPPED, load_levels
    from unseen.ontology.measures import all_measures
    from unseen.ontology.wordnet import wordnet
    from unseen.runs.random_draws import DRAW, RANDOM
    from unseen.studies.concepts.variants import random_sets

    if name in all_measures():
        from unseen.cli.build_levels import reranked

        levels = reranked(SHIPPED[0], name, vectors, "imagenet-1k", option="--levels")
    elif vectors:
        raise UserError(f"--vectors is for --levels cosine, not {name}")
    else:
        levels = random_sets() if name == RANDOM else load_levels(name)
    prefix = RANDOM if name == RANDOM else "l"
    own = name not in {*SHIPPED, RANDOM, *all_measures()}
    domains = {f"{prefix}{number}": levels.ids(number) for number in levels.numbers}
    if seen is not None and not own:
        raise UserError(f"--seen is for levels of your own (a CSV file): the seen concepts of {name} are {SEEN}")
    if seen is not None and not NAME.fullmatch(seen):
        raise UserError(f"--seen names a domain and its folder: letters, digits, -, _ and ., not '{seen}'")
    if seen is not None and (seen.lower() in {*domains, RANDOM} or DRAW.fullmatch(seen)):
        raise UserError(f"--seen {seen}: levels or random sets are called so; give the seen concepts another name")
    known = None if own else tuple(sorted(wordnet().members("imagenet-1k")))
    return Chosen(levels, domains, known, seen or SEEN)


def open_domains(chosen: Chosen, names: Sequence[str], options: ImageOptions) -> "tuple[list[DomainImages], list[str]]":
    """The images of some domains, in order, and sentences on what was left out."""
    from unseen.images.domains import level_domains
    from unseen.images.open_source import open_images
    from unseen.images.splits import COG, Splits
    from unseen.studies.concepts.variants import split_rule

    rule = split_rule(options.variant)
    if options.splits and rule != COG:
        raise UserError(f"--variant {options.variant} draws its own images: leave out --splits")
    found: dict[str, DomainImages] = {}
    said: list[str] = []
    seen = chosen.seen_domain
    if seen in names:
        found[seen] = _seen(chosen, options)
    levels = {name: chosen.domains[name] for name in names if name != seen}
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
            on_missing=options.on_missing or "fail",
            advice="--on-missing report goes on without them" if options.on_missing else "",
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
        what = "ImageNet-1K" if chosen.seen_domain == SEEN else "the seen concepts"
        raise UserError(
            f"{chosen.seen_domain}: give the images of {what} (--imagenet-1k), or leave it out: --domains {rest}"
        )
    train = imagenet_1k(place, split="train", watch=lambda classes: track(classes, "classes indexed"))
    test = imagenet_1k(place, split="val", truth=options.truth, watch=lambda classes: track(classes, "classes indexed"))
    return seen_domain(train, test, chosen.seen, str(place), chosen.seen_domain)
