"""What a report of a run is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unseen.results.score import Score


@dataclass(frozen=True)
class Example:
    """A picture shown as an example: a PNG and what it shows."""

    png: bytes
    caption: str


@dataclass(frozen=True)
class Domain:
    """A set of concepts that backbones were probed on, in the order of the report."""

    name: str
    title: str
    seen: bool = False
    similarity: float | None = None
    concepts: Sequence[str] = ()
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Backbone:
    """A backbone of the report: `category` groups and colours it.

    Attributes:
        cautions: why comparisons with others are not fair, each a few words: web data, a larger image …
    """

    name: str
    category: str
    description: str = ""
    cautions: Sequence[str] = ()


@dataclass(frozen=True)
class ConceptAccuracy:
    """How well a backbone tells one concept from the others of its domain.

    Attributes:
        similarity: of the concept to the nearest seen one; None where that is not known, or it is seen itself.
        correct, images: test images of it that are classified correctly, and in all; sums over seeds.
    """

    backbone: str
    domain: str
    concept: str
    similarity: float | None
    correct: int
    images: int


@dataclass(frozen=True)
class Step:
    """One rule in the making of the levels: what it did, how many concepts it removed, how many were left."""

    rule: str
    removed: int
    left: int


@dataclass(frozen=True)
class RunData:
    """Everything on the page.

    Attributes:
        notice: one sentence at the top, when the run is not the whole protocol; empty otherwise.
        baseline: the backbone that differences are first taken from.
        steps: how the levels were made; empty where that is not known.
        provenance: label → text, in order: versions, machine, commands, data, licence.
        published: the name of published numbers that these may be set beside (`cog-v2`); empty where none may.
        concept_accuracy: with all samples; empty where results do not have it.
    """

    title: str
    scores: Sequence[Score]
    domains: Sequence[Domain]
    backbones: Sequence[Backbone]
    baseline: str
    notice: str = ""
    steps: Sequence[Step] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    published: str = ""
    concept_accuracy: Sequence[ConceptAccuracy] = ()
