"""The matcher against a plain one that tries every name at every place, and against sentences read by hand."""

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.data.captions.matcher import CaptionMatcher, plurals, read_names, tag_texts, words
from unseen.errors import UserError

PETS = {
    "tiger": ("tiger", "Panthera tigris"),
    "tiger cat": ("tiger cat",),
    "cat": ("cat", "true cat"),
    "crane bird": ("crane",),
    "crane machine": ("crane",),
    "retriever": ("golden retriever",),
    "mouse": ("mouse",),
    "pony": ("pony",),
    "fox": ("red fox", "Vulpes vulpes"),
    "shirt": ("T-shirt", "jersey"),
}


def label(text: str, names: dict[str, tuple[str, ...]] = PETS) -> set[str]:
    matcher = CaptionMatcher(names)
    return {matcher.classes[number] for number in matcher.classes_in([text])}


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("A TIGER at rest.", {"tiger"}),
        ("two tigers", {"tiger"}),
        ("my tiger cat", {"tiger cat"}),  # the longer name alone
        ("a tiger, and a tiger cat", {"tiger", "tiger cat"}),
        ("a tiger; cat food", {"tiger cat"}),  # punctuation parts words, not names
        ("catalogue of scattered concatenations", set()),
        ("the cat's bowl", {"cat"}),
        ("cat_and_dog", {"cat"}),
        ("Golden-Retriever!!", {"retriever"}),
        ("golden retrievers", {"retriever"}),
        ("goldens retriever", set()),  # a plural is of the last word
        ("golden brown retriever", set()),
        ("a crane", {"crane bird", "crane machine"}),
        ("mice and ponies", {"mouse", "pony"}),
        ("red foxes; Vulpes  vulpes", {"fox"}),
        ("t shirts", {"shirt"}),
        ("tshirt", set()),
        ("", set()),
        ("🐯 <b>tiger</b>", {"tiger"}),
        ("true cat tiger", {"cat", "tiger"}),
    ],
)
def test_sentences_read_by_hand(text: str, classes: set[str]) -> None:
    assert label(text) == classes


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("cat", "cats"),
        ("fox", "foxes"),
        ("finch", "finches"),
        ("brush", "brushes"),
        ("glass", "glasses"),
        ("pony", "ponies"),
        ("monkey", "monkeys"),
        ("potato", "potatoes"),
        ("piano", "pianos"),
        ("dormouse", "dormice"),
        ("woman", "women"),
        ("wolf", "wolves"),
        ("maple leaf", "maple leaves"),
    ],
)
def test_plurals_by_a_dictionary(word: str, plural: str) -> None:
    assert plural in plurals(word)


def test_tags_are_matched_one_by_one() -> None:
    matcher = CaptionMatcher(PETS)
    assert tag_texts("golden+retriever,caf%C3%A9,red") == ["golden retriever", "café", "red"]
    assert matcher.classes_in(tag_texts("golden+retriever,beach")) == {5}
    assert matcher.classes_in(tag_texts("golden,retriever")) == set()  # a name does not run over two tags


VOCABULARY = ["a", "b", "c", "bs", "mouse", "mice", "fox", "foxes", "pony", "ponies"]
PHRASES = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3).map(" ".join)


def plain_matches(names: dict[str, tuple[str, ...]], text: str) -> set[str]:
    """Every name, or it with the plural of its last word, as a regular expression; what lies in a longer one goes."""
    spans = []
    for cls, several in names.items():
        for name in several:
            *before, last = name.split(" ")
            for form in {last} | plurals(last):
                pattern = r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, [*before, form])) + r"(?![^\W_])"
                for start in range(len(text)):
                    match = re.compile(pattern, re.IGNORECASE).match(text, start)
                    if match:
                        spans.append((match.start(), match.end(), cls))
    return {
        cls
        for start, end, cls in spans
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e, _ in spans)
    }


@given(
    names=st.dictionaries(st.sampled_from("UVWXYZ"), st.lists(PHRASES, min_size=1, max_size=3), min_size=1),
    parts=st.lists(st.tuples(st.sampled_from(VOCABULARY), st.sampled_from([" ", "-", ", ", "_", "! "])), max_size=9),
    capitals=st.booleans(),
)
def test_agrees_with_every_name_at_every_place(
    names: dict[str, list[str]], parts: list[tuple[str, str]], capitals: bool
) -> None:
    text = "".join(word + gap for word, gap in parts)
    text = text.upper() if capitals else text
    fixed = {cls: tuple(several) for cls, several in names.items()}
    assert label(text, fixed) == plain_matches(fixed, text)


def test_words_are_those_that_a_regular_expression_bounds() -> None:
    assert words("Ein Äffchen-Käfig, 2×4's") == ["ein", "äffchen", "käfig", "2", "4", "s"]


def test_names_of_imagenet_are_the_lemmas() -> None:
    names = read_names("imagenet-1k")
    assert len(names) == 1000
    assert names["n02123159"] == ("tiger cat",)
    assert "great white shark" in names["n01484850"]
    matcher = CaptionMatcher(names)
    # Two classes of ImageNet are called crane, and neither has another name.
    assert {"n02012849", "n03126707"} <= set(matcher.shared_only())
    found = {matcher.classes[number] for number in matcher.classes_in(["Great White Sharks off Gansbaai"])}
    assert found == {"n01484850"}


def test_names_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text('class,name\n0,tench\n0,"Tinca, tinca"\n1,goldfish\n')
    assert read_names(str(path)) == {"0": ("tench", "Tinca, tinca"), "1": ("goldfish",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,name\n0,!!\n", "line 2: expected a class and a name"),
        ("class,name\n", "no names"),
        ("class,title\n0,a\n", "no column 'name'"),
    ],
)
def test_a_bad_file_of_names_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "names.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_names(str(path))


def test_a_class_without_words_is_refused() -> None:
    with pytest.raises(UserError, match="'x' has no name"):
        CaptionMatcher({"x": ("…",)})


def test_a_long_hostile_text_takes_no_time() -> None:
    """Names that begin alike, in a text that repeats them: the walk from each word is no longer than a name."""
    matcher = CaptionMatcher({str(n): (" ".join(["a"] * n),) for n in range(1, 30)})
    assert matcher.classes_in(["a " * 50_000]) == {28}


def test_every_pair_of_classes_in_one_text_is_ambiguous() -> None:
    matcher = CaptionMatcher(PETS)
    single = {cls: several[-1] for cls, several in PETS.items()}
    for one, other in product(single, repeat=2):
        found = matcher.classes_in([f"{single[one]} beside {single[other]}"])
        assert (len(found) == 1) == (one == other and "crane" not in one)
