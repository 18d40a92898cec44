"""The images of a split of a user's own data set, from any kind of source."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages
from unseen.data.core.listing import present_files
from unseen.data.core.multi_label import class_names
from unseen.data.core.source import ImageSource
from unseen.data.own.description import Description
from unseen.data.own.own_data import SplitTable
from unseen.data.sources.columns import SEVERAL
from unseen.data.sources.list_file import listed_images
from unseen.data.sources.open_source import LIST, kind_of, open_images
from unseen.data.sources.torchvision_sets import PREFIX
from unseen.errors import UserError
from unseen.text.words import whole_number


def open_split(description: Description, split: str, table: SplitTable) -> ImageSource:
    """The images of a split, whether their files exist or not."""
    root = None if table.root is None else description.path(table.root)
    columns = {"split": table.split, "image": table.image, "label": table.label}
    try:
        if table.images.startswith(PREFIX):
            return open_images(table.images, root=root, **columns)  # type: ignore[arg-type]
        place = description.path(table.images)
        if kind_of(place, table.image) is LIST and table.config is None:
            return listed_images(place, root=root, there=False, **columns)
        source = open_images(place, root=root, config=table.config, **columns)  # type: ignore[arg-type]
        if SEVERAL in source.about and not description.several:
            raise UserError('its images have several classes each; set metric = "map-11-point"')
        return source
    except UserError as error:
        raise UserError(f"{description.place}, [{split}]: {error}") from None


def labels_of(parts: Iterable[ImageSource]) -> set[str]:
    """All labels as the sources give them."""
    return {entry.label for part in parts for entry in part.entries}


def all_classes(parts: Mapping[str, ImageSource], labels: Iterable[str], *, several: bool) -> tuple[str, ...]:
    """All classes, in order: those of the images, and those of folders without images."""
    if several:
        return class_names(labels)
    known = [part.entries.classes for part in parts.values() if isinstance(part.entries, EntryTable)]
    return tuple(sorted({*labels, *(name for names in known for name in names)}))


def naming(named: Sequence[str], labels: Iterable[str]) -> Callable[[str], str]:
    """Label → class name: whole numbers from 0 are indices into the class list."""
    numbers = {label: number for label in labels if (number := whole_number(label)) is not None}
    if not named or numbers.keys() != {*labels} or numbers.keys() & {*named}:
        return str
    return lambda label: named[numbers[label]] if numbers[label] < len(named) else label


def missing_files(part: ImageSource) -> dict[str, str]:
    """Images whose files do not exist: id → path. Shards and Arrow files contain all that they name."""
    if not isinstance(part, FileImages):
        return {}
    ids = [entry.id for entry in part.entries]
    there = present_files(part.root, ids)
    return {id_: str(part.root / id_) for id_ in ids if id_ not in there}
