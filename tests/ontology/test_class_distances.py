"""Distances to lowest common ancestors, against a loop over NLTK's WordNet, and in taxonomies of users."""

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen.errors import UserError
from unseen.ontology.class_distances import class_distances, taxonomy_distances
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import wordnet


@pytest.mark.long_suite  # NLTK reads its whole dictionary
def test_two_thousand_pairs_against_a_loop_over_nltk(nltk_wordnet: Any) -> None:
    rng = np.random.default_rng(0)
    taxonomy = wordnet().taxonomy
    several = np.flatnonzero(np.diff(taxonomy.parent_start) > 1).astype(np.int32)
    nodes = rng.permutation(np.flatnonzero(taxonomy.below(several)))[:80].astype(np.int32)
    synsets = [nltk_wordnet.synset_from_pos_and_offset("n", int(taxonomy.ids[node][1:])) for node in nodes]
    above = [{other for path in each.hypernym_paths() for other in path} for each in synsets]
    classes = {node: sum(node in of for of in above) for of in above for node in of}
    found = taxonomy_distances(taxonomy, nodes)
    pairs = rng.integers(0, len(nodes), (2000, 2))
    for one, two in pairs.tolist():
        common = above[one] & above[two]
        information = max(log2(len(nodes) / classes[node]) for node in common)
        own = log2(len(nodes) / classes[synsets[one]])
        assert found["information"][one, two] == pytest.approx(own - information, abs=1e-9)
        deepest = max(max(map(len, node.hypernym_paths())) for node in common)
        assert found["depth"][one, two] == max(map(len, synsets[one].hypernym_paths())) - deepest


def test_names_words_and_the_classes_of_cifar() -> None:
    found = class_distances(["n02123045", "tiger_cat.n.02", "dalmatian.n.02"])
    assert found.by["depth"][0].tolist() == [0, 1, found.by["depth"][0, 2]]
    assert found.by["depth"][0, 2] > 2
    assert found.by["information"][0].tolist() == pytest.approx(
        [0, 1, log2(3)]
    )  # the least node above both cats has two classes
    cifar = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    near = class_distances(cifar).by["information"]
    assert near[3, 5] < near[3, 0]  # a cat is nearer to a dog than to an airplane
    with pytest.raises(UserError, match="sky and weather"):
        class_distances(["cat", "sky and weather"])


def test_own_taxonomies(tmp_path: Path) -> None:
    """Several roots are joined, so that classes below different ones have the added root in common."""
    path = tmp_path / "own.csv"
    path.write_text("child,parent\nsofa,seat\nchair,seat\nseat,furniture\nlamp,light\nchair,light\n")
    found = class_distances(["sofa", "chair", "lamp"], path)
    assert found.source == "own.csv"
    assert found.by["depth"].tolist() == [[0, 1, 3], [1, 0, 2], [2, 1, 0]]
    # seat and light have two classes each; information content prefers either over the root.
    assert found.by["information"][0].tolist() == pytest.approx([0, 1, log2(3)])
    assert found.by["information"][1].tolist() == pytest.approx([1, 0, 1])
    for text, message in (
        ("child,parent\na,b\nb,a\n", "cycle"),
        ("child,parent\nsofa,seat\n", "chair"),
        ("child,parent\n", "no edges"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=message) as error:
            class_distances(["sofa", "chair"], path)
        assert "\n" not in str(error.value)


def test_classes_with_the_concepts_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "concepts.csv"
    path.write_text("class,concept\nsmiling cat,cat.n.01\nface of a dog,n02084071\n")
    found = class_distances(["smiling cat", "face of a dog", "airplane.n.01"], path)
    assert (found.by["depth"] == class_distances(["cat.n.01", "n02084071", "airplane.n.01"]).by["depth"]).all()
    with pytest.raises(UserError, match="ball of yarn"):
        class_distances(["smiling cat", "ball of yarn"], path)


def test_all_pairs_have_a_limit() -> None:
    chain = Taxonomy.from_edges([("b", "a")])
    with pytest.raises(UserError, match="at most"):
        taxonomy_distances(chain, np.zeros(10_001, dtype=np.int32))


def test_no_classes_are_one_sentence() -> None:
    with pytest.raises(UserError):
        class_distances([])
