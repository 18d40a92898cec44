"""Information content from concepts and from files of frequencies."""

import math
from pathlib import Path

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.ontology.information import information_content, information_from_file
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import imagenet_taxonomy, wordnet


@pytest.fixture
def tree() -> Taxonomy:
    """A diamond: d is below b and c, which are below a."""
    return Taxonomy.from_edges([("b", "a"), ("c", "a"), ("d", "b"), ("d", "c"), ("e", "c")])


def test_counts_of_the_paper() -> None:
    taxonomy = imagenet_taxonomy()
    counts, content = taxonomy.descendant_counts(), information_content(taxonomy)
    assert counts[taxonomy.position[wordnet().wnid("cat.n.01")]] == 38
    assert counts[taxonomy.position[wordnet().wnid("artifact.n.01")]] == 8241
    assert content.max() == pytest.approx(10.066754, abs=5e-7)
    assert content.min() == 0


def test_concepts_are_counted_once_under_multiple_inheritance(tree: Taxonomy) -> None:
    expected = {"a": 5, "b": 2, "c": 3, "d": 1, "e": 1}
    content = information_content(tree)
    assert content.tolist() == pytest.approx([-math.log(expected[node] / 5) for node in tree.ids])


def test_frequencies_are_added_to_ancestors_once(tree: Taxonomy, tmp_path: Path) -> None:
    file = tmp_path / "frequencies.csv"
    file.write_text("wnid,count\nd,6\ne,2\nb,1\nc,1\n")
    totals = {"a": 10, "b": 7, "c": 9, "d": 6, "e": 2}
    found = information_from_file(tree, file)
    assert found.tolist() == pytest.approx([-math.log(totals[node] / 10) for node in tree.ids])


def test_frequencies_by_id_name_and_word(tmp_path: Path) -> None:
    taxonomy, file = wordnet().taxonomy, tmp_path / "frequencies.csv"
    ids = ["n02123159", wordnet().wnid("kitty.n.04"), wordnet().wnid("malamute.n.01")]
    for keys in (ids, ["tiger_cat.n.02", "kitty.n.04", "malamute"]):
        file.write_text("wnid,count\n" + "".join(f"{key},{place + 1}\n" for place, key in enumerate(keys)))
        found = information_from_file(taxonomy, file)
        assert found[taxonomy.index(ids)].tolist() == pytest.approx([math.log(6 / count) for count in (1, 2, 3)])
    file.write_text("wnid,count\ncrane,1\n")
    with pytest.raises(UserError, match=r"line 2: .*crane"):
        information_from_file(taxonomy, file)


def test_a_file_of_wordnet_similarity_is_taken_as_it_is(tmp_path: Path) -> None:
    taxonomy = wordnet().taxonomy
    file = tmp_path / "ic-test.dat"
    file.write_text("wnver::eOS9lXC6GvMWznF1wkZofDdtbBU\n1740n 1000 ROOT\n2123159n 10\n1740v 77 ROOT\n2121620n 50.5\n")
    found = information_from_file(taxonomy, file)
    assert found[taxonomy.position["n02123159"]] == pytest.approx(math.log(100))
    assert found[taxonomy.position["n02121620"]] == pytest.approx(math.log(1000 / 50.5))
    assert found[taxonomy.position["n02084071"]] == math.inf


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.csv", "wnid,count\nd,-1\n", "f.csv, line 2: a count must be a number of at least 0, found '-1'"),
        ("f.csv", "wnid,count\nd,nan\n", "line 2: a count must be"),
        ("f.csv", "wnid,count\nd,1\nd,1\n", "line 3: d occurs twice"),
        ("f.csv", "wnid,count\nz,1\n", "line 2: z is not in the taxonomy"),
        ("f.csv", "wnid,count\nd,0\n", "at least one"),
        ("f.dat", "1740n 4\n", "line 1: expected the header"),
        ("f.dat", "wnver::x\nnonsense\n", "line 2: expected 'OFFSETn COUNT'"),
    ],
)
def test_bad_files_are_refused_by_line(tree: Taxonomy, tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        information_from_file(tree, tmp_path / name)


def test_equal_counts_have_equal_content_to_the_bit() -> None:
    taxonomy = imagenet_taxonomy()
    counts, content = taxonomy.descendant_counts(), information_content(taxonomy)
    assert len(np.unique(content)) == len(np.unique(counts))
