"""Images named in a table, each with a label: a CSV, TSV or Parquet file, and where the images are.

A row names its image by a path below a folder, with or without the ending of the file, by the file's name alone where
that is enough to know it, or by the key of a sample in WebDataset shards.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import walk
from pathlib import Path, PurePosixPath

from unseen.errors import UserError, did_you_mean
from unseen.files import read_table
from unseen.images.caption_files import Columns, column_names, read_captions
from unseen.images.chosen import choose_images
from unseen.images.datasets.listing import ALL, Listing, Row, files_listing
from unseen.images.list_file import IMAGE_COLUMNS, LABEL_COLUMNS
from unseen.images.source import ImageSource
from unseen.images.tars import is_image
from unseen.images.webdataset import RANGE, webdataset_images

SUFFIXES = (".csv", ".tsv", ".parquet")
CAPTION_COLUMNS = ("caption", "text", "title")


def table_listing(
    file: Path,
    *,
    root: Path | None = None,
    image: str | None = None,
    label: str | None = None,
    labels: Sequence[str] = LABEL_COLUMNS,
) -> Listing:
    """The images that a table names; those that are not there are `missing`.

    Args:
        root: the folder of the images, or WebDataset shards; the folder of the table unless given.
        image, label: columns; unless given, the first of `IMAGE_COLUMNS` and of `labels` that the table has.
    """
    where = file.parent if root is None else root
    columns = Columns(
        _column(file, image, IMAGE_COLUMNS, "names the images"), _column(file, label, labels, "has their labels")
    )
    pairs = dict[str, str]()
    for key, text in _pairs(file, columns):
        if not text:
            raise UserError(f"{file}: {key} has nothing in the column '{columns.text}'")
        if key in pairs:
            raise UserError(f"{file}: {key} is there twice; each image is named once")
        pairs[key] = text
    if not pairs:
        raise UserError(f"{file}: no images in it")
    return _in_shards(file, where, pairs) if are_shards(where) else _in_folder(file, where, pairs)


def are_shards(place: Path) -> bool:
    """Whether a place is tar files: one, a pattern of them, or a folder that has some."""
    return place.suffix == ".tar" or bool(RANGE.search(place.name)) or (place.is_dir() and any(place.glob("*.tar")))


def _column(file: Path, given: str | None, usual: Sequence[str], what: str) -> str:
    names = column_names(file)
    if given is not None and given not in names:
        raise UserError(f"{file}: no column '{given}'{did_you_mean(given, names) or '; there are ' + ', '.join(names)}")
    found = given or next((name for name in usual if name in names), None)
    if found is None:
        raise UserError(f"{file}: no column that {what}, such as {' or '.join(usual)}; there are {', '.join(names)}")
    return found


def _pairs(file: Path, columns: Columns) -> Iterator[tuple[str, str]]:
    """(image, label) of every row; rows of a CSV file have to be whole, as are all of a table of labels."""
    if file.suffix.lower() == ".csv":
        for line, row in read_table(file, (columns.id, columns.text)):
            if not row[columns.id]:
                raise UserError(f"{file}, line {line}: nothing in the column '{columns.id}'")
            yield row[columns.id], row[columns.text]
        return
    for batch in read_captions(file, columns):
        if batch.damaged:
            raise UserError(
                f"{file}: {batch.damaged:,} rows without an image, with too many or too few fields, or not UTF-8"
            )
        yield from zip(batch.ids, batch.texts, strict=True)


def _in_folder(file: Path, root: Path, pairs: Mapping[str, str]) -> Listing:
    if not root.is_dir():
        raise UserError(f"{file}: its images should be below {root}, which is no folder; say where they are (root)")
    ids = {key: _relative(key, root) for key in pairs}
    if not all(is_image(id_) for id_ in ids.values()):
        ids = _by_name(file, root, ids)
    listing = files_listing(root, (Row(ids[key], label, ALL) for key, label in pairs.items()))
    if not listing.rows:
        raise UserError(
            f"{file}: none of its images is below {root}, such as {next(iter(ids.values()))}; say where they are (root)"
        )
    return listing


def _relative(path: str, root: Path) -> str:
    """A path below the folder, with forward slashes; whether it leads out of it is checked by the listing."""
    given, base = PurePosixPath(path.replace("\\", "/")), PurePosixPath(root.absolute().as_posix())
    return str(given.relative_to(base) if given.is_relative_to(base) else given)


def _by_name(file: Path, root: Path, ids: Mapping[str, str]) -> dict[str, str]:
    """For images named without the ending of their file, or by that name alone: their paths below the folder."""
    there = [
        Path(folder, name).relative_to(root).as_posix()
        for folder, _, names in walk(root)
        for name in names
        if is_image(name)
    ]
    places = _index(there, lambda path: (path, path.rpartition(".")[0], Path(path).name, Path(path).stem))
    return {key: _place(file, id_, places, there) or id_ for key, id_ in ids.items()}


def _in_shards(file: Path, place: Path, pairs: Mapping[str, str]) -> Listing:
    shards = webdataset_images(place, label="")
    there = [entry.id for entry in shards.entries]
    places = _index(there, lambda id_: (id_, id_.partition("/")[2]))
    number = {id_: place for place, id_ in enumerate(there)}
    found = {key: _place(file, key.rpartition(".")[0] if is_image(key) else key, places, there) for key in pairs}
    rows = [Row(id_, pairs[key], ALL) for key, id_ in found.items() if id_]
    if not rows:
        raise UserError(
            f"{file}: none of its images is in {place}, such as {next(iter(pairs))}; say where they are (root)"
        )
    source = partial(_open_chosen, shards, [number[row.id] for row in rows], rows, str(file))
    return Listing(rows, source, [key for key, id_ in found.items() if not id_])


def _open_chosen(source: ImageSource, numbers: Sequence[int], rows: Sequence[Row], where: str) -> ImageSource:
    return choose_images(source, numbers, [row.label for row in rows], where)


def _index(ids: Sequence[str], names: Callable[[str], Iterable[str]]) -> dict[str, list[int]]:
    """Every name of an image → the places of all images that have it."""
    places = dict[str, list[int]]()
    for number, id_ in enumerate(ids):
        for name in dict.fromkeys(names(id_)):
            places.setdefault(name, []).append(number)
    return places


def _place(file: Path, name: str, places: Mapping[str, list[int]], ids: Sequence[str]) -> str | None:
    found = places.get(name, [])
    if len(found) > 1:
        both = " and ".join(ids[number] for number in found[:2])
        raise UserError(f"{file}: {name} may be {both}; name images by their paths")
    return ids[found[0]] if found else None
