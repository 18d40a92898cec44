"""BibTeX entries of papers: found by their citations, or made of them, and safe whatever they contain."""

import re

import pytest

from unseen.data.registry import find_datasets
from unseen.papers import references
from unseen.papers.references import bibliography, entries
from unseen.papers.suites import SUITES
from unseen.probes.by_name import all_probes
from unseen.version import __version__


def keys(texts: list[str]) -> list[str]:
    return [match[1] for text in texts if (match := re.match(r"@\w+{([^,]+),", text))]


def test_every_entry_of_the_file_is_complete() -> None:
    found = entries()
    assert len({each.key for each in found}) == len(found) == references.FILE.read_text().count("\n@")
    for each in found[1:]:
        assert each.author
        assert each.title
        assert re.fullmatch(r"(19|20)\d\d", each.year)
        assert each.text.count("{") == each.text.count("}")
        assert each.text.isascii()


def test_a_citation_finds_the_complete_entry() -> None:
    texts = bibliography(["Cimpoi et al. 2014, Describing Textures in the Wild", references.COG, references.COG])
    assert keys(texts) == ["unseen", "cimpoi2014describing", "sariyildiz2021concept"]
    assert f"Version {__version__}" in texts[0]
    assert "Kokkinos, Iasonas" in texts[1]


@pytest.mark.parametrize(
    ("citation", "found"),
    [
        (references.PAIRED, ["holm1979simple", "mogstad2024inference"]),
        (references.SIMILARITY, ["kornblith2019similarity", "huh2024platonic"]),
        # Papers of one author and year are told apart by their titles.
        ("Kornblith et al. 2019, Do Better ImageNet Models Transfer Better?", ["kornblith2019better"]),
        ("Oquab et al. 2023, DINOv2", ["oquab2023dinov2"]),
        ("Agrawal et al. 2022, α-ReQ", ["agrawal2022alpha"]),
        ("", []),
    ],
)  # fmt: skip
def test_several_papers_and_short_titles(citation: str, found: list[str]) -> None:
    assert keys(bibliography([citation]))[1:] == found


def test_another_paper_is_made_of_its_citation() -> None:
    [_, text] = bibliography(["Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits (UCI)"])
    assert "  author = {{Alpaydin} and {Kaynak}}," in text
    assert "  title = {{Optical Recognition of Handwritten Digits (UCI)}}," in text
    [_, text] = bibliography(["Puybaret et al. 2020, Sweet Home 3D"])
    assert "  author = {{Puybaret} and others}," in text


@pytest.mark.parametrize("hostile", ["}", "{", "\\input{x}", "@article{", "%", '"', "中", "\\", "a, b = {c}"])
def test_no_citation_can_leave_its_entry(hostile: str) -> None:
    """Of a user's own data set: BibTeX counts braces, also those behind a backslash."""
    for citation in (hostile, f"Doe{hostile} et al. 2020, Title {hostile}"):
        [text] = [each for each in bibliography([citation]) if each.startswith("@misc") and "developers" not in each]
        assert text.count("{") == text.count("}")
        depth = 0
        for character in text.rstrip()[:-1]:
            depth += {"{": 1, "}": -1}.get(character, 0)
            assert depth >= 1 or text.startswith("@misc")
        assert depth == 1


def test_every_paper_of_what_comes_with_unseen_has_an_author_and_a_year() -> None:
    cited = [each.citation for each in (*find_datasets().values(), *all_probes().values()) if each.citation]
    cited += [suite.papers for suite in SUITES.values()]
    assert {"oquab2023dinov2", "sariyildiz2023no"} <= {*keys(bibliography(cited))}
    texts = bibliography(cited)
    assert len(keys(texts)) == len({*keys(texts)}) > 60
    for text in texts[1:]:
        assert re.search(r"  (author|editor) = ", text), text
        assert re.search(r"  year = {(19|20)\d\d},", text), text
