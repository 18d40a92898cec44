"""Data sets with one folder per class and no splits by their authors."""

from pathlib import Path

from unseen.data.core.folder import folder_images
from unseen.data.core.rows import ALL, Listing, Row, files_listing
from unseen.errors import UserError


def class_folders(place: Path) -> Listing:
    """All images in one part; an id is the folder name and the file name."""
    source = folder_images(place)
    rows = [Row(entry.id, entry.label, ALL) for entry in source.entries]
    empty = set(source.entries.classes) - {row.label for row in rows}
    if empty:
        raise UserError(f"{place}: no images in the folder {min(empty)}")
    return files_listing(place, rows)
