"""Arrays in HDF5 files, read in place, row by row."""

from math import prod
from pathlib import Path
from typing import Any

from unseen.data.core.image_files import MAX_PIXELS
from unseen.data.core.open_files import FileState
from unseen.errors import UserError
from unseen.extras import naming_extras
from unseen.files import byte_size, refuse_special

MOST_OPEN = 8
MOST_EXPANDED = 1_100
"""Bytes that one stored byte can stand for; deflate's most are 1,032."""
_files: dict[Path, tuple[FileState, Any]] = {}
"""The files that are open in this process, the last one used last."""
_stored: set[tuple[Path, FileState, str]] = set()
"""Arrays that were found to be stored, which takes a look at all their chunks."""


def hdf5_array(path: Path, state: FileState, name: str) -> Any:
    """An array stored in the file itself, with rows no larger than images may be; call this inside `reading`.

    HDF5 can read the values of an array from other files, or expand a few bytes to terabytes; both are refused.

    Args:
        state: that of the file when its data set was opened; a file that has changed since is refused.
    """
    with naming_extras():
        import h5py

    refuse_special(path)
    if FileState.at(path) != state:
        raise UserError(f"{path}: changed since it was opened; run the command again")
    file = _opened(path, state)
    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(file[name], h5py.Dataset):
        raise UserError(f"{path}: '{name}' is not an array stored in the file itself")
    values = file[name]
    if values.external or values.is_virtual:
        raise UserError(f"{path}: refused, '{name}' takes its values from other files")
    for shape in (values.shape[1:], values.chunks or ()):
        if prod(shape) > 3 * MAX_PIXELS:
            raise UserError(f"{path}: '{name}' is of {values.shape}, larger than images may be")
    if (path, state, name) not in _stored:
        stored = values.id.get_storage_size()
        if values.nbytes > stored * MOST_EXPANDED:  # the rest would be one value, repeated
            raise UserError(
                f"{path}: '{name}' has values of {byte_size(values.nbytes)}, of which only {byte_size(stored)} are "
                "there; get the file again"
            )
        _stored.add((path, state, name))
    return values


def _opened(path: Path, state: FileState) -> Any:
    """The file, which stays open.

    It is closed once it has changed: HDF5 gives what it remembers of a file to everyone who opens it a second time.
    """
    with naming_extras():
        import h5py
    before, file = _files.pop(path, (state, None))
    if file is not None and before != state:
        file.close()
        file = None
    if file is None:
        file = h5py.File(path, "r")
    _files[path] = state, file
    while len(_files) > MOST_OPEN:
        _files.pop(next(iter(_files)))
    return file
