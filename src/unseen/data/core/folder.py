"""Images stored as individual files, in one folder per class or at listed paths."""

from dataclasses import dataclass
from pathlib import Path

from unseen.data.core.entries import EntryTable
from unseen.data.core.image_files import image_bytes
from unseen.data.core.listing import list_images
from unseen.data.core.releases import provenance
from unseen.errors import UserError


@dataclass(frozen=True)
class FileImages:
    """Images whose ids are paths below `root`; with `flat`, ids are `class/name` but all files are in `root`."""

    root: Path
    entries: EntryTable
    about: dict[str, str]
    flat: bool = False

    def read(self, number: int) -> bytes:
        id_ = self.entries[number].id
        path = self.root / (id_.rpartition("/")[2] if self.flat else id_)
        return image_bytes(path)


def folder_images(root: Path) -> FileImages:
    """Images in one folder per class, named after the class. Symbolic links to folders and files are followed."""
    classes = dict(list_images(root))
    tar = next((name for name in classes if not (root / name).is_dir()), None)
    if tar is not None:
        raise UserError(f"{root}: has folders and tar files ({tar}.tar); store all classes in the same way")
    rows = ((f"{name}/{image}", name) for name, images in classes.items() for image in images)
    entries = EntryTable.of(rows, str(root), classes)
    return FileImages(root, entries, provenance("folder per class", entries.classes, len(entries)))
