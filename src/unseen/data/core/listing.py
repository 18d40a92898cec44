"""Names of the images of each class, in a folder or in ImageNet's tar files, which are read in place."""

from collections.abc import Iterable, Iterator, Sequence
from os import DirEntry, scandir
from pathlib import Path
from typing import Literal

from unseen.data.core.links import refuse_links_out
from unseen.data.core.tars.archive import TAR_NAME, images_in, is_image, open_tar, tars_in
from unseen.errors import UserError


def list_images(root: Path) -> Iterator[tuple[str, list[str]]]:
    """(class id, sorted names of its images) for each class, ordered by id if `root` is a folder.

    `root` is a folder with one folder per class, a folder with one tar file per class, or one tar file (possibly
    compressed) of per-class tar files, as ImageNet-21K is distributed. A class is named after its folder or tar file;
    other files and hidden files are skipped. Images in folders inside the folder of a class are refused.
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
        raise UserError(f"{root}: contains no folder or tar file per class")


def check_class(root: Path, name: str, images: Sequence[str], seen: set[str]) -> None:
    """Refuse a class that is already in `seen` (to which it is then added), and names that are not plain text."""
    if name in seen:
        raise UserError(f"{root}: {name} occurs twice, in two folders or tar files")
    seen.add(name)
    if not name.isprintable():
        raise UserError(
            f"{root}: a class is named {name!a}, which is not plain text in UTF-8; rename its folder or file"
        )
    odd = next((image for image in images if not image.isprintable()), None)
    if odd is not None:
        raise UserError(f"{root}: an image of {name} has a name that is not plain text, {odd!a}; rename it")


def list_folder(folder: Path) -> list[DirEntry[str]]:
    """The contents of a folder, sorted by name."""
    try:
        with scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{folder}: cannot be read ({error.strerror})") from None


def present_files(base: Path, names: Iterable[str]) -> set[str]:
    """The paths below a folder that are non-empty files, checked folder by folder.

    An empty file, as an interrupted download leaves it, counts as missing.
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
        if not _leads_out(entry, base)
    }


def _leads_out(entry: DirEntry[str], root: Path) -> Literal[False]:
    """Refuse an entry of a folder that a link leads out of the data set; what is no link costs nothing."""
    if entry.is_symlink():
        refuse_links_out(root, [Path(entry.path)])
    return False


def _in_folder(root: Path) -> Iterator[tuple[str, list[str]]]:
    for entry in list_folder(root):
        if entry.name.startswith("."):  # created by a notebook, an indexer or a file manager
            continue
        tar = TAR_NAME.fullmatch(entry.name)
        if entry.is_dir() or tar:
            _leads_out(entry, root)
        if entry.is_dir():
            files = list_folder(Path(entry.path))
            _refuse_images_below(files)
            images = [file for file in files if is_image(file.name) and file.is_file()]
            yield entry.name, [file.name for file in images if not _leads_out(file, root)]
        elif tar and entry.is_file():
            with open_tar(Path(entry.path)) as archive:
                yield tar["id"], [image.name for image in images_in(archive)]


def _refuse_images_below(files: Iterable[DirEntry[str]]) -> None:
    """Refuse a folder of a class with images in a folder inside it, which would not be read."""
    for folder in files:
        if folder.is_dir() and not folder.name.startswith("."):
            image = next((file.name for file in list_folder(Path(folder.path)) if is_image(file.name)), None)
            if image is not None:
                raise UserError(
                    f"{folder.path}: has images ({image}) inside the folder of a class, which would be left out; "
                    "move them into the folder of the class, or give a list of all images instead"
                )


def _in_outer_tar(path: Path) -> Iterator[tuple[str, list[str]]]:
    with open_tar(path) as outer:
        for name, images in tars_in(outer):
            yield name, [image.name for image in images]
