"""Which images there are, per class, in a folder or in ImageNet's tar files, which are read in place."""

from collections.abc import Iterable, Iterator, Sequence
from os import DirEntry, scandir
from pathlib import Path

from unseen.errors import UserError
from unseen.images.tars import TAR_NAME, images_in, is_image, open_tar, tars_in


def list_images(root: Path) -> Iterator[tuple[str, list[str]]]:
    """(class id, sorted names of its images), class by class, in order of id where `root` is a folder.

    `root` is one of: a folder with a folder per class; a folder with a tar file per class; one tar file (also
    compressed) of tar files per class, as ImageNet-21K is distributed. A class is what its folder or tar file is
    called; other files, and hidden ones, are passed over.
    """
    if root.is_dir():
        classes = _in_folder(root)
    elif root.is_file():
        classes = _in_outer_tar(root)
    else:
        raise UserError(f"{root}: no such file or folder")
    seen: set[str] = set()
    for name, images in classes:
        check_class(root, name, images, seen)
        yield name, sorted(images)
    if not seen:
        raise UserError(f"{root}: no folder or tar file per class in it")


def check_class(root: Path, name: str, images: Sequence[str], seen: set[str]) -> None:
    """Refuse a class that was seen before, which is then added to `seen`, and names that are not plain text."""
    if name in seen:
        raise UserError(f"{root}: {name} is there twice, in two folders or tar files")
    seen.add(name)
    odd = next((image for image in images if not image.isprintable()), None)
    if odd is not None:
        raise UserError(f"{root}: an image of {name} has a name that is not plain text, {odd!a}; rename it")


def list_folder(folder: Path) -> list[DirEntry[str]]:
    """What is in a folder, by name."""
    try:
        with scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{folder}: cannot be read ({error.strerror})") from None


def present_files(base: Path, names: Iterable[str]) -> set[str]:
    """Those of some paths below a folder that are files with a byte, looked up folder by folder.

    A file without a byte, as a download that was cut off leaves it, is not there.
    """
    wanted: dict[str, set[str]] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        wanted.setdefault(folder, set()).add(file)
    return {
        f"{folder}/{entry.name}" if folder else entry.name
        for folder, files in wanted.items()
        if (base / folder).is_dir()
        for entry in list_folder(base / folder)
        if entry.name in files and entry.is_file() and entry.stat().st_size
    }


def _in_folder(root: Path) -> Iterator[tuple[str, list[str]]]:
    for entry in list_folder(root):
        if entry.name.startswith("."):  # what a notebook, an indexer or a file manager left there
            continue
        tar = TAR_NAME.fullmatch(entry.name)
        if entry.is_dir():
            files = list_folder(Path(entry.path))
            yield entry.name, [file.name for file in files if is_image(file.name) and file.is_file()]
        elif tar and entry.is_file():
            with open_tar(Path(entry.path)) as archive:
                yield tar["id"], [image.name for image in images_in(archive)]


def _in_outer_tar(path: Path) -> Iterator[tuple[str, list[str]]]:
    with open_tar(path) as outer:
        for name, images in tars_in(outer):
            yield name, [image.name for image in images]
