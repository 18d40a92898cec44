"""Choosing test sets of the shift study, by name or by what a folder has."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from unseen.data.core.dataset import Dataset
from unseen.data.registry import shift_sets
from unseen.errors import UserError, did_you_mean


def get_sets(names: Sequence[str]) -> tuple[Dataset, ...]:
    """Test sets by name, or several at once by a pattern such as `imagenet-c.*.3_on-disk`."""
    known, chosen = shift_sets(), dict[str, Dataset]()
    for name in names:
        matching = {each: dataset for each, dataset in known.items() if fnmatchcase(each, name)}
        if not matching:
            hint = did_you_mean(name, known) or "; see unseen ls shift-sets"
            raise UserError(f"no test set '{name}'{hint}")
        chosen |= matching
    return tuple(chosen.values())


def sets_below(root: Path) -> tuple[Dataset, ...]:
    """The test sets with files below a folder; computed corruptions are only included when requested by name."""
    if not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains all test sets")
    made = "_in-memory"
    return tuple(each for each in shift_sets().values() if not each.name.endswith(made) and _is_below(each, root))


def _is_below(dataset: Dataset, root: Path) -> bool:
    """Whether a layout's files are below the folder itself; data sets that come with packages must be requested by
    name.
    """
    return any(_holds(root / layout.folder, layout.files) for layout in dataset.layouts)


def _holds(place: Path, files: Sequence[str]) -> bool:
    return place.is_dir() and any(place.iterdir()) and all((place / name).exists() for name in files)
