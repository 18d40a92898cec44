"""WordNet 3.0 nouns, and which of them are ImageNet concepts, from the file inside the package.

The file is created by `scripts/build_wordnet.py`. Ids are ImageNet's (`n` and the eight-digit offset in the
dictionary), names are NLTK's (`tiger_cat.n.02`: first lemma, part of speech, number of the sense).
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean
from unseen.ontology.taxonomy import Taxonomy

DATA = Path(__file__).parent / "data"
NOUNS = DATA / "wordnet-3.0-nouns.npz"
PERSON = "n00007846"
ENTITY = "n00001740"


@dataclass(frozen=True)
class Synset:
    """One noun concept of WordNet."""

    wnid: str
    name: str
    lemmas: tuple[str, ...]
    gloss: str
    parents: tuple[str, ...]

    @property
    def definition(self) -> str:
        """The gloss without its quoted examples."""
        return re.split(r';\s*"', self.gloss, maxsplit=1)[0].strip()


class WordNet:
    """Lookups over the nouns; use `wordnet()`, which loads them once. Arrays are read on first use."""

    def __init__(self, path: Path = NOUNS) -> None:
        self._file = np.load(path, allow_pickle=False)

    def _array(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = self._file[name]
        return array

    def _lines(self, name: str) -> list[str]:
        return self._array(name).tobytes().decode().split("\n")

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return _ids(self._array("offset"))

    @cached_property
    def position(self) -> dict[str, int]:
        return {wnid: i for i, wnid in enumerate(self.ids)}

    @cached_property
    def _lemmas(self) -> list[str]:
        return self._lines("lemma")

    @cached_property
    def _lemma_start(self) -> list[int]:
        starts: list[int] = self._array("lemma_start").tolist()
        return starts

    @cached_property
    def names(self) -> tuple[str, ...]:
        senses = self._array("sense").tolist()
        return tuple(f"{self._lemmas[i].lower()}.n.{senses[i]:02d}" for i in self._lemma_start[:-1])

    @cached_property
    def glosses(self) -> list[str]:
        return self._lines("gloss")

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """All nouns under `entity`; both hypernyms and instance hypernyms are parents."""
        return Taxonomy(self.ids, self.names, self._array("parent_start"), self._array("parent"))

    @cached_property
    def _by_lemma(self) -> dict[str, list[tuple[int, int]]]:
        """Lower-case lemma → (sense number, position), in order of sense."""
        owners = np.repeat(np.arange(len(self.ids)), np.diff(self._lemma_start)).tolist()
        index: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for lemma, sense, owner in zip(self._lemmas, self._array("sense").tolist(), owners, strict=True):
            index[lemma.lower()].append((sense, owner))
        return {lemma: sorted(set(senses)) for lemma, senses in index.items()}

    def _at(self, position: int) -> Synset:
        start = self.taxonomy.parent_start
        parents = self.taxonomy.parents[start[position] : start[position + 1]]
        return Synset(
            wnid=self.ids[position],
            name=self.names[position],
            lemmas=self.lemmas(position),
            gloss=self.glosses[position],
            parents=tuple(self.ids[parent] for parent in parents),
        )

    def lemmas(self, position: int) -> tuple[str, ...]:
        """The lemmas of the synset at a position, with words joined by underscores as in WordNet."""
        return tuple(self._lemmas[self._lemma_start[position] : self._lemma_start[position + 1]])

    def synset(self, key: str) -> Synset:
        """The synset with an id (`n02123159`) or a name (`tiger_cat.n.02`)."""
        return self._at(self.position[self.wnid(key)])

    def wnid(self, key: str) -> str:
        """The id for an id or a name; a name may use any lemma of the synset."""
        if key in self.position:
            return key
        match = re.fullmatch(r"(.+)\.n\.(\d+)", key)
        if match:
            senses = self._by_lemma.get(match[1].lower().replace(" ", "_"), [])
            for number, position in senses:
                if number == int(match[2]):
                    return self.ids[position]
            if senses:
                raise UserError(f"{key} is not in WordNet 3.0: {match[1]} has {len(senses)} noun senses")
        if re.fullmatch(r"n\d{8}", key):
            raise UserError(f"{key} is not a noun synset of WordNet 3.0")
        word = key.lower().replace(" ", "_")
        if word in self._by_lemma:
            options = ", ".join(self.names[position] for _, position in self._by_lemma[word][:5])
            raise UserError(f"{key} is a word, not a concept; choose one of its senses: {options}")
        stem = match[1] if match else key
        hint = did_you_mean(stem.lower(), (lemma for lemma in self._by_lemma if lemma[:2] == stem[:2].lower()))
        raise UserError(f"{key} is not in WordNet 3.0{hint}")

    def find(self, lemma: str) -> list[Synset]:
        """The synsets of a word, in WordNet's order of senses; spaces and underscores are equivalent."""
        senses = self._by_lemma.get(lemma.strip().lower().replace(" ", "_"), [])
        return [self._at(position) for _, position in senses]

    def search(self, text: str) -> list[Synset]:
        """The synsets whose gloss contains `text`, ignoring case."""
        wanted = text.lower()
        return [self._at(i) for i, gloss in enumerate(self.glosses) if wanted in gloss.lower()]

    def members(self, name: str) -> tuple[str, ...]:
        """The ids of a set of concepts that ships with the package (see `CONCEPT_SETS`), ascending."""
        return _ids(self._array("offset")[self._array(CONCEPT_SETS[name])])


def _ids(offsets: NDArray[Any]) -> tuple[str, ...]:
    return tuple(f"n{offset:08d}" for offset in offsets.tolist())


CONCEPT_SETS = {"imagenet-1k": "imagenet_1k", "imagenet-21k": "imagenet_21k"}
"""Shipped sets of concepts: IN-1K (1,000) and the Fall 2011 release of IN-21K (21,841; it lacks n04399382 of IN-1K)."""


@lru_cache(maxsize=1)
def wordnet() -> WordNet:
    """The nouns of WordNet 3.0."""
    return WordNet()


def imagenet_taxonomy(more: Iterable[str] = ()) -> Taxonomy:
    """IN-21K and IN-1K with all their ancestors: the 23,547 nodes over which `cog-v2` counts concepts."""
    net = wordnet()
    return net.taxonomy.closure([*net.members("imagenet-21k"), *net.members("imagenet-1k"), *more], "WordNet 3.0")
