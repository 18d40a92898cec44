"""The requested data sets with boxes or maps: by name, or a user's own by their path."""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from unseen.errors import UserError
from unseen.images.dense.dense_dataset import OpenDenseDataset, open_dense_dataset
from unseen.images.dense.sets import dense_datasets, get_dense_dataset
from unseen.images.own.contents import Track, untracked
from unseen.images.own.dense import open_own_dense
from unseen.images.own.description import describe_all, is_own, refuse_same_names

AskedDense = str | OpenDenseDataset
"""The name of a data set, or an open data set of the user."""


def asked_dense(words: Iterable[str | PathLike[str] | OpenDenseDataset], track: Track = untracked) -> list[AskedDense]:
    """The requested data sets, each once: known names, then open data sets, including the user's own.

    Args:
        words: names, paths of the user's own data sets, or open data sets.
        track: shows the progress of reading the images of the user's own data sets.
    """
    asked = [*dict.fromkeys(words)]
    places = [word for word in asked if not isinstance(word, OpenDenseDataset)]
    names = [get_dense_dataset(str(word)).name for word in places if not is_own(word)]
    own = describe_all(Path(word) for word in places if is_own(word))
    given = [word for word in asked if isinstance(word, OpenDenseDataset)]
    found = [*given, *(open_own_dense(each, track) for each in own)]
    refuse_same_names([*names, *(each.dataset.name for each in found)])
    return [*names, *found]


def open_dense(asked: Sequence[AskedDense], root: Path | None, kinds: Sequence[str]) -> list[OpenDenseDataset]:
    """Open data sets; by default all that exist and have labels of the given kinds.

    Args:
        root: folder that contains the named data sets.
        kinds: kinds of labels, if no data sets are named.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains the data sets")
    if asked:
        return [
            each if isinstance(each, OpenDenseDataset) else open_dense_dataset(get_dense_dataset(each), root)
            for each in asked
        ]
    found = []
    for dataset in dense_datasets().values():
        if dataset.kind in kinds:
            try:
                found.append(open_dense_dataset(dataset, root))
            except UserError:  # it was not requested by name
                continue
    return found
