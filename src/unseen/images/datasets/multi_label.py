"""Several classes an image, in the one word that a manifest has for a class.

`dog+person` shows both; in `chair?+dog` the chair is there but hard to recognise, which PASCAL VOC calls difficult. So
the hash of a manifest covers all labels, and features that were extracted with it carry them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

AND, UNSURE, NOTHING = "+", "?", "none"


@dataclass(frozen=True, eq=False)
class Targets:
    """(n, c) each: the classes that images show, and those that count neither for nor against a prediction."""

    positives: NDArray[np.bool_]
    ignored: NDArray[np.bool_]


def join_classes(shown: Iterable[str], unsure: Iterable[str] = ()) -> str:
    """The word for the classes of an image."""
    return AND.join(sorted([*shown, *(name + UNSURE for name in unsure)])) or NOTHING


def shown_classes(label: str) -> list[str]:
    """The classes that an image shows for certain."""
    return [name for name in label.split(AND) if name != NOTHING and not name.endswith(UNSURE)]


def class_names(labels: Iterable[str]) -> tuple[str, ...]:
    """All classes in some words, sorted."""
    names = {name.removesuffix(UNSURE) for label in set(labels) for name in label.split(AND)}
    return tuple(sorted(names - {NOTHING}))


def targets(labels: Sequence[str], classes: Sequence[str]) -> Targets:
    """What the words of n images say of c classes."""
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
