"""The levels of drawings that come with the package, in a study: what its page shows of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from unseen.data.concepts.drawing_levels import (
    CLASSES,
    IMAGENET,
    OWN,
    data_hash,
    drawing_domains,
    drawing_levels,
    drawings,
    in_imagenet,
    on_paper,
    open_drawings,
    under_imagenet,
)
from unseen.data.concepts.drawings import concepts, seen_concepts
from unseen.data.core.open_dataset import OpenDataset
from unseen.runs.data import Example, Step
from unseen.runs.notices import Notice, notice

DRAWN_LEVELS = (OWN, IMAGENET)
"""Names of levels whose images come with the package."""
EXAMPLES = 10


@dataclass(frozen=True)
class DrawnLevels:
    """Levels of drawings by name, with what a page shows of them."""

    name: str

    def open(self, names: Sequence[str]) -> list[OpenDataset]:
        """The drawings of some domains."""
        domains = drawing_domains(self.name)
        return open_drawings({name: domains[name] for name in names})

    @property
    def steps(self) -> list[Step]:
        """The rules by which concepts were chosen, with the number of concepts that each leaves."""
        steps = [Step("start from the categories of drawings that are WordNet concepts", 0, len(concepts()))]
        if self.name == IMAGENET:
            under = len(under_imagenet())
            steps.append(Step("drop what lies under seen concepts", under, len(concepts()) - under))
        selected = drawing_levels(self.name).selection.steps
        return [*steps, *(Step(step.rule, len(step.removed), step.left) for step in selected)]

    @property
    def notices(self) -> list[Notice]:
        """What readers must know of the scores."""
        return [notice("drawings"), *([notice("drawn-imagenet")] if self.name == IMAGENET else [])]

    @property
    def remarks(self) -> Mapping[str, str]:
        """Where the drawings are from."""
        probed = f"{CLASSES[self.name]} of them probed"
        seen = (
            f"{len(in_imagenet())} drawn concepts are in ImageNet-1K, {probed}"
            if self.name == IMAGENET
            else f"{len(seen_concepts())} for training the demo's networks, {probed}"
        )
        return {
            "seen concepts": seen,
            "images": "100 drawings per concept, 80 for training and 20 for testing",
            "source of the images": "the Quick, Draw! data set by Google, CC BY 4.0",
            "data": f"drawings.npz, SHA-256 {data_hash()}",
        }

    def examples(self, name: str) -> list[Example]:
        """A test drawing of some concepts of a domain."""
        wnids = drawing_domains(self.name)[name]
        chosen = [wnids[place] for place in np.linspace(0, len(wnids) - 1, EXAMPLES).round().astype(int)]
        images, labels = drawings(chosen, "test")
        firsts = np.searchsorted(labels, np.arange(len(chosen)))
        return [Example(_png(images[first]), concepts()[wnid]) for first, wnid in zip(firsts, chosen, strict=True)]


def _png(image: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(on_paper(image)).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
