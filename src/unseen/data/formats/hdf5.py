"""Arrays in HDF5 files, read in place, row by row."""

from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from unseen.data.core.decoding.decode import MAX_PIXELS
from unseen.errors import UserError
from unseen.extras import naming_extras


def hdf5_array(path: Path, name: str) -> Any:
    """An array stored in the file itself, with rows no larger than images may be; call this inside `reading`.

    HDF5 can read the values of an array from other files, or expand a few bytes to terabytes; both are refused.
    """
    with naming_extras():
        import h5py

    file = _opened(path)
    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(file[name], h5py.Dataset):
        raise UserError(f"{path}: '{name}' is not an array stored in the file itself")
    values = file[name]
    if values.external or values.is_virtual:
        raise UserError(f"{path}: refused, '{name}' takes its values from other files")
    for shape in (values.shape[1:], values.chunks or ()):
        if prod(shape) > 3 * MAX_PIXELS:
            raise UserError(f"{path}: '{name}' is of {values.shape}, larger than images may be")
    return values


@lru_cache(maxsize=8)
def _opened(path: Path) -> Any:
    with naming_extras():
        import h5py
    return h5py.File(path, "r")
