"""The arrays that are stored for every image beside the result of its job: its pixels, and for instance attention maps.

    by-image/KEY/00000.npz, 00001.npz …     by the key of the job and the position of the image in its set

Each file has the `image`, the arrays of its analysis, and `values`, its numbers by metric as JSON. It is written when
its image is done, so an interrupted job resumes with the next image.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.probes.single_images import Measured, Pixels
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.reading.json_records import typed

BY_IMAGE = "by-image"
"""Name of the folder, beside the folder of results."""


def keep(folder: Path, place: int, image: Pixels, found: Measured) -> None:
    """Write the result on an image."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {"image": image, "values": np.array(json.dumps(dict(found.values))), **found.arrays}
    with atomic_write(_file(folder, place)) as file:
        np.savez_compressed(file, **arrays)


def read_kept(folder: Path, place: int, names: Sequence[str] = ()) -> dict[str, NDArray[Any]] | None:
    """Arrays of an image by name, by default all; None if the file is missing or damaged."""
    path = _file(folder, place)
    try:
        with reading(path, "arrays of an image"):
            found = read_npz(path, names or None)
            return {name: found[name] for name in names or found}
    except UserError:
        return None


def kept_values(folder: Path, place: int) -> dict[str, float] | None:
    """The values of an image by metric; None if it is not done."""
    found, path = read_kept(folder, place, ["values"]), _file(folder, place)
    if found is None:
        return None
    try:
        with reading(path, "numbers of an image"):
            values: dict[str, float] = typed(json.loads(str(found["values"])), dict[str, float], str(path))
    except UserError:
        return None
    return values


def _file(folder: Path, place: int) -> Path:
    return folder / f"{place:05d}.npz"
