"""The data sets with boxes or maps that a study is asked for: by name, or a user's own by their place."""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from unseen.errors import UserError
from unseen.images.dense.dense_dataset import OpenDenseDataset, open_dense_dataset
from unseen.images.dense.sets import dense_datasets, get_dense_dataset
from unseen.images.own.contents import Track, untracked
from unseen.images.own.dense import open_own_dense
from unseen.images.own.description import describe_all, is_own

AskedDense = str | OpenDenseDataset
"""The name of a data set, or a user's own, which is open."""


def asked_dense(words: Iterable[str | PathLike[str]], track: Track = untracked) -> list[AskedDense]:
    """What a user asks for: known names, then own data sets, opened; each once.

    Args:
        words: names, or places of own data sets.
        track: shows how many images of an own data set were read.
    """
    asked = [*dict.fromkeys(words)]
    names = [get_dense_dataset(str(word)).name for word in asked if not is_own(word)]
    own = describe_all(Path(word) for word in asked if is_own(word))
    return [*names, *(open_own_dense(each, track) for each in own)]


def open_dense(asked: Sequence[AskedDense], root: Path | None, kinds: Sequence[str]) -> list[OpenDenseDataset]:
    """Open data sets; where none is asked for, all that are there and have labels of some kinds.

    Args:
        root: the folder that named ones are below.
        kinds: of labels, for those that are not named.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the one that all data sets are below")
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
            except UserError:  # nobody asked for it by name
                continue
    return found
