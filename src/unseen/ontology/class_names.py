"""Concepts from class names: ids, synset names, and plain words, which may mean several concepts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from unseen.errors import UserError
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import Synset, WordNet, wordnet

SHOWN = 5
"""Number of classes named in an error, and of senses of each."""
HOW = (
    "say which concept is meant, in [concepts] of a TOML file or the column concept of a CSV file; unseen levels "
    "lookup has the meanings of a word, and first_sense = true in a TOML file takes the most frequent one"
)


@dataclass(frozen=True)
class NamedConcepts:
    """The concept of each class.

    Attributes:
        ids: class → id in the taxonomy.
        guessed: class → concept, for words with several meanings.
    """

    ids: Mapping[str, str]
    guessed: Mapping[str, str]


def concepts_of_classes(
    classes: Iterable[str],
    given: Mapping[str, str],
    taxonomy: Taxonomy | None,
    where: str,
    *,
    first_sense: bool = False,
) -> NamedConcepts:
    """The concept of each class; classes without a unique concept are an error that names them and their senses.

    With WordNet, a word is the noun of that name if there is only one. Among several senses, the most frequent one is
    taken if it alone is an ImageNet-21K concept, and can therefore be seen in pictures.

    Args:
        given: class → id or name of its concept, if specified.
        taxonomy: a user's own, in which classes are ids or names; None for WordNet 3.0.
        where: name of the class list in error messages.
        first_sense: whether a word always has its most frequent meaning.
    """
    labels = list(dict.fromkeys(classes))
    find = _finder(taxonomy, first=first_sense)
    ids, guessed, wrong = dict[str, str](), dict[str, str](), list[str]()
    for label in labels:
        try:
            ids[label], guess = find(given.get(label, label))
            if guess:
                guessed[label] = guess
        except UserError as error:
            wrong.append(str(error))
    if wrong:
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise UserError(f"{where}: {'; '.join(wrong[:SHOWN])}{more}; {HOW}")
    _refuse_twice(ids, where)
    return NamedConcepts(ids, guessed)


def concept_of_word(key: str, taxonomy: Taxonomy | None = None) -> str:
    """The id of the single concept of an id, a name or a word; a word with several senses is an error.

    Args:
        taxonomy: a user's own, in which concepts have ids and names; None or WordNet's taxonomy for WordNet 3.0.
    """
    if not isinstance(key, str):
        raise UserError(f"a concept is given by its id, its name or a word, not by {key!r}")
    concept, guess = _finder(_own(taxonomy), first=False)(key)
    return wordnet().wnid(key) if guess else concept  # its error lists the senses


def is_concept(key: str, taxonomy: Taxonomy | None = None) -> bool:
    """Whether a text is, or looks like, the id, the name or a word of a concept; the arguments are as above."""
    return _finder(_own(taxonomy), first=False).knows(key)


def are_concepts(keys: Iterable[str]) -> bool:
    """Whether every text is, or looks like, the id, the name or a word of a concept of WordNet 3.0."""
    finder = _finder(None, first=False)
    return all(finder.knows(key) for key in keys)


def _own(taxonomy: Taxonomy | None) -> Taxonomy | None:
    return None if taxonomy is wordnet().taxonomy else taxonomy


def _refuse_twice(ids: Mapping[str, str], where: str) -> None:
    first = dict[str, str]()
    for label, concept in ids.items():
        if concept in first:
            raise UserError(f"{where}: {first[concept]} and {label} are the same concept ({concept})")
        first[concept] = label


class _InWordNet:
    """Looks up a class among the nouns of WordNet: (id, its name if it was chosen among several)."""

    def __init__(self, net: WordNet, *, first: bool = False) -> None:
        self._net, self._first = net, first
        self._pictured = {*net.members("imagenet-21k"), *net.members("imagenet-1k")}

    def knows(self, key: str) -> bool:
        return key in self._net.position or ".n." in key or bool(self._senses(key))

    def _senses(self, key: str) -> list[Synset]:
        word = " ".join(key.replace("_", " ").replace("-", " ").split())
        return self._net.find(key) or self._net.find(word)

    def __call__(self, key: str) -> tuple[str, str]:
        net = self._net
        senses = [] if key in net.position or ".n." in key else self._senses(key)
        if not senses:
            return net.wnid(key), ""
        pictured = [each for each in senses if each.wnid in self._pictured]
        if len(senses) == 1:
            return senses[0].wnid, ""
        if pictured == senses[:1]:
            return pictured[0].wnid, pictured[0].name
        if self._first:
            return senses[0].wnid, senses[0].name
        raise UserError(f"{key} may be {', '.join(each.name for each in senses[:SHOWN])}")


class _InTaxonomy:
    """Looks up a class among the nodes of a user's own taxonomy, by id or by name."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._named = dict[str, list[str]]()
        for node, name in zip(taxonomy.ids, taxonomy.names, strict=True):
            self._named.setdefault(name, []).append(node)

    def knows(self, key: str) -> bool:
        return key in self._taxonomy.position or key in self._named

    def __call__(self, key: str) -> tuple[str, str]:
        if key in self._taxonomy.position:
            return key, ""
        named = self._named.get(key, [])
        if len(named) > 1:
            raise UserError(f"{key} may be {', '.join(named[:SHOWN])}")
        if not named:
            self._taxonomy.index([key])
        return named[0], ""


@lru_cache(maxsize=4)  # lists of classes are looked up one by one
def _finder(taxonomy: Taxonomy | None, *, first: bool) -> _InWordNet | _InTaxonomy:
    return _InWordNet(wordnet(), first=first) if taxonomy is None else _InTaxonomy(taxonomy)
