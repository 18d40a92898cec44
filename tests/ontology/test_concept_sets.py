"""Files of ids, of counts, and of edges."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.ontology.concept_sets import concept_set, read_counts, read_ids
from unseen.ontology.edges import read_taxonomy
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import wordnet

OWN = Taxonomy.from_edges([("a", "top"), ("b", "top")])


def test_ids_and_names_with_comments(tmp_path: Path) -> None:
    file = tmp_path / "seen.txt"
    file.write_text("# my classes\nn02123159 tiger cat\n\ndog.n.01, man's best friend\n")
    assert read_ids(file, wordnet().taxonomy) == ("n02123159", "n02084071")


def test_words_that_mean_one_concept(tmp_path: Path) -> None:
    file = tmp_path / "seen.txt"
    file.write_text("giraffe\nsea turtle # in water\n")
    assert read_ids(file, wordnet().taxonomy) == ("n02439033", "n01663401")
    file.write_text("giraffe\ndog\n")
    with pytest.raises(UserError, match="line 2: dog .*dog.n.01"):
        read_ids(file, wordnet().taxonomy)


def test_an_id_may_contain_spaces_and_signs(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_edges([("Passer domesticus", "Passer"), ("C#1", "Passer"), ("Passer", "")])
    (tmp_path / "seen.txt").write_text("Passer domesticus\nC#1 # a comment\n")
    assert read_ids(tmp_path / "seen.txt", taxonomy) == ("Passer domesticus", "C#1")


def test_the_added_root_is_no_concept() -> None:
    taxonomy = Taxonomy.from_edges([("cat", "animal"), ("oak", "plant")])
    assert concept_set("taxonomy", taxonomy) == ("animal", "cat", "oak", "plant")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n02123159\nn99999999\n", "seen.txt, line 2: n99999999 is not a noun synset"),
        ("n02123159\ntiger_cat.n.02\n", "line 2: tiger_cat.n.02 was already given on line 1"),
        ("# nothing\n", "no concept ids"),
    ],
)
def test_bad_id_files_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "seen.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        read_ids(tmp_path / "seen.txt", wordnet().taxonomy)


def test_an_unknown_set_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match="did you mean imagenet-1k"):
        concept_set("imagenet1k", wordnet().taxonomy)
    with pytest.raises(UserError, match="nowhere.txt: no such file"):
        concept_set("nowhere.txt", wordnet().taxonomy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wnid,images\na,5\n", "counts.csv: no line for b, a concept of the universe"),
        ("wnid,images\nz,5\n", "no line for a and 1 more"),
        ("wnid,images\na,-5\nb,1\n", "counts.csv, line 2: a has a negative number of images"),
        ("wnid,images\na,5.5\nb,1\n", "line 2: images must be a whole number, found '5.5'"),
        ("wnid,images\na,5\na,5\n", "line 3: a occurs twice"),
        ("wnid,images\na,5,7\n", "line 2: 3 fields where the header has 2"),
        ("wnid,image\na,5\n", "line 1: no column 'images' in the header wnid,image; did you mean image"),
        ('wnid,images\na,"5\n', "malformed CSV"),
        ("", "the file is empty"),
    ],
)
def test_bad_counts_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "counts.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        read_counts(tmp_path / "counts.csv", ["a", "b"], OWN)


def test_counts_may_hold_more_than_the_universe(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_bytes(b"\xef\xbb\xbfimages,wnid\r\n5,a\r\n\r\n7,c\r\n")
    assert read_counts(tmp_path / "counts.csv", ["a"], OWN) == {"a": 5, "c": 7}


def test_counts_by_id_name_and_word(tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("wnid,images\nn02123159,5\nkitty.n.04,6\nmalamute,7\n")
    expected = {"n02123159": 5, wordnet().wnid("kitty.n.04"): 6, wordnet().wnid("malamute.n.01"): 7}
    assert read_counts(file, [*expected]) == expected
    for text, message in (("crane", "line 3: .*crane"), ("tiger_cat.n.02", "line 3: .*twice"), ("cat.n.99", "line 3")):
        file.write_text(f"wnid,images\nn02123159,5\n{text},6\n")
        with pytest.raises(UserError, match=message):
            read_counts(file, [])
    named = Taxonomy.from_edges([("1", "0"), ("2", "0")], {"1": "robin", "2": "wren"})
    file.write_text("wnid,images\nrobin,5\n2,6\n")
    assert read_counts(file, ["1", "2"], named) == {"1": 5, "2": 6}


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_bytes(b"wnid,images\n\xff,5\n")
    with pytest.raises(UserError, match="not UTF-8"):
        read_counts(tmp_path / "counts.csv", [])


def test_edges_with_names(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("child,parent,name\n2,1,robin\n3,1,wren\n1,,birds\n")
    taxonomy = read_taxonomy(tmp_path / "tree.csv")
    assert dict(zip(taxonomy.ids, taxonomy.names, strict=True)) == {"1": "birds", "2": "robin", "3": "wren"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("child,parent\na,b\na,b\n", "line 3: a → b was already given on line 2"),
        ("child,parent\na,b\nb,a\n", "tree.csv: the taxonomy has a cycle"),
        ("child,parent\n,b\n", "line 2: no child"),
        ("child,parent\n", "no edges"),
        ("child,parent,name\na,b,x\na,c,y\n", "line 3: a is named y here and x before"),
        ("child|parent\na|b\n", "no column 'child'"),
    ],
)
def test_bad_edges_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tree.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        read_taxonomy(tmp_path / "tree.csv")


@given(st.text(max_size=80))
def test_arbitrary_text_gives_a_taxonomy_or_an_error_that_names_the_file(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_text("child,parent\n" + text, encoding="utf-8", errors="replace")
    try:
        assert len(read_taxonomy(path)) > 0
    except UserError as error:
        assert str(path) in str(error)
