"""Drawing training, validation and test images for data sets without splits by their authors.

Images are drawn by SHA-256 of `seed/class/id`, like the splits of concepts, so the draw depends neither on the machine
nor on the order of files. A fifth is taken of every class (to the nearest image) and of the whole data set: a plain 20%
draw would, once in eight draws, leave some class of Caltech-101 (30 training images each) without validation images.
"""

import hashlib
from collections.abc import Mapping, Sequence

from unseen.data.core.dataset import Test, Validation
from unseen.data.core.rows import ALL, Row
from unseen.errors import UserError

CALTECH_TRAIN = 30
"""Training images per class if the remaining images are for testing."""
HELD_TEST, HELD_VALIDATION = 810, 540
"""Images per class that are held out of EuroSAT."""


def split_rows(
    rows: Sequence[Row], test: Test | None, validation: Validation | None, seed: int, where: str, *, gaps: bool = False
) -> list[Row]:
    """The same rows in the same order, assigned to `train`, `val` and `test`, or all in `all`.

    Args:
        gaps: as in `fifth`, of validation images.
    """
    if test == "beyond-30":
        rows = _move(rows, ALL, "train", first_of_each(_classes(rows, ALL), CALTECH_TRAIN, seed, where))
        rows = [row._replace(part="test") if row.part == ALL else row for row in rows]
    elif test == "fifth":
        rows = _move(rows, ALL, "test", fifth(_classes(rows, ALL), seed, where))
        rows = [row._replace(part="train") if row.part == ALL else row for row in rows]
    elif test == "held-810":
        rows = _move(rows, ALL, "test", first_of_each(_classes(rows, ALL), HELD_TEST, seed, where))
        rows = [row._replace(part="train") if row.part == ALL else row for row in rows]
    if validation == "held-540":
        rows = _move(rows, "train", "val", first_of_each(_classes(rows, "train"), HELD_VALIDATION, seed, where))
    if validation == "fifth":
        rows = _move(rows, "train", "val", fifth(_classes(rows, "train"), seed, where, gaps=gaps))
    return list(rows)


def first_of_each(classes: Mapping[str, Sequence[str]], count: int, seed: int, where: str) -> set[str]:
    """`count` ids of each class; at least one image per class must remain."""
    small = next((name for name, ids in classes.items() if len(ids) <= count), None)
    if small is not None:
        raise UserError(
            f"{where}: {small} has {len(classes[small])} images, but {count} are drawn, and at least 1 must remain"
        )
    return {id_ for name, ids in classes.items() for id_ in _shuffled(name, ids, seed)[:count]}


def fifth(classes: Mapping[str, Sequence[str]], seed: int, where: str, *, gaps: bool = False) -> set[str]:
    """⌊n/5⌋ of n ids: from each class the integer part of its fifth, or one more.

    The images left over by rounding down come from the classes with the largest remainders (Hamilton's method), with
    ties broken by hash. Every class must give at least one image and keep at least one.

    Args:
        gaps: small classes may give no image; one with a single image keeps it.
    """
    quotas = {name: len(ids) // 5 for name, ids in classes.items()}
    left = sum(map(len, classes.values())) // 5 - sum(quotas.values())
    several = [name for name, ids in classes.items() if len(ids) > 1] if gaps else classes
    by_remainder = sorted(several, key=lambda name: (-(len(classes[name]) % 5), _place(seed, name, "")))
    for name in by_remainder[:left]:
        quotas[name] += 1
    empty = next((name for name, quota in quotas.items() if quota == 0), None)
    if empty is not None and not gaps:
        raise UserError(
            f"{where}: {empty} has {len(classes[empty])} training images, too few to hold out a fifth of them; "
            "give it at least 5, or leave the class out"
        )
    return {id_ for name, ids in classes.items() for id_ in _shuffled(name, ids, seed)[: quotas[name]]}


def _classes(rows: Sequence[Row], part: str) -> dict[str, list[str]]:
    classes: dict[str, list[str]] = {}
    for row in rows:
        if row.part == part:
            classes.setdefault(row.label, []).append(row.id)
    return classes


def _move(rows: Sequence[Row], source: str, target: str, ids: set[str]) -> list[Row]:
    return [row._replace(part=target) if row.part == source and row.id in ids else row for row in rows]


def _shuffled(label: str, ids: Sequence[str], seed: int) -> list[str]:
    return sorted(ids, key=lambda id_: _place(seed, label, id_))


def _place(seed: int, label: str, id_: str) -> bytes:
    return hashlib.sha256(f"{seed}/{label}/{id_}".encode()).digest()
