"""What the columns of a feature vector are: the blocks of a network that it concatenates, and how each was pooled.

Several blocks are written `blocks.8+blocks.11`, and the last n blocks, each after the network's final norm, `last-4`.
The vectors of all blocks follow one another as they are written, which for the numbered blocks of a network is in order
of depth: others are refused (`unseen.backbones.representation`). With the pooling `cls+avg`, these are their class
tokens, and the mean over the other positions of the last block alone comes after them, as in the linear evaluation of
DINOv2 (Oquab et al. 2023, `dinov2/eval/linear.py`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from unseen.errors import UserError, setting

PLUS = "+"
LAST_ONE = "last-1"
LAST = re.compile(r"last-([1-9][0-9]*)")
PartKind = Literal["cls", "avg", "none"]


@dataclass(frozen=True)
class VectorPart:
    """Some adjacent columns of a feature vector.

    Attributes:
        block: name of the module; for the last n blocks their places from the end, from "-n" to "-1".
        kind: "cls" for its class token, "avg" for the mean over its other positions, "none" if it gives one vector.
        start, stop: its columns.
    """

    block: str
    kind: PartKind
    start: int
    stop: int

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)


def last_blocks(layer: str) -> int | None:
    """The n of `last-n`; None for other layers."""
    found = LAST.fullmatch(layer)
    return int(found[1]) if found else None


def is_several(layer: str) -> bool:
    """Whether a layer is the last blocks, or several modules."""
    return last_blocks(layer) is not None or PLUS in layer


def one_of_several(layer: str) -> str:
    """The layer whose patches stand for several: of the last blocks the last one, which the final norm follows too."""
    if last_blocks(layer) is None:
        raise UserError(f"{layer}: features of patches are of one layer; name it ({setting('backbone.layers')})")
    return LAST_ONE


def blocks_in(layer: str) -> list[str]:
    """The names of the blocks in a layer, as they are written; of the last blocks, in order of depth."""
    number = last_blocks(layer)
    if number is None:
        return layer.split(PLUS)
    return [f"-{place}" for place in range(number, 0, -1)]


def named_parts(layer: str, pool: str) -> list[tuple[str, PartKind]]:
    """Block and kind of each part of the vector of a layer with a pooling, in order."""
    blocks = blocks_in(layer)
    if pool == "cls+avg":
        return [*((block, "cls") for block in blocks), (blocks[-1], "avg")]
    return [(block, cast("PartKind", pool)) for block in blocks]


def vector_parts(layer: str, pool: str, dimension: int, widths: Sequence[int] = ()) -> tuple[VectorPart, ...]:
    """The parts of a feature vector; none if it is not one vector per image.

    Args:
        widths: dimensions of each part; by default all are equally wide.
    """
    if pool != "cls+avg" and pool not in get_args(PartKind):
        return ()
    names = named_parts(layer, pool)
    known = widths or [dimension // len(names)] * len(names)
    if len(known) != len(names) or sum(known) != dimension:
        return ()
    found, start = list[VectorPart](), 0
    for (block, kind), width in zip(names, known, strict=True):
        found.append(VectorPart(block, kind, start, start + width))
        start += width
    return tuple(found)


def stored_parts(provenance: Mapping[str, Any]) -> tuple[VectorPart, ...]:
    """The parts of stored features, by what they say of their backbone; none if they do not say it."""
    of = provenance.get("backbone")
    if not isinstance(of, Mapping):
        return ()
    layer, pool, dimension, widths = (of.get(name) for name in ("layer", "pool", "dimension", "widths"))
    if not (isinstance(layer, str) and isinstance(pool, str) and isinstance(dimension, int)):
        return ()
    known = [width for width in widths if isinstance(width, int)] if isinstance(widths, list | tuple) else []
    return vector_parts(layer, pool, dimension, known)
