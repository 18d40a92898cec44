"""The shipped WordNet against NLTK over Princeton's own dictionary."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from build_wordnet import read_nouns
from unseen.errors import UserError
from unseen.ontology.wordnet import DATA, ENTITY, NOUNS, imagenet_taxonomy, wordnet


@pytest.mark.long_suite
def test_synsets_equal_those_of_nltk(nltk_wordnet: Any) -> None:
    """One in seven: all of them are compared with the dictionary itself below."""
    net = wordnet()
    assert len(net.ids) == 82_115
    for position in range(0, len(net.ids), 7):
        theirs = nltk_wordnet.synset_from_pos_and_offset("n", int(net.ids[position][1:]))
        parents = net.taxonomy.parents[net.taxonomy.parent_start[position] : net.taxonomy.parent_start[position + 1]]
        above = [f"n{s.offset():08d}" for s in theirs.hypernyms() + theirs.instance_hypernyms()]
        assert net.names[position] == theirs.name()
        assert net.lemmas(position) == tuple(theirs.lemma_names())
        assert sorted(net.ids[parent] for parent in parents) == sorted(above)
        assert all(example in net.glosses[position] for example in theirs.examples())


@pytest.mark.long_suite
def test_words_have_the_senses_of_nltk_in_its_order(nltk_wordnet: Any) -> None:
    net = wordnet()
    lemmas = sorted(net._by_lemma)[::97]
    assert len(lemmas) > 1000
    for lemma in lemmas:
        theirs = [s.name() for s in nltk_wordnet.synsets(lemma, "n") if lemma in map(str.lower, s.lemma_names())]
        assert [s.name for s in net.find(lemma)] == list(dict.fromkeys(theirs))


def test_the_shipped_file_is_what_the_script_makes(dictionary: Path) -> None:
    with np.load(NOUNS, allow_pickle=False) as shipped:
        for name, array in read_nouns(dictionary).items():
            assert np.array_equal(shipped[name], array), name
            assert shipped[name].dtype == array.dtype


def test_memberships_equal_timm_lists() -> None:
    spec = find_spec("timm")
    if spec is None or spec.origin is None:
        pytest.skip("needs timm, whose lists of ids these are")
    lists = Path(spec.origin).parent / "data/_info"
    for name, file in (("imagenet-1k", "imagenet_synsets.txt"), ("imagenet-21k", "imagenet22k_synsets.txt")):
        assert list(wordnet().members(name)) == sorted((lists / file).read_text().split())


def test_memberships_have_the_known_sizes() -> None:
    seen, universe = wordnet().members("imagenet-1k"), wordnet().members("imagenet-21k")
    assert (len(seen), len(universe)) == (1000, 21_841)
    assert set(seen) - set(universe) == {"n04399382"}
    assert len(imagenet_taxonomy()) == 23_547


def test_the_file_is_small_and_has_its_licence() -> None:
    assert NOUNS.stat().st_size < 5e6
    assert "Princeton University" in (DATA / "WORDNET-LICENSE.txt").read_text()


def test_look_ups_both_ways() -> None:
    net = wordnet()
    assert net.synset("n02123159").name == "tiger_cat.n.02"
    assert net.synset("tiger_cat.n.02").wnid == "n02123159"
    assert net.wnid("felis_domesticus.n.01") == net.wnid("Domestic cat.n.01") == "n02121808"
    assert [s.name for s in net.find("tiger cat")] == ["tiger_cat.n.01", "tiger_cat.n.02"]
    assert net.synset(ENTITY).parents == ()
    assert "n02123159" in [s.wnid for s in net.search("a CAT having a striped coat")]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("n99999999", "n99999999 is not a noun synset"),
        ("tiger_cat.n.07", "tiger_cat has 2 noun senses"),
        ("tiger cat", "choose one of its senses: tiger_cat.n.01, tiger_cat.n.02"),
        ("tigre_cat.n.01", "did you mean"),
        ("", "is not in WordNet"),
    ],
)
def test_unknown_concepts_are_explained(key: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace(".", r"\.")):
        wordnet().wnid(key)


def test_a_definition_is_a_gloss_without_examples() -> None:
    synset = wordnet().synset("cat.n.03")
    assert '"' in synset.gloss
    assert '"' not in synset.definition
    assert synset.gloss.startswith(synset.definition)
