"""What a report shows about drawings, for any backbones."""

from collections.abc import Mapping, Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from unseen.demo.drawings import data_hash, drawings
from unseen.images.drawings import concepts
from unseen.ontology.levels import Built
from unseen.ontology.wordnet import wordnet
from unseen.runs.data import Domain, Example, Step

EXAMPLES = 10


def shown_domains(domains: Mapping[str, tuple[str, ...]], built: Built) -> list[Domain]:
    """The domain `seen` and those of the levels, with their concepts, mean similarity and some drawings."""
    similarity = {
        f"l{number}": float(np.mean([c.similarity for c in built.levels[number] if c.similarity is not None]))
        for number in built.levels.numbers
    }
    return [_domain(name, wnids, similarity.get(name)) for name, wnids in domains.items()]


def shown_steps(built: Built, before: Sequence[Step] = ()) -> list[Step]:
    """Number of categories left by each rule; `before` contains the steps before levels were built."""
    start = Step("start from the categories of drawings that are WordNet concepts", 0, len(concepts()))
    return [start, *before, *[Step(step.rule, len(step.removed), step.left) for step in built.selection.steps]]


def remarks(seen: str) -> dict[str, str]:
    """The origin of the drawings; `seen` describes the seen concepts."""
    return {
        "seen concepts": seen,
        "images": "100 drawings per concept, 80 for training and 20 for testing",
        "source of the images": "the Quick, Draw! data set by Google, CC BY 4.0",
        "data": f"drawings.npz, SHA-256 {data_hash()}",
    }


def on_paper(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Dark ink on white paper, as people drew it."""
    return 255 - images


def _domain(name: str, wnids: tuple[str, ...], similarity: float | None) -> Domain:
    title = "seen" if name == "seen" else name.upper()
    names = [f"{concepts()[wnid]} ({wordnet().synset(wnid).name})" for wnid in wnids]
    chosen = [wnids[i] for i in np.linspace(0, len(wnids) - 1, EXAMPLES).round().astype(int)]
    images, _ = drawings(chosen, "test")
    each = len(images) // len(chosen)
    examples = [Example(_png(images[i * each]), concepts()[wnid]) for i, wnid in enumerate(chosen)]
    return Domain(name, title, name == "seen", similarity, names, examples)


def _png(image: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(on_paper(image)).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
