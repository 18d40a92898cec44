"""The data sets that a task study is asked for: those that are there, and what is to be said of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError
from unseen.images.datasets.limit import limited
from unseen.images.datasets.open_dataset import OpenDataset, open_dataset
from unseen.images.datasets.registry import DATASETS
from unseen.runs.notices import Notice, left_out


@dataclass(frozen=True, eq=False)
class Opened:
    """Data sets that are there, and a notice on each of the others.

    Attributes:
        named: whether the user asked for data sets by name. Others are not missed on the page.
    """

    datasets: Sequence[OpenDataset]
    absent: Sequence[Notice] = ()
    named: bool = True

    @property
    def missed(self) -> list[Notice]:
        """What the page says of data sets that are not there."""
        return list(self.absent) if self.named else []


def open_datasets(names: Sequence[str], root: Path | None, *, limit: int | None = None) -> Opened:
    """Open data sets; where none of them is there, that is an error.

    Args:
        names: of data sets; empty for all that are there.
        root: the folder that all are below; None for those that come with packages.
        limit: at most so many images of each class in every split.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the one that all data sets are below")
    opened, absent = list[OpenDataset](), list[Notice]()
    for name in names or DATASETS:
        try:
            opened.append(open_dataset(DATASETS[name], root))
        except UserError as error:
            absent.append(left_out(name, str(error)))
    if not opened:
        raise UserError("none of the data sets is there; unseen doctor --images FOLDER says how to get them")
    return Opened(opened if limit is None else [limited(each, limit) for each in opened], absent, bool(names))
