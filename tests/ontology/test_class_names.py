"""Concepts by what people call classes."""

import pytest

from unseen.errors import UserError
from unseen.ontology.class_names import concept_of_word, concepts_of_classes
from unseen.ontology.taxonomy import Taxonomy


def test_ids_names_and_words_of_one_meaning() -> None:
    labels = ["n02123159", "tiger_cat.n.02", "giraffe", "sea turtle", "hot-air balloon"]
    found = concepts_of_classes(labels[:1] + labels[2:], {}, None, "x")
    assert found.ids["n02123159"] == "n02123159"
    assert found.ids["giraffe"] == "n02439033"
    assert {*found.ids} == {labels[0], *labels[2:]}
    assert not found.guessed
    with pytest.raises(UserError, match=r"n02123159 and tiger_cat\.n\.02 are the same concept"):
        concepts_of_classes(labels, {}, None, "x")


def test_words_of_several_meanings_are_told_all_at_once() -> None:
    with pytest.raises(UserError, match=r"list: crane may be crane\.n\.01, .*; dog may be dog\.n\.01, frump\.n\.01"):
        concepts_of_classes(["crane", "dog", "giraffe"], {}, None, "list")
    said = concepts_of_classes(["crane", "dog"], {"crane": "crane.n.04", "dog": "dog.n.01"}, None, "list")
    assert said.ids == {"crane": "n03126707", "dog": "n02084071"}
    first = concepts_of_classes(["dog", "bear"], {}, None, "list", first_sense=True)
    assert first.guessed == {"dog": "dog.n.01", "bear": "bear.n.01"}
    # Of the meanings of bear, the most frequent is the only one in ImageNet-21K.
    assert concepts_of_classes(["bear"], {}, None, "list").guessed == {"bear": "bear.n.01"}
    with pytest.raises(UserError, match="girafe is not in WordNet.*did you mean giraffe"):
        concepts_of_classes(["girafe"], {}, None, "list")


def test_a_taxonomy_of_ones_own_has_ids_and_names() -> None:
    names = {"a": "oak", "b": "elm", "c": "elm"}
    own = Taxonomy.from_edges({("a", "t"): 1, ("b", "t"): 2, ("c", "t"): 3}, names)
    assert concepts_of_classes(["oak", "b"], {}, own, "x").ids == {"oak": "a", "b": "b"}
    with pytest.raises(UserError, match="elm may be b, c"):
        concepts_of_classes(["elm"], {}, own, "x")
    assert concept_of_word("oak", own) == "a"
    with pytest.raises(UserError, match="choose one of its senses"):
        concept_of_word("bear")  # which nobody would be told that it was guessed
