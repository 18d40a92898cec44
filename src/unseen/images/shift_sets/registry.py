"""All test sets of the shift study, by name."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from unseen.errors import UserError, did_you_mean
from unseen.images.shift_sets import (
    cifar10_1,
    cifar10_2,
    cifar10_test,
    cinic10,
    imagenet_a,
    imagenet_c,
    imagenet_r,
    imagenet_sketch,
    imagenet_v2,
    imagenet_val,
    objectnet,
)
from unseen.images.shift_sets.shift_set import ShiftSet

MODULES = (
    imagenet_val, imagenet_v2, imagenet_r, imagenet_sketch, imagenet_a, objectnet, cifar10_test, cifar10_1, cifar10_2,
    cinic10, imagenet_c,
)  # fmt: skip
SHIFT_SETS: dict[str, ShiftSet] = {found.name: found for module in MODULES for found in module.SETS}


def get_sets(names: Sequence[str]) -> tuple[ShiftSet, ...]:
    """Test sets by name, or several at once by a pattern: `imagenet-c.*.3_on-disk`."""
    chosen: dict[str, ShiftSet] = {}
    for name in names:
        matching = {known: found for known, found in SHIFT_SETS.items() if fnmatchcase(known, name)}
        if not matching:
            hint = did_you_mean(name, SHIFT_SETS) or "; see unseen ls shift-sets"
            raise UserError(f"no test set '{name}'{hint}")
        chosen |= matching
    return tuple(chosen.values())


def sets_below(root: Path) -> tuple[ShiftSet, ...]:
    """Those whose files are below a folder; corruptions are only made where they are asked for by name."""
    if not root.is_dir():
        raise UserError(f"{root}: no such folder; give the one that all test sets are below")
    made = "_in-memory"
    return tuple(found for found in SHIFT_SETS.values() if not found.name.endswith(made) and _is_below(found, root))


def _is_below(found: ShiftSet, root: Path) -> bool:
    """Whether a layout's files are below the folder itself; what packages bring is only taken by name."""
    return any(_holds(root / layout.folder, layout.files) for layout in found.layouts)


def _holds(place: Path, files: Sequence[str]) -> bool:
    return place.is_dir() and any(place.iterdir()) and all((place / name).exists() for name in files)
