"""Which class a caption names, if it names exactly one (Shi et al. 2023, appendix B.2).

A name is found as whole words, whatever the case and whatever stands between the words, in the singular or with its
last word in the plural. A name inside a longer one does not count: a tiger cat is no tiger. A name that two classes
share stands for both, so it never labels.
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
"""Letters and digits of any script; all else parts words, as in T-shirt, golden_retriever and cat's."""
IRREGULAR = {
    "calf": "calves", "child": "children", "elf": "elves", "foot": "feet", "goose": "geese", "half": "halves",
    "knife": "knives", "leaf": "leaves", "loaf": "loaves", "louse": "lice", "man": "men", "mouse": "mice",
    "ox": "oxen", "scarf": "scarves", "thief": "thieves", "tooth": "teeth", "wolf": "wolves",
}  # fmt: skip
"""Ends of words that have a plural of their own: mouse, and with it dormouse."""
END = ""
"""Key of a node of the tree of names under which the classes of the name that ends there are; no word is empty."""

ClassNames = Mapping[str, Sequence[str]]


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return WORD.findall(text.lower())


def tag_texts(tags: str) -> list[str]:
    """The texts of YFCC's tags: commas between them, `+` for blanks, `%20` and its like for other characters."""
    return [unquote_plus(tag) for tag in tags.split(",")]


def plurals(word: str) -> set[str]:
    """How the plural of a word may be written.

    Where no rule tells which of two forms is right (foxes, not foxen, but dormice) both are given: the wrong one is
    no word, and nobody writes it.
    """
    found = {f"{word.removesuffix(end)}{change}" for end, change in IRREGULAR.items() if word.endswith(end)}
    if re.search(r"(s|x|z|ch|sh)$", word):
        return found | {f"{word}es"}
    if re.search(r"[^aeiou]y$", word):
        return found | {f"{word[:-1]}ies"}
    return found | ({f"{word}s", f"{word}es"} if word.endswith("o") else {f"{word}s"})


class CaptionMatcher:
    """Names of classes as a tree of words, walked once from every word of a text: a few µs a caption."""

    def __init__(self, names: ClassNames) -> None:
        """Take the names of each class; a class without a word in any name is an error."""
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
        """(first word, word after the last, classes) of each name in a text that is not within a longer one."""
        found, furthest = words(text), 0
        for start, word in enumerate(found):
            node = self._tree.get(word)
            if node is None:
                continue
            end, classes, place = 0, (), start + 1
            while node is not None:
                if END in node:
                    end, classes = place, node[END]
                node = node.get(found[place]) if place < len(found) else None
                place += 1
            # Of names that begin at one word the longest is kept; one that ends no later than an earlier one is in it.
            if end > furthest:
                furthest = end
                yield start, end, frozenset(classes)

    def classes_in(self, texts: Iterable[str]) -> set[int]:
        """Numbers of all classes that some texts name, the tags of an image or its one caption."""
        return {number for text in texts for _, _, classes in self.matches(text) for number in classes}

    def shared_only(self) -> list[str]:
        """Classes that can never label: each of their names is another class's too."""
        own = set[int]()
        for classes in _ends(self._tree):
            if len(classes) == 1:
                own |= classes
        return [label for number, label in enumerate(self.classes) if number not in own]


def name_forms(name: str) -> set[tuple[str, ...]]:
    """A name's words, and the same with the last in the plural; none where it has no words."""
    parts = tuple(words(name))
    return {parts, *((*parts[:-1], plural) for plural in plurals(parts[-1]))} if parts else set()


def _ends(node: dict[str, Any]) -> Iterator[set[int]]:
    for word, below in node.items():
        if word == END:
            yield below
        else:
            yield from _ends(below)


def wordnet_names(wnids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The lemmas of synsets, words with blanks between."""
    net = wordnet()
    return {wnid: tuple(lemma.replace("_", " ") for lemma in net.synset(wnid).lemmas) for wnid in wnids}


def read_names(source: str) -> dict[str, tuple[str, ...]]:
    """Names by class: of a set of concepts that ships with the package, or from a CSV class,name with a row a name."""
    if source in CONCEPT_SETS:
        return wordnet_names(wordnet().members(source))
    names = dict[str, list[str]]()
    for line, row in read_table(Path(source), ["class", "name"]):
        if not row["class"] or not words(row["name"]):
            raise UserError(f"{source}, line {line}: a class and a name with a letter or digit in it were expected")
        names.setdefault(row["class"], []).append(row["name"])
    if not names:
        raise UserError(f"{source}: no names in it")
    return {label: tuple(several) for label, several in names.items()}
