"""The requested data sets of a task study: those that exist, and notices about the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from unseen.errors import UserError, option
from unseen.images.limit import limited
from unseen.images.open_dataset import OpenDataset, open_dataset
from unseen.images.own.contents import Track, untracked
from unseen.images.own.description import describe_all, is_own, refuse_same_names
from unseen.images.own.open_own import open_own
from unseen.images.registry import DATASETS, get_dataset, task_sets
from unseen.runs.notices import Notice, left_out

Asked = str | OpenDataset
"""The name of a data set, or an open data set of the user."""


@dataclass(frozen=True, eq=False)
class Opened:
    """The data sets that exist, and a notice about each of the others.

    Attributes:
        named: whether the user requested data sets by name; only then does the page mention missing ones.
    """

    datasets: Sequence[OpenDataset]
    absent: Sequence[Notice] = ()
    named: bool = True

    @property
    def missed(self) -> list[Notice]:
        """Notices about missing data sets for the page."""
        return list(self.absent) if self.named else []


def asked_datasets(words: "Iterable[str | PathLike[str] | OpenDataset]", track: Track = untracked) -> list[Asked]:
    """The requested data sets, each once: known names in the order of the registry, then the user's own, opened.

    Args:
        words: names, paths of the user's own data sets, or open data sets.
        track: shows the progress of reading the images of the user's own data sets.
    """
    asked = list(words)
    given = [word for word in asked if isinstance(word, OpenDataset)]
    places = [*dict.fromkeys(word for word in asked if not isinstance(word, OpenDataset))]
    names = {_known_name(str(word)) for word in places if not is_own(word)}
    own = describe_all(Path(word) for word in places if is_own(word))
    found = [*given, *(open_own(each, track=track) for each in own)]
    refuse_same_names([*names, *(each.dataset.name for each in found)])
    return [*(name for name in task_sets() if name in names), *found]


def _known_name(word: str) -> str:
    try:
        return get_dataset(word).name
    except UserError as error:
        raise UserError(f"{error}; your own are folders or .toml files") from None


def open_datasets(asked: Sequence[Asked], root: Path | None, *, limit: int | None = None) -> Opened:
    """Open data sets; it is an error if none of them exists.

    Args:
        asked: data sets; empty for all listed ones that exist.
        root: folder that contains the listed data sets; None for those that come with packages.
        limit: largest number of images per class and split.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains the data sets")
    opened, absent, reasons = list[OpenDataset](), list[Notice](), list[str]()
    for name in [word for word in asked if isinstance(word, str)] if asked else task_sets():
        try:
            opened.append(open_dataset(DATASETS[name], root))
        except UserError as error:
            absent.append(left_out(name, str(error)))
            reasons.append(str(error))
    opened += [each for each in asked if isinstance(each, OpenDataset)]
    if not opened and asked:
        below = f"; give the folder that contains the data sets ({option('images')})" if root is None else ""
        raise UserError("; ".join(reasons) + below)
    if not opened:
        raise UserError("no data set was found; unseen doctor --images FOLDER lists them and how to get them")
    return Opened(opened if limit is None else [limited(each, limit) for each in opened], absent, bool(asked))
