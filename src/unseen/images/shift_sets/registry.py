"""All test sets of the shift study, by name: every module of this package that defines `SETS`."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import get_args

from unseen.errors import UserError, did_you_mean
from unseen.images.shift_sets.shift_set import LabelSpace, ShiftSet
from unseen.plugins import plugins


def find_shift_sets() -> dict[str, ShiftSet]:
    """Test sets by name: those with ImageNet's classes first, and ID test sets before their shifts."""
    groups: list[tuple[ShiftSet, ...]] = plugins(__package__, "SETS")
    return {each.name: each for sets in sorted(groups, key=_order) for each in sets}


def _order(sets: Sequence[ShiftSet]) -> tuple[int, bool, str]:
    return get_args(LabelSpace).index(sets[0].space), sets[0].shifted, sets[0].name


SHIFT_SETS = find_shift_sets()


def get_sets(names: Sequence[str]) -> tuple[ShiftSet, ...]:
    """Test sets by name, or several at once by a pattern such as `imagenet-c.*.3_on-disk`."""
    chosen: dict[str, ShiftSet] = {}
    for name in names:
        matching = {known: shift_set for known, shift_set in SHIFT_SETS.items() if fnmatchcase(known, name)}
        if not matching:
            hint = did_you_mean(name, SHIFT_SETS) or "; see unseen ls shift-sets"
            raise UserError(f"no test set '{name}'{hint}")
        chosen |= matching
    return tuple(chosen.values())


def sets_below(root: Path) -> tuple[ShiftSet, ...]:
    """The test sets with files below a folder; computed corruptions are only included when requested by name."""
    if not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains all test sets")
    made = "_in-memory"
    return tuple(
        shift_set
        for shift_set in SHIFT_SETS.values()
        if not shift_set.name.endswith(made) and _is_below(shift_set, root)
    )


def _is_below(shift_set: ShiftSet, root: Path) -> bool:
    """Whether a layout's files are below the folder itself; data sets that come with packages must be requested by
    name.
    """
    return any(_holds(root / layout.folder, layout.files) for layout in shift_set.layouts)


def _holds(place: Path, files: Sequence[str]) -> bool:
    return place.is_dir() and any(place.iterdir()) and all((place / name).exists() for name in files)
