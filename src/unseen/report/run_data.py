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
    """A backbone of the report: `category` groups and colours it."""

    name: str
    category: str
    description: str = ""


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
    """

    title: str
    scores: Sequence[Score]
    domains: Sequence[Domain]
    backbones: Sequence[Backbone]
    baseline: str
    notice: str = ""
    steps: Sequence[Step] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
