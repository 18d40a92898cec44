"""Images stored as individual files, in one folder per class or at listed paths."""

from dataclasses import dataclass, field
from pathlib import Path

from unseen.data.core.entries import EntryTable
from unseen.data.core.image_files import image_bytes
from unseen.data.core.links import Links, current_links
from unseen.data.core.listing import list_images
from unseen.data.core.releases import provenance
from unseen.errors import UserError


@dataclass(frozen=True)
class FileImages:
    """Images whose ids are paths below `root`; with `flat`, ids are `class/name` but all files are in `root`.

    Attributes:
        links: where symbolic links below the root may lead.
    """

    root: Path
    entries: EntryTable
    about: dict[str, str]
    flat: bool = False
    links: Links = field(default_factory=current_links)

    def __post_init__(self) -> None:
        self.links.refuse_everything(self.root)

    def read(self, number: int) -> bytes:
        id_ = self.entries[number].id
        path = self.root / (id_.rpartition("/")[2] if self.flat else id_)
        self.links.refuse_out(path, self.root)
        return image_bytes(path)


def folder_images(root: Path) -> FileImages:
    """Images in one folder per class, named after the class."""
    classes = dict(list_images(root))
    tar = next((name for name in classes if not (root / name).is_dir()), None)
    if tar is not None:
        raise UserError(f"{root}: has folders and tar files ({tar}.tar); store all classes in the same way")
    rows = ((f"{name}/{image}", name) for name, images in classes.items() for image in images)
    entries = EntryTable.of(rows, str(root), classes)
    return FileImages(root, entries, provenance("folder per class", entries.classes, len(entries)))
