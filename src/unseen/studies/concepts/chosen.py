"""The choices of a concept study: levels, domains, probes, shots and seeds, from a command or from Python."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError, argument, did_you_mean, option
from unseen.images.domains import SEEN
from unseen.images.own.concept_data import ConceptData, open_concept_data
from unseen.images.own.concept_domains import own_domains
from unseen.images.own.concept_file import ConceptDescription, ConceptFile, is_concept_file, read_concept_file
from unseen.ontology.levels import SHIPPED, Levels, load_levels
from unseen.ontology.levels_hash import levels_hash
from unseen.ontology.measures import all_measures
from unseen.ontology.reranking import reranked
from unseen.ontology.wordnet import wordnet
from unseen.probes.by_name import feature_probes
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.protocol import protocol_named
from unseen.runs.random_draws import DRAW, RANDOM
from unseen.runs.shots import Shots, seed_count, shots_in_python
from unseen.studies.concepts.plan import Asked
from unseen.studies.concepts.variants import PLAIN, random_sets
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.probing import SHOTS

NAME = re.compile(r"[\w-][\w.-]*")
SPLITTING = ("test_images", "train_split", "test_split", "test", "train", "least", "allow_duplicates")
"""Keys of a concept file that say which images are for training and for testing."""
Names = str | Sequence[str] | None
"""Names separated by commas, or a sequence of names; None for the default."""


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
    """

    levels: Levels
    domains: Mapping[str, tuple[str, ...]]
    seen: tuple[str, ...] | None
    seen_domain: str
    numbers: Mapping[str, int]
    data: ConceptData | None = None
    by_class: bool = False

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

    Or from a file of the user's own data (`unseen.images.own.concept_file`), whose images are checked. Levels are known
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
            raise UserError(
                f"{levels}: defines the seen classes; leave out {argument('vectors' if vectors else 'seen')}"
            )
        if features is not None:
            return _levels_of_features(read_concept_file(Path(levels), features=True), features, tell)
        return own_levels(read_concept_file(Path(levels), images), tell)
    name = "" if isinstance(levels, Levels) else str(levels)
    if name in all_measures():
        chosen = reranked(SHIPPED[0], name, vectors, "imagenet-1k", by="levels", tell=tell)
    elif vectors:
        raise UserError(f"{argument('vectors')} needs {option('levels', 'cosine')}, not {name or 'existing levels'}")
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
        raise UserError(
            f"{argument('seen')} is for levels of your own (a CSV file): the seen concepts of {published} are {SEEN}"
        )
    if not NAME.fullmatch(seen):
        raise UserError(f"{argument('seen')} names a domain and its folder: letters, digits, -, _ and ., not '{seen}'")
    if seen.lower() in {*domains, RANDOM} or DRAW.fullmatch(seen):
        raise UserError(
            f"{option('seen', seen)}: levels or random sets are called so; give the seen concepts another name"
        )


def chosen_domains(names: Names, known: Sequence[str]) -> tuple[str, ...]:
    """Domains from `l1,l5` or ["l1", "l5"], in the order of the study; all of them for None."""
    return tuple(known) if names is None else _some(names, known, "domains")


def with_names(extended: Names, further: Sequence[str]) -> Names:
    """The names of additional probes from both options."""
    if not further:
        return extended
    return [*([] if extended is None else extended.split(",") if isinstance(extended, str) else extended), *further]


def chosen_probes(names: Names) -> tuple[str, ...]:
    """Additional probes from `kmeans,pca`, in alphabetical order; none for None.

    `all` selects those of the first version of ImageNet-CoG.
    """
    if names is None:
        return ()
    known = {name: probe for name, probe in feature_probes().items() if name != Logistic.name}
    found = _some(names, (*known, "all"), "additional probes")
    return tuple(name for name, probe in known.items() if name in found or ("all" in found and probe.extended))


def _some(names: str | Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """The selected names among those known, in their order; case is ignored."""
    parts = names.split(",") if isinstance(names, str) else names
    words = [word.strip().lower() for word in parts if word.strip()]
    wrong = next((word for word in words if word not in {name.lower() for name in known}), None)
    if wrong is not None:
        raise UserError(f"{what} must be among {', '.join(known)}, not '{wrong}'{did_you_mean(wrong, known)}")
    if not words:
        raise UserError(f"no {what} are selected; name at least one of {', '.join(known)}")
    return tuple(name for name in known if name.lower() in words)


def asked_of(
    chosen: ChosenLevels,
    *,
    domains: Names = None,
    shots: Shots = None,
    seeds: int = 5,
    protocol: str = "cog-v2",
    sequential: bool = False,
    variant: str = PLAIN,
    extended: Names = None,
    own: OwnCode = NO_CODE,
) -> Asked:
    """Check the options of a study.

    Args:
        shots: None for those of the paper.
        sequential: one trial at a time, as in the paper.
        extended: additional probes.
        own: probes and metrics of the user's own.
    """
    names = chosen_domains(domains, chosen.names)
    known = dict(chosen.domains) | ({chosen.seen_domain: chosen.seen} if chosen.seen else {})
    return Asked(
        levels=chosen.levels,
        domains=names,
        concepts={name: known[name] for name in names if name in known},
        protocol=protocol_named(protocol, sequential=sequential),
        shots=SHOTS if shots is None else shots_in_python(shots),
        seeds=seed_count(seeds),
        variant=variant,
        extended=chosen_probes(extended),
        own=own,
        seen=chosen.seen_domain,
        numbers=chosen.numbers,
    )
