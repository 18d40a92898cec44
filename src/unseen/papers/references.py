"""The papers behind scores, as BibTeX entries: those of data sets, probes, protocols and statistics.

A paper is named as data sets and probes name it in `citation`: `Cimpoi et al. 2014, Describing Textures in the Wild`,
several ones with semicolons between them. Where `data/references.bib` has the paper, its entry is complete; otherwise
it is made of these words.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unseen.text.latex import DEFINITION, GLYPH, escaped
from unseen.version import __version__

FILE = Path(__file__).parent / "data" / "references.bib"
COG = "Sariyildiz et al. 2021, Concept Generalization in Visual Representation Learning"
ERICSSON = "Ericsson et al. 2021, How Well Do Self-Supervised Models Transfer?"
SHI = "Shi et al. 2023, Effective Robustness against Natural Distribution Shifts"
WORDNET = "Fellbaum 1998, WordNet: An Electronic Lexical Database"
CALIBRATION = "Guo et al. 2017, On Calibration of Modern Neural Networks"
PAIRED = (
    "Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure; "
    "Mogstad et al. 2024, Inference for Ranks with Applications to Mobility"
)
SIMILARITY = (
    "Kornblith et al. 2019, Similarity of Neural Network Representations Revisited; "
    "Huh et al. 2024, The Platonic Representation Hypothesis"
)
_CITED = re.compile(
    r"\s*(?P<authors>[^\d;]+?)\s+(?P<year>(?:19|20)\d\d),\s*(?P<title>.+?)\s*(?:$|;(?=[^\d;]+\s(?:19|20)\d\d,))"
)
ENOUGH = 20
"""First letters of two titles that make them one paper, of the same first author and year."""


@dataclass(frozen=True)
class Entry:
    """An entry of the file; `author` is the family name of the first author, `title` has letters and digits only."""

    key: str
    author: str
    year: str
    title: str
    text: str


def bibliography(citations: Iterable[str]) -> list[str]:
    """The entry of unseen and those of papers, each once, in the order of their first mention."""
    own = entries()[0]
    texts = {own.key: own.text.replace("VERSION", __version__)}
    for citation in citations:
        for key, text in _found(citation):
            texts.setdefault(key, text)
    every = [f"{text}\n" for text in texts.values()]
    # The list of references is read where the definitions of tables do not hold.
    return [f"@preamble{{{{{DEFINITION}}}}}\n", *every] if any(f"\\{GLYPH}{{" in text for text in every) else every


@cache
def entries() -> tuple[Entry, ...]:
    """The entries of the file; the first is that of unseen."""
    texts = re.findall(r"^@.+?^}", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return tuple(map(_entry, texts))


def _entry(text: str) -> Entry:
    def value(name: str) -> str:
        found = re.search(rf"^  {name} = {{(.*?)}},$", text, flags=re.MULTILINE | re.DOTALL)
        return found[1] if found else ""

    (key,) = re.findall(r"^@\w+{([^,]+),", text)
    authors = value("author") or value("editor")
    return Entry(key, _letters(authors.split(",")[0]), value("year"), _letters(value("title")), text)


def _found(citation: str) -> Iterator[tuple[str, str]]:
    """Key and entry of each paper that a citation names."""
    parts = [*_CITED.finditer(citation)]
    if not parts and citation.strip():
        yield _key(citation, ""), _made(_key(citation, ""), {"title": citation.strip()})
    for part in parts:
        author = _letters(re.split(r" et al\.| and |,", part["authors"])[0])
        title = _letters(re.sub(r"\([^)]*\)$", "", part["title"]))
        alike = (each for each in entries() if (each.author, each.year) == (author, part["year"]))
        known = next((each for each in alike if _begin_alike(each.title, title)), None)
        if known is not None:
            yield known.key, known.text
            continue
        key = _key(author + part["year"], title)
        yield key, _made(key, {"author": part["authors"], "title": part["title"], "year": part["year"]})


def _begin_alike(one: str, other: str) -> bool:
    enough = min(ENOUGH, len(one), len(other))
    return enough > 0 and one[:enough] == other[:enough]


def _key(first: str, more: str) -> str:
    return (_letters(first)[:24] + more[:12]) or "reference"


def _made(key: str, fields: dict[str, str]) -> str:
    """An entry of the words of a citation, whose capital letters are kept."""
    values = {name: _value(text) for name, text in fields.items()}
    if "author" in values:
        names = re.sub(r"\s+et al\.?", " and others", fields["author"])
        values["author"] = " and ".join(
            name if name == "others" else f"{{{_value(name)}}}" for name in re.split(r",? and |, ", names)
        )
        values["title"] = f"{{{values['title']}}}"
    lines = [f"  {name} = {{{value}}}," for name, value in values.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def _value(text: str) -> str:
    """A text within braces, which BibTeX counts also behind a backslash."""
    return escaped(text).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")


def _letters(text: str) -> str:
    """Small letters and digits only, without accents, commands and braces."""
    plain = re.sub(r"\\['`^\"~=.uvHcr](?![a-z])|\\[uvHcr](?={)|\\[a-z]+", "", text)
    plain = unicodedata.normalize("NFKD", plain)
    return "".join(letter for letter in plain.lower() if letter.isascii() and letter.isalnum())
