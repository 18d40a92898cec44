"""Images named in a table with one label each: a CSV, TSV or Parquet file, and the place of the images.

A row identifies its image by a path below a folder (with or without the suffix), by the file name alone if it is
unique, or by the key of a sample in WebDataset shards.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import walk
from pathlib import Path, PurePosixPath

from unseen.data.core.chosen import choose_images
from unseen.data.core.rows import ALL, Listing, Row, files_listing
from unseen.data.core.source import ImageSource
from unseen.data.core.tars.archive import is_image
from unseen.data.core.tars.webdataset import RANGE, webdataset_images
from unseen.data.sources.columns import LABEL_COLUMNS
from unseen.data.sources.list_file import list_rows
from unseen.errors import UserError

SUFFIXES = (".csv", ".tsv", ".parquet")


def table_listing(
    file: Path,
    *,
    root: Path | None = None,
    image: str | None = None,
    label: str | None = None,
    split: str | None = None,
    labels: Sequence[str] = LABEL_COLUMNS,
) -> Listing:
    """The images that a table or list names; those that do not exist are `missing`.

    Args:
        root: the folder of the images, or WebDataset shards; by default the folder of the table.
        image, label, split, labels: see `unseen.data.sources.list_file.list_rows`. Tables must have a header.
    """
    where = file.parent if root is None else root
    pairs = dict[str, str]()
    header = file.suffix.lower() in SUFFIXES
    for row in list_rows(file, image=image, label=label, split=split, labels=labels, header=header):
        if row.path in pairs:
            raise UserError(f"{file}, {row.place}: {row.path} occurs twice; name each image once")
        pairs[row.path] = row.label
    if not pairs:
        raise UserError(f"{file}: contains no images")
    return _in_shards(file, where, pairs) if are_shards(where) else _in_folder(file, where, pairs)


def are_shards(place: Path) -> bool:
    """Whether a place consists of tar files: one file, a pattern, or a folder that contains some."""
    return place.suffix == ".tar" or bool(RANGE.search(place.name)) or (place.is_dir() and any(place.glob("*.tar")))


def _in_folder(file: Path, root: Path, pairs: Mapping[str, str]) -> Listing:
    if not root.is_dir():
        raise UserError(f"{file}: its images should be below {root}, which is not a folder; give their folder (root)")
    ids = {key: _relative(key, root) for key in pairs}
    if not all(is_image(id_) for id_ in ids.values()):
        ids = _by_name(file, root, ids)
    listing = files_listing(root, (Row(ids[key], label, ALL) for key, label in pairs.items()))
    if not listing.rows:
        raise UserError(
            f"{file}: none of its images is below {root}, such as {next(iter(ids.values()))}; give their folder (root)"
        )
    return listing


def _relative(path: str, root: Path) -> str:
    """A path relative to the folder, with forward slashes; the listing refuses paths that lead outside."""
    given, base = PurePosixPath(path.replace("\\", "/")), PurePosixPath(root.absolute().as_posix())
    return str(given.relative_to(base) if given.is_relative_to(base) else given)


def _by_name(file: Path, root: Path, ids: Mapping[str, str]) -> dict[str, str]:
    """Paths below the folder for images named without their suffix, or by the file name alone."""
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
    ids = {key: _place(file, key.rpartition(".")[0] if is_image(key) else key, places, there) for key in pairs}
    rows = [Row(id_, pairs[key], ALL) for key, id_ in ids.items() if id_]
    if not rows:
        raise UserError(
            f"{file}: none of its images is in {place}, such as {next(iter(pairs))}; give the right shards (root)"
        )
    source = partial(_open_chosen, shards, [number[row.id] for row in rows], rows, str(file))
    return Listing(rows, source, [key for key, id_ in ids.items() if not id_])


def _open_chosen(source: ImageSource, numbers: Sequence[int], rows: Sequence[Row], where: str) -> ImageSource:
    return choose_images(source, numbers, [row.label for row in rows], where)


def _index(ids: Sequence[str], names: Callable[[str], Iterable[str]]) -> dict[str, list[int]]:
    """Every name of an image → the indices of all images with that name."""
    places = dict[str, list[int]]()
    for number, id_ in enumerate(ids):
        for name in dict.fromkeys(names(id_)):
            places.setdefault(name, []).append(number)
    return places


def _place(file: Path, name: str, places: Mapping[str, list[int]], ids: Sequence[str]) -> str | None:
    matches = places.get(name, [])
    if len(matches) > 1:
        both = " and ".join(ids[number] for number in matches[:2])
        raise UserError(f"{file}: {name} matches {both}; name images by their paths")
    return ids[matches[0]] if matches else None
