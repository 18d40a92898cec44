"""The requested data sets with boxes or maps: by name, or a user's own by their path."""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from unseen.errors import UserError
from unseen.images.open_dataset import OpenDataset, open_dataset
from unseen.images.own.contents import Track, untracked
from unseen.images.own.description import describe_all, is_own, refuse_same_names
from unseen.images.own.open_own import open_own
from unseen.images.registry import dense_sets, get_dataset

AskedDense = str | OpenDataset
"""The name of a data set, or an open data set of the user."""


def asked_dense(words: Iterable[str | PathLike[str] | OpenDataset], track: Track = untracked) -> list[AskedDense]:
    """The requested data sets, each once: known names, then open data sets, including the user's own.

    Args:
        words: names, paths of the user's own data sets, or open data sets.
        track: shows the progress of reading the images of the user's own data sets.
    """
    asked = [*dict.fromkeys(words)]
    places = [word for word in asked if not isinstance(word, OpenDataset)]
    names = [get_dataset(str(word), dense=True).name for word in places if not is_own(word)]
    own = describe_all(Path(word) for word in places if is_own(word))
    given = [word for word in asked if isinstance(word, OpenDataset)]
    found = [*given, *(open_own(each, dense=True, track=track) for each in own)]
    refuse_same_names([*names, *(each.dataset.name for each in found)])
    return [*names, *found]


def open_dense(asked: Sequence[AskedDense], root: Path | None, kinds: Sequence[str]) -> list[OpenDataset]:
    """Open data sets; by default all that exist and have labels of the given kinds.

    Args:
        root: folder that contains the named data sets.
        kinds: kinds of labels, if no data sets are named.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains the data sets")
    if asked:
        return [
            each if isinstance(each, OpenDataset) else open_dataset(get_dataset(each, dense=True), root)
            for each in asked
        ]
    found = []
    for dataset in dense_sets().values():
        if dataset.kind in kinds:
            try:
                found.append(open_dataset(dataset, root))
            except UserError:  # it was not requested by name
                continue
    return found
