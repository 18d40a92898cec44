"""The levels of a study: published ones, by a measure, random sets, a file, or the user's own classes."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from unseen.data.concepts.domains import SEEN
from unseen.data.concepts.drawing_levels import SEEN as SEEN_DRAWN
from unseen.data.concepts.drawing_levels import drawing_domains, drawing_levels
from unseen.data.own.concept_data import ConceptData, open_concept_data
from unseen.data.own.concept_domains import own_domains
from unseen.data.own.concept_file import ConceptDescription, ConceptFile, is_concept_file, read_concept_file
from unseen.errors import UserError, setting
from unseen.ontology.levels import SHIPPED, Levels, load_levels, random_levels
from unseen.ontology.levels_hash import levels_hash
from unseen.ontology.measures import all_measures
from unseen.ontology.reranking import reranked
from unseen.ontology.wordnet import wordnet
from unseen.runs.random_draws import DRAW, RANDOM
from unseen.studies.concepts.drawings import DRAWN_LEVELS, DrawnLevels

DRAWS = 15
"""Number of random sets, as in ImageNet-CoG."""
NAME = re.compile(r"[\w-][\w.-]*")
SPLITTING = ("test_images", "train_split", "test_split", "test", "train", "least", "allow_duplicates")
"""Keys of a concept file that say which images are for training and for testing."""


@dataclass(frozen=True)
class ChosenLevels:
    """Levels and the names of their domains.

    Attributes:
        domains: ids of the concepts of each level, by the name of its domain.
        seen: ids of the seen concepts; None for the classes of the seen images.
        seen_domain: name of the domain of seen concepts.
        numbers: the level of each domain.
        data: the user's own data, if a file describes the levels and their images.
        by_class: whether a file describes the levels, and their features are found by the names of its classes.
        drawn: the levels of drawings that these are.
    """

    levels: Levels
    domains: Mapping[str, tuple[str, ...]]
    seen: tuple[str, ...] | None
    seen_domain: str
    numbers: Mapping[str, int]
    data: ConceptData | None = None
    by_class: bool = False
    drawn: DrawnLevels | None = None

    @property
    def published(self) -> str:
        """`cog-v2` or `cog-v1` if these are the published levels; empty for others."""
        own = levels_hash(self.levels)
        return next((name for name in SHIPPED if levels_hash(load_levels(name)) == own), "")

    @property
    def known(self) -> dict[str, tuple[str, ...]]:
        """The ids of the classes of each domain, as far as they are known before images are opened."""
        return dict(self.domains) | ({self.seen_domain: self.seen} if self.seen else {})

    @property
    def names(self) -> tuple[str, ...]:
        """All domains, the seen domain first."""
        return (self.seen_domain, *self.domains)


def choose_levels(
    levels: Levels | str | Path,
    *,
    vectors: Path | None = None,
    seen: str | None = None,
    images: Path | None = None,
    features: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> ChosenLevels:
    """Levels from an object, a published set, a CSV file, a measure that ranks `cog-v2` again, or `random` sets.

    Or those of drawings that come with the package.

    Or from a file of the user's own data (`unseen.data.own.concept_file`), whose images are checked. Levels are known
    by their contents: a file with the concepts of a published set is that set.

    Args:
        vectors: file of word vectors, for measures that compare text.
        seen: name of the domain of seen concepts, for the user's own levels.
        images: images of the user's own data, if its file does not name them.
        features: folder of features that are used instead of images.
        tell: called with messages about concepts without word vectors and about problems of the user's own data.
    """
    if not isinstance(levels, Levels) and is_concept_file(Path(levels)):
        if vectors or seen:
            raise UserError(f"{levels}: defines the seen classes; leave out {'word-vectors' if vectors else 'seen'}")
        if features is not None:
            return _levels_of_features(read_concept_file(Path(levels), features=True), features, tell)
        return own_levels(read_concept_file(Path(levels), images), tell)
    name = "" if isinstance(levels, Levels) else str(levels)
    if name in DRAWN_LEVELS:
        return _drawn_levels(name, vectors, seen)
    of_text = name in all_measures() and all_measures()[name].uses == "vectors"
    if vectors and not of_text:
        raise UserError(f'word-vectors needs levels = "cosine", not {name or "existing levels"}')
    if of_text and not vectors:
        raise UserError(f'levels = "{name}" compares text: give a word-vector file ({setting("word-vectors", "FILE")})')
    if name in all_measures():
        chosen = reranked(SHIPPED[0], name, vectors, "imagenet-1k", tell=tell)
    else:
        chosen = levels if isinstance(levels, Levels) else random_sets() if name == RANDOM else load_levels(levels)
    prefix = RANDOM if name == RANDOM else "l"
    numbers = {f"{prefix}{number}": number for number in chosen.numbers}
    domains = {domain: chosen.ids(number) for domain, number in numbers.items()}
    shipped = next((each for each in SHIPPED if levels_hash(chosen) == levels_hash(load_levels(each))), "")
    own = not shipped and name not in {RANDOM, *all_measures()}
    if shipped and not isinstance(levels, Levels):
        chosen = load_levels(shipped)
    if seen is not None:
        _check_seen(seen, domains, shipped or name if not own else "")
    known = None if own else tuple(sorted(wordnet().members("imagenet-1k")))
    return ChosenLevels(chosen, domains, known, seen or SEEN, numbers)


def _drawn_levels(name: str, vectors: Path | None, seen: str | None) -> ChosenLevels:
    """Levels of the drawings that come with the package."""
    if vectors:
        raise UserError(f'word-vectors needs levels = "cosine", not {name}')
    if seen is not None:
        raise UserError(f"seen is for levels of your own (a CSV file): the seen concepts of {name} are {SEEN_DRAWN}")
    levels, domains = drawing_levels(name).levels, drawing_domains(name)
    numbers = {f"l{number}": number for number in levels.numbers}
    unseen = {each: domains[each] for each in numbers}
    return ChosenLevels(levels, unseen, domains[SEEN_DRAWN], SEEN_DRAWN, numbers, drawn=DrawnLevels(name))


def own_levels(description: ConceptDescription, tell: Callable[[str], None]) -> ChosenLevels:
    """The levels or domains of the user's own data."""
    data = open_concept_data(description)
    for sentence in data.told:
        tell(sentence)
    _check_names(description, data.domains)
    return ChosenLevels(data.levels, data.domains, data.seen, data.seen_domain, data.numbers, data)


def _levels_of_features(description: ConceptDescription, features: Path, tell: Callable[[str], None]) -> ChosenLevels:
    """The levels or domains of the user's own classes, whose features exist already."""
    from unseen.studies.concepts.named_features import class_counts

    unused = [key for key in SPLITTING if getattr(description.file, key) != getattr(ConceptFile(), key)]
    if unused:
        tell(f"{description.path}: features are already split, so {', '.join(unused)} has no effect")
    own = own_domains(description, class_counts(features))
    for sentence in own.told:
        tell(sentence)
    _check_names(description, own.domains)
    seen, name = tuple(sorted(description.seen)), description.file.seen_name
    return ChosenLevels(own.levels, own.domains, seen, name, own.numbers, by_class=True)


def _check_names(description: ConceptDescription, domains: Collection[str]) -> None:
    """Refuse names of domains that folders and other domains could not have."""
    seen = description.file.seen_name
    for name in (seen, *description.domains):
        if not NAME.fullmatch(name) or DRAW.fullmatch(name) or name == SEEN:
            raise UserError(f"{description.path}: '{name}' cannot name a domain; use letters, digits, - and _")
    if seen.lower() in {"random", *([] if description.domains else domains)}:
        raise UserError(f"{description.path}: levels are called {seen}; give the seen classes another name")


def _check_seen(seen: str, domains: Mapping[str, object], published: str) -> None:
    if published:
        raise UserError(f"seen is for levels of your own (a CSV file): the seen concepts of {published} are {SEEN}")
    if not NAME.fullmatch(seen):
        raise UserError(f"seen names a domain and its folder: letters, digits, -, _ and ., not '{seen}'")
    if seen.lower() in {*domains, RANDOM} or DRAW.fullmatch(seen):
        raise UserError(f'seen = "{seen}": levels or random sets are called so; give the seen concepts another name')


def random_sets() -> Levels:
    """Random sets of the size of a level, drawn from all concepts of the published levels; as many as in the paper."""
    levels = load_levels("cog-v2")
    return random_levels(levels.concepts, DRAWS, len(levels.concepts) // len(levels), seed=0)
