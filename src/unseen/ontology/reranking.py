"""Text vectors of concepts for measures that compare text, and levels reranked by another measure."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from unseen.errors import UserError, option, setting
from unseen.ontology.concept_sets import concept_set
from unseen.ontology.information import Floats
from unseen.ontology.levels import Levels, load_levels, rerank_levels
from unseen.ontology.measures import get_measure
from unseen.ontology.recipes import Recipe
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.text import ConceptText, concept_vectors, vocabulary, wordnet_texts
from unseen.ontology.word_vectors import read_word_vectors
from unseen.ontology.wordnet import wordnet


def text_vectors(
    measure: str,
    path: Path | None,
    taxonomy: Taxonomy,
    ids: Sequence[str],
    *,
    is_wordnet: bool,
    key: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> Floats | None:
    """(len(taxonomy), d) text vectors if the measure needs them: rows of nodes other than `ids` are zero.

    Args:
        path: file of word vectors.
        key: the key of a setting that names this file, for error messages; by default, it is an option.
        tell: called with a sentence about concepts without known words.
    """
    if get_measure(measure).uses != "vectors":
        if path:
            raise UserError(f"word vectors need {option('measure', 'cosine')}, not {measure}")
        return None
    if path is None:
        file = setting(key, "FILE") if key else option("vectors", "FILE")
        raise UserError(f"{option('measure', measure)} compares text: give a word-vector file ({file})")
    concepts = sorted(set(ids))
    nodes = taxonomy.index(concepts)
    texts = wordnet_texts(concepts) if is_wordnet else [ConceptText((taxonomy.names[i],), "") for i in nodes]
    found = concept_vectors(texts, read_word_vectors(path, vocabulary(texts)))
    unknown = [concept for concept, vector in zip(concepts, found, strict=True) if not vector.any()]
    if unknown:
        tell(f"{path}: {len(unknown)} concepts have no word in it ({unknown[0]}, …); their similarity is 0")
    vectors = np.zeros((len(taxonomy), found.shape[1]))
    vectors[nodes] = found
    return vectors


def reranked(
    levels: str,
    measure: str,
    path: Path | None,
    seen_name: str,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> Levels:
    """Levels of WordNet concepts, reranked by similarity to the seen ones under another measure.

    Args:
        path: file of word vectors, for measures that compare text.
    """
    loaded, net = load_levels(levels), wordnet()
    get_measure(measure)
    seen, universe = concept_set(seen_name, net.taxonomy), net.members("imagenet-21k")
    ids = [*universe, *seen, *(concept.wnid for concept in loaded.concepts)]
    taxonomy = net.taxonomy.closure(ids, "WordNet 3.0")
    vectors = text_vectors(measure, path, taxonomy, ids, is_wordnet=True, tell=tell)
    recipe = Recipe(f"{loaded.name}-{measure}", "imagenet-21k", seen_name, measure=measure)
    return rerank_levels(loaded, recipe, Space(taxonomy, given_vectors=vectors), seen)
