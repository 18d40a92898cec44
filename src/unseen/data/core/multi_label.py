"""Encoding of several classes per image in the single label string of a manifest.

`dog+person` shows both; in `chair?+dog` the chair is visible but hard to recognise ("difficult" in PASCAL VOC). The
hash of a manifest therefore covers all labels, and extracted features carry them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

AND, UNSURE, NOTHING = "+", "?", "none"


@dataclass(frozen=True, eq=False)
class Targets:
    """(n, c) booleans each: the classes that images show, and those that are ignored in scoring."""

    positives: NDArray[np.bool_]
    ignored: NDArray[np.bool_]


def join_classes(shown: Iterable[str], unsure: Iterable[str] = ()) -> str:
    """The label string for the classes of an image."""
    return AND.join(sorted([*shown, *(name + UNSURE for name in unsure)])) or NOTHING


def shown_classes(label: str) -> list[str]:
    """The classes that an image certainly shows."""
    return [name for name in label.split(AND) if name != NOTHING and not name.endswith(UNSURE)]


def class_names(labels: Iterable[str]) -> tuple[str, ...]:
    """All classes in the label strings, sorted."""
    names = {name.removesuffix(UNSURE) for label in set(labels) for name in label.split(AND)}
    return tuple(sorted(names - {NOTHING}))


def targets(labels: Sequence[str], classes: Sequence[str]) -> Targets:
    """Targets of n label strings for c classes."""
    column = {name: number for number, name in enumerate(classes)}
    positives = np.zeros((len(labels), len(classes)), dtype=np.bool_)
    ignored = np.zeros_like(positives)
    for row, label in enumerate(labels):
        for name in label.split(AND):
            if name == NOTHING:
                continue
            number = column.get(name.removesuffix(UNSURE))
            if number is None:
                raise UserError(f"'{label}' names a class that is not one of {', '.join(classes)}")
            (ignored if name.endswith(UNSURE) else positives)[row, number] = True
    return Targets(positives, ignored)
