"""Concepts as vectors, from the words of their names and glosses (Sariyildiz et al. 2021, appendix D)."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unseen.errors import UserError
from unseen.ontology.information import Floats
from unseen.ontology.word_vectors import WordVectors
from unseen.ontology.wordnet import wordnet

TOKEN = re.compile(r"\w+(?:['-]\w+)*")


@dataclass(frozen=True)
class ConceptText:
    """Text about a concept: its names, of one or several words, and its description."""

    names: tuple[str, ...]
    gloss: str


def wordnet_texts(ids: Iterable[str]) -> list[ConceptText]:
    """Lemmas and definition of each synset, as in ImageNet's own lists of names and glosses."""
    net = wordnet()
    synsets = (net.synset(wnid) for wnid in ids)
    return [ConceptText(tuple(lemma.replace("_", " ") for lemma in s.lemmas), s.definition) for s in synsets]


def words(text: str) -> list[str]:
    """Lower-case words; hyphens and apostrophes inside a word belong to it."""
    return TOKEN.findall(text.lower())


def entity_keys(name: str) -> list[str]:
    """The forms in which a name of several words may occur in a vocabulary, most specific first."""
    joined = name.strip().replace(" ", "_")
    titled = joined[:1].upper() + joined[1:]
    return [f"ENTITY/{joined}", f"ENTITY/{titled}", joined, joined.lower(), joined.lower().replace("_", "-")]


def vocabulary(texts: Iterable[ConceptText]) -> set[str]:
    """Every word and every form of a whole name that `concept_vectors` may look up."""
    wanted: set[str] = set()
    for text in texts:
        wanted.update(words(text.gloss))
        for name in text.names:
            wanted.update(words(name))
            wanted.update(entity_keys(name) if " " in name.strip() else [])
    return wanted


def concept_vectors(texts: Sequence[ConceptText], vectors: WordVectors) -> Floats:
    """(n, d): for each concept, the tf-idf weighted mean vector of its names plus that of its gloss.

    A document is a concept's names and gloss together; idf(w) = ln((1 + n) / (1 + df(w))) + 1 over all given documents
    (scikit-learn's smooth form), and a word's weight in a mean is its count there times idf. A name of several words is
    looked up as a whole before its words. Words without a vector have no weight; a concept without any gets a zero row.
    """
    if not vectors:
        raise UserError("no word vectors")
    names = [_terms(text.names, vectors) for text in texts]
    glosses = [[word for word in words(text.gloss) if word in vectors] for text in texts]
    frequency = Counter(term for parts in zip(names, glosses, strict=True) for term in {*parts[0], *parts[1]})
    idf = {term: math.log((1 + len(texts)) / (1 + count)) + 1 for term, count in frequency.items()}
    result = np.zeros((len(texts), len(next(iter(vectors.values())))))
    for row, parts in enumerate(zip(names, glosses, strict=True)):
        for terms in parts:
            if terms:
                counted = Counter(terms)
                weights = np.array([count * idf[term] for term, count in counted.items()])
                result[row] += weights @ np.stack([vectors[term] for term in counted]) / weights.sum()
    return result


def _terms(names: Sequence[str], vectors: WordVectors) -> list[str]:
    """The vocabulary's terms for some names: a whole name if it is known, otherwise its known words."""
    terms: list[str] = []
    for name in names:
        whole = next((key for key in entity_keys(name) if key in vectors), None) if " " in name.strip() else None
        terms += [whole] if whole else [word for word in words(name) if word in vectors]
    return terms
