"""Images in tar files, read in place."""

from dataclasses import dataclass
from pathlib import Path

from unseen.data.core.entries import EntryTable
from unseen.data.core.image_files import Unread, bounded_image
from unseen.data.core.open_files import open_file
from unseen.data.core.tars.index import open_index
from unseen.errors import UserError


@dataclass(frozen=True)
class TarImages:
    """Images read in place from tar files in `folder`, by an index that each process opens itself."""

    folder: Path
    index: Path
    key: str
    about: dict[str, str]

    @property
    def entries(self) -> EntryTable:
        return open_index(self.index, self.key).entries

    def read(self, number: int) -> bytes:
        tar, offset, size = open_index(self.index, self.key).place(number)
        file = open_file(self.folder / tar.name, tar)
        data = bounded_image(size, lambda start, count: file.read(offset + start, count))
        if len(data) < size and not isinstance(data, Unread):
            raise UserError(f"{self.folder / tar.name}: ends within {self.entries[number].id}; get the file again")
        return data
