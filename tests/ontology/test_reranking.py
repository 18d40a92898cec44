"""Levels ranked again, and the text vectors that some measures need."""

from pathlib import Path

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.ontology.levels import load_levels
from unseen.ontology.reranking import reranked, text_vectors
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import wordnet


@pytest.fixture(scope="module")
def cats() -> Taxonomy:
    return wordnet().taxonomy.closure(["n02123045", "n02124075"], "cats")  # tabby and Egyptian cat


def test_concepts_stay_and_change_places() -> None:
    before, after = load_levels("cog-v2"), reranked("cog-v2", "path", None, "imagenet-1k")
    assert after.name == "cog-v2-path"
    assert {each.wnid for each in after.concepts} == {each.wnid for each in before.concepts}
    assert after.ids(1) != before.ids(1)
    similarities = [each.similarity for each in after.concepts if each.similarity is not None]
    assert similarities == sorted(similarities, reverse=True)


def test_only_concepts_that_are_asked_for_have_vectors(cats: Taxonomy, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("cat 1 2\ndomestic 0 1\n")
    said: list[str] = []
    ids = ["n02123045", "n02124075"]
    found = text_vectors("cosine", tmp_path / "words.txt", cats, ids, is_wordnet=True, tell=said.append)
    assert found is not None
    assert found.shape == (len(cats), 2)
    nodes = cats.index(ids)
    assert not np.delete(found, nodes, axis=0).any()
    assert found[nodes].any()
    assert said == []
    (tmp_path / "one.txt").write_text("egypt 1 2\n")  # in the gloss of one of them
    text_vectors("cosine", tmp_path / "one.txt", cats, ids, is_wordnet=True, tell=said.append)
    assert "1 concepts have no word" in said[0]


def test_vectors_are_for_measures_that_compare_text(cats: Taxonomy, tmp_path: Path) -> None:
    assert text_vectors("lin", None, cats, [], is_wordnet=True) is None
    with pytest.raises(UserError, match="vectors need measure=.cosine."):
        text_vectors("lin", tmp_path, cats, [], is_wordnet=True)
    for key, file in (("", "vectors=FILE"), ("word-vectors", "word_vectors=FILE")):
        with pytest.raises(UserError, match=rf"measure=.cosine. compares text.*\({file}\)"):
            text_vectors("cosine", None, cats, [], is_wordnet=True, key=key)
