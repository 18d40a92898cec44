"""How far a predicted class is from the true one: distances to their lowest common ancestor, for all pairs of classes.

LCA-on-the-line (Shi et al. 2024, arXiv 2407.16067): D(y, y′) = f(y) − f(LCA(y, y′)) with f the information content or
the depth. The lowest common ancestor is the one where f is greatest, if there are several. Information content is
−log₂ of the share of the classes that are at or below a node, so every class counts once, as in the authors' code; a
class below a node by several paths counts once there. Depth is the number of edges on the longest path to the root.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Literal

import numpy as np

from unseen.errors import UserError
from unseen.files import read_table, table_header
from unseen.ontology.class_mapping import CIFAR_10_SYNSETS
from unseen.ontology.class_names import concepts_of_classes
from unseen.ontology.common_ancestors import lowest_common_ancestors, order_by_depth, order_by_information
from unseen.ontology.edges import read_taxonomy
from unseen.ontology.information import Floats, information_content
from unseen.ontology.taxonomy import Ints, Taxonomy
from unseen.ontology.wordnet import wordnet

By = Literal["information", "depth"]
CONCEPT, WORDNET = "concept", "WordNet 3.0"
MOST_CLASSES = 10_000
"""Classes up to which the distances of all pairs are kept: 800 MB for each f."""


@dataclass(frozen=True, eq=False)
class ClassDistances:
    """Distances of all pairs of classes.

    Attributes:
        by: for each f, (k, k) distances D of true classes (rows) and predicted ones (columns); 0 on the diagonal.
        source: the hierarchy, for a reader.
        guessed: class → its concept, if its name has several meanings and one of them was taken.
    """

    classes: tuple[str, ...]
    by: Mapping[By, Floats]
    source: str
    guessed: Mapping[str, str] = field(default_factory=dict)


def taxonomy_distances(taxonomy: Taxonomy, nodes: Ints) -> dict[By, Floats]:
    """For each f, the (k, k) distances of k nodes of a taxonomy."""
    if len(nodes) > MOST_CLASSES:
        raise UserError(f"severity compares all pairs of at most {MOST_CLASSES:,} classes, not of {len(nodes):,}")
    information, depth = information_content(taxonomy, nodes) / log(2), taxonomy.depth.astype(np.float64)
    orders = {"information": order_by_information(taxonomy, information), "depth": order_by_depth(taxonomy)}
    values: dict[By, Floats] = {"information": information, "depth": depth}
    return {
        by: f[nodes][:, None] - f[lowest_common_ancestors(taxonomy, nodes, nodes, orders[by])]
        for by, f in values.items()
    }


def class_distances(classes: Sequence[str], file: Path | None = None, where: str = "") -> ClassDistances:
    """The distances of classes in WordNet, or in the user's own taxonomy.

    Args:
        classes: ids, names or words of concepts (`unseen.ontology.class_names`).
        file: a CSV file with the columns child,parent (`unseen.ontology.edges`), the taxonomy; or with the columns
            class,concept, the concepts of classes in WordNet 3.0, which is the default.
        where: name of the classes in error messages.
    """
    if not classes:
        raise UserError(f"{where or 'severity of mistakes'}: there are no classes, so no distances between them")
    own, given, source = None, _given(classes), WORDNET
    if file is not None and CONCEPT in table_header(file):
        given = {row["class"]: row[CONCEPT] for _, row in read_table(file, ("class", CONCEPT)) if row[CONCEPT]}
        source = f"{WORDNET}, with the concepts of {file.name}"
    elif file is not None:
        own, given, source = read_taxonomy(file), {}, file.name
    named = concepts_of_classes(classes, given, own, where or "severity of mistakes")
    whole = wordnet().taxonomy if own is None else own
    ids = [named.ids[each] for each in classes]
    part = whole.closure(ids, source)  # other concepts change nothing
    return ClassDistances(tuple(classes), taxonomy_distances(part, part.index(ids)), source, named.guessed)


@lru_cache(maxsize=4)
def known_distances(classes: tuple[str, ...]) -> ClassDistances:
    """The distances of classes in WordNet, kept for the next classifier of the same ones."""
    return class_distances(classes)


def _given(classes: Sequence[str]) -> Mapping[str, str]:
    """The concepts of CIFAR-10's classes, whose words have several meanings."""
    return {name: of[0] for name, of in CIFAR_10_SYNSETS.items()} if {*classes} == {*CIFAR_10_SYNSETS} else {}
