"""Files of predictions, one .npz per column of the table of accuracies, for `unseen shifts agreement`.

The arrays are (images,) indices of predicted classes under the names of the models; `labels` are the true classes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading
from unseen.runs.lock import folder_lock
from unseen.studies.shifts.accuracies import remedy
from unseen.studies.shifts.plans import RESERVED

if TYPE_CHECKING:
    from unseen.features.logits import Logits
    from unseen.studies.shifts.columns import Column

LABELS, FOLDER = RESERVED, "predictions"
Classes = NDArray[np.integer]


def predictions(logits: "Logits", column: "Column") -> tuple[Classes, Classes]:
    """(n,) predicted and true classes of the images of a column, as indices into its kept classes."""
    import torch

    from unseen.metrics.class_subset import subset_guesses

    values = torch.from_numpy(logits.values[: len(logits)])
    guess, truth = subset_guesses(values, logits.image_labels, logits.columns, column.kept, column.classes)
    return guess.numpy().astype(np.int32), truth.numpy().astype(np.int32)


def add_predictions(
    folder: Path, model: str, made: Mapping[str, tuple[Classes, Classes]], *, keep: bool = False
) -> None:
    """Add a model's predictions to the files of a folder; they replace its earlier predictions in all files.

    Args:
        folder: folder of predictions beside the table, whose folder is locked meanwhile.
        made: the result of `predictions` by column. A file with other true classes is refused.
        keep: keep the model's predictions in other files, since it is the same classifier.
    """
    with folder_lock(folder.parent):
        _add(folder, model, made, keep=keep)


def _add(folder: Path, model: str, made: Mapping[str, tuple[Classes, Classes]], *, keep: bool) -> None:
    files = dict[Path, dict[str, Classes]]()
    for name, (guess, truth) in made.items():
        path = folder / f"{name}.npz"
        known = read_predictions(path) if path.exists() else {LABELS: truth}
        if not np.array_equal(known.get(LABELS, ()), truth):
            raise UserError(f"{path}: has predictions of other images, or of other classes; {remedy()}")
        files[path] = {**known, model: guess}
    for path in () if keep else sorted(set(folder.glob("*.npz")) - set(files)):
        known = read_predictions(path)
        if model in known:
            files[path] = {name: values for name, values in known.items() if name != model}
    for path, arrays in files.items():
        if set(arrays) == {LABELS}:
            path.unlink()
        else:
            write_predictions(path, arrays)


def write_predictions(path: Path, arrays: Mapping[str, Classes]) -> None:
    """Like `np.savez`, but for all names: a model may be named `file`."""
    with atomic_write(path) as handle, ZipFile(handle, "w") as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, np.asarray(values), allow_pickle=False)


def read_predictions(path: Path) -> Mapping[str, Classes]:
    """Read arrays of class indices by model, all of the same length; nothing is unpickled."""
    with reading(path, "an .npz file of plain arrays, one per model"):
        arrays = read_npz(path)
    for name, values in arrays.items():
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise UserError(f"{path}: '{name}' must be one class index per image, not {values.dtype} {values.shape}")
    if len({len(values) for values in arrays.values()}) > 1:
        sizes = ", ".join(f"{name} {len(values)}" for name, values in list(arrays.items())[:4])
        raise UserError(f"{path}: models have predictions of different numbers of images ({sizes} …)")
    if not [name for name in arrays if name != LABELS]:
        raise UserError(f"{path}: contains no predictions; give a file written by unseen run shifts")
    return arrays
