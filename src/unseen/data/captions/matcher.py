"""Finding the one class that a caption names (Shi et al. 2023, appendix B.2).

A name is matched as whole words, ignoring case and the characters between words, in the singular or with its last word
in the plural. A name inside a longer matched name does not count: "tiger cat" does not match "tiger". A name shared by
two classes matches both, so it never assigns a label.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from unseen.errors import UserError
from unseen.files import read_table
from unseen.ontology.wordnet import CONCEPT_SETS, wordnet

WORD = re.compile(r"[^\W_]+")
"""Letters and digits of any script; every other character separates words, as in T-shirt, golden_retriever and cat's.
"""
IRREGULAR = {
    "calf": "calves", "child": "children", "elf": "elves", "foot": "feet", "goose": "geese", "half": "halves",
    "knife": "knives", "leaf": "leaves", "loaf": "loaves", "louse": "lice", "man": "men", "mouse": "mice",
    "ox": "oxen", "scarf": "scarves", "thief": "thieves", "tooth": "teeth", "wolf": "wolves",
}  # fmt: skip
"""Endings of words with an irregular plural: "mouse" also covers "dormouse"."""
END = ""
"""Key in a node of the name tree for the classes whose name ends there; no word is empty, so it cannot clash."""

ClassNames = Mapping[str, Sequence[str]]


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return WORD.findall(text.lower())


def tag_texts(tags: str) -> list[str]:
    """The texts of YFCC's tags: separated by commas, with `+` for spaces and percent-encoding such as `%20`."""
    return [unquote_plus(tag) for tag in tags.split(",")]


def plurals(word: str) -> set[str]:
    """Possible plural forms of a word.

    If no rule decides between two forms (foxes, not foxen, but dormice), both are given: the wrong form is not a word
    and does not occur in captions.
    """
    forms = {f"{word.removesuffix(end)}{change}" for end, change in IRREGULAR.items() if word.endswith(end)}
    if re.search(r"(s|x|z|ch|sh)$", word):
        return forms | {f"{word}es"}
    if re.search(r"[^aeiou]y$", word):
        return forms | {f"{word[:-1]}ies"}
    return forms | ({f"{word}s", f"{word}es"} if word.endswith("o") else {f"{word}s"})


class CaptionMatcher:
    """Class names as a tree of words, traversed once from every word of a text: a few µs per caption."""

    def __init__(self, names: ClassNames) -> None:
        """Build the tree from the names of each class; a class without any word in its names is an error."""
        self.classes = tuple(names)
        self._tree: dict[str, Any] = {}
        for number, (label, several) in enumerate(names.items()):
            forms = {form for name in several for form in name_forms(name)}
            if not forms:
                raise UserError(f"the class '{label}' has no name with a letter or digit in it")
            for form in forms:
                node = self._tree
                for word in form:
                    node = node.setdefault(word, {})
                node.setdefault(END, set()).add(number)

    def matches(self, text: str) -> Iterator[tuple[int, int, frozenset[int]]]:
        """(first word, word after the last, classes) of each matched name that is not contained in a longer one."""
        tokens, furthest = words(text), 0
        for start, word in enumerate(tokens):
            node = self._tree.get(word)
            if node is None:
                continue
            end, classes, place = 0, (), start + 1
            while node is not None:
                if END in node:
                    end, classes = place, node[END]
                node = node.get(tokens[place]) if place < len(tokens) else None
                place += 1
            # Of the names that start at one word, the longest is kept; a name that ends no later than an earlier one is
            # inside it.
            if end > furthest:
                furthest = end
                yield start, end, frozenset(classes)

    def classes_in(self, texts: Iterable[str]) -> set[int]:
        """Indices of all classes named in the texts (the tags of an image, or its single caption)."""
        return {number for text in texts for _, _, classes in self.matches(text) for number in classes}

    def shared_only(self) -> list[str]:
        """Classes that can never be assigned, because each of their names is also a name of another class."""
        own = set[int]()
        for classes in _ends(self._tree):
            if len(classes) == 1:
                own |= classes
        return [label for number, label in enumerate(self.classes) if number not in own]


def name_forms(name: str) -> set[tuple[str, ...]]:
    """The words of a name, and the same words with the last one in the plural; empty if the name has no words."""
    parts = tuple(words(name))
    return {parts, *((*parts[:-1], plural) for plural in plurals(parts[-1]))} if parts else set()


def _ends(node: dict[str, Any]) -> Iterator[set[int]]:
    for word, below in node.items():
        if word == END:
            yield below
        else:
            yield from _ends(below)


def wordnet_names(wnids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The lemmas of synsets, with spaces between words."""
    net = wordnet()
    return {wnid: tuple(lemma.replace("_", " ") for lemma in net.synset(wnid).lemmas) for wnid in wnids}


def read_names(source: str) -> dict[str, tuple[str, ...]]:
    """Names by class, from a set of concepts shipped with the package or from a CSV file class,name with one row per
    name.
    """
    if source in CONCEPT_SETS:
        return wordnet_names(wordnet().members(source))
    names = dict[str, list[str]]()
    for line, row in read_table(Path(source), ["class", "name"]):
        if not row["class"] or not words(row["name"]):
            raise UserError(f"{source}, line {line}: expected a class and a name that contains a letter or digit")
        names.setdefault(row["class"], []).append(row["name"])
    if not names:
        raise UserError(f"{source}: contains no names")
    return {label: tuple(several) for label, several in names.items()}
