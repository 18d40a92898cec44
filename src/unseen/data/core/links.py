"""Symbolic links below a data set: they are followed inside its own folders, and out of them only if it says so.

A data set that somebody else packed could otherwise name any file of the machine as one of its images. Its own folder
may be a link, as people keep data elsewhere. What is opened within `links_within` may also lead into the folders named
there.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from unseen.errors import UserError

HOW = "follow_links = true in its .toml file, or follow-links = true in the study, allows it"
SNAPSHOTS, BLOBS = "snapshots", "blobs"
"""Folders of the cache of the Hugging Face Hub, in which files of the first are links to those of the second."""


@dataclass(frozen=True)
class Links:
    """Where links may lead.

    Attributes:
        roots: folders of the data set, besides the one that a file is looked up in.
        follow: whether links may lead anywhere.
    """

    roots: tuple[Path, ...] = ()
    follow: bool = False

    def refuse_out(self, path: Path, root: Path) -> None:
        """Refuse a path below a folder that a link leads out of the data set; it costs one status of the file."""
        if self.follow or not (os.path.islink(path) or _is_below_link(path.parent, root)):  # noqa: PTH114 - millions
            return
        target = Path(os.path.realpath(path))
        if not any(target.is_relative_to(_reach(each)) for each in (root, *self.roots)):
            raise UserError(f"{path}: a link leads out of the data set's folder {root}, to {target}; {HOW}")

    def refuse_everything(self, root: Path) -> None:
        """Refuse the root of the file system as the folder of a data set, as all files would be in it."""
        if not self.follow and (place := root.resolve()) == Path(place.anchor):
            raise UserError(
                f"{root}: the root of the file system is no folder of a data set; give the folder that has its images; "
                f"{HOW}"
            )


_links: ContextVar[Links | None] = ContextVar("links", default=None)


def current_links() -> Links:
    """Where links may lead of what is being opened."""
    return _links.get() or Links()


@contextmanager
def links_within(*roots: Path, follow: bool = False) -> Iterator[None]:
    """Open data whose links may lead into more folders, or anywhere."""
    before = current_links()
    token = _links.set(Links((*before.roots, *roots), before.follow or follow))
    try:
        yield
    finally:
        _links.reset(token)


def refuse_links_out(root: Path, paths: Iterable[Path]) -> None:
    """Refuse the first of some paths that a link leads out of the data set that is being opened."""
    links = current_links()
    for path in paths:
        links.refuse_out(path, root)


@lru_cache(maxsize=1 << 16)
def _is_below_link(folder: Path, root: Path) -> bool:
    """Whether a folder below a root is a link, or below one."""
    if folder == root or not folder.is_relative_to(root):
        return False
    return folder.is_symlink() or _is_below_link(folder.parent, root)


def _reach(root: Path) -> Path:
    """The folder that links below a root may lead into: itself, or that of a repository in a cache of the Hub."""
    place = Path(os.path.realpath(root))
    for folder in (place, *place.parents):
        if folder.parent.name == SNAPSHOTS and (folder.parent.parent / BLOBS).is_dir():
            return folder.parent.parent
    return place
