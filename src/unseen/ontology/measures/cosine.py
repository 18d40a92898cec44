"""Cosine similarity of concept vectors."""

import numpy as np

from unseen.ontology.information import Floats
from unseen.ontology.space import Measure, Space
from unseen.ontology.taxonomy import Ints


def cosine(space: Space, rows: Ints, columns: Ints) -> Floats:
    """⟨u, v⟩ / (‖u‖·‖v‖), in [−1, 1]; 0 if a vector is zero (a concept without known words)."""

    def directions(nodes: Ints) -> Floats:
        vectors = space.vectors[nodes].astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1.0)

    return directions(rows) @ directions(columns).T


MEASURE = Measure(
    name="cosine",
    title="Cosine of text vectors",
    formula="⟨u, v⟩ / (‖u‖·‖v‖)",
    citation="Sariyildiz et al. 2021, Concept generalization in visual representation learning, appendix D",
    uses="vectors",
    matrix=cosine,
)
