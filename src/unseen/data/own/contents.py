"""Hashes of the contents of all images of a data set, which reveal changed and duplicate images."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from unseen.data.core.source import ImageSource
from unseen.data.own.kept_digests import file_paths, read_kept, stamps_of, write_kept
from unseen.files import LFS
from unseen.text.words import counted

THREADS = 8
BLOCK = 256
SHOWN = 3
"""Number of pairs named in a sentence."""
Hashed = tuple[int, bytes]
Track = Callable[[Iterable[Hashed], str, int], Iterable[Hashed]]
"""Wraps items to show progress: the items, what they are, and their total number."""


def untracked(items: Iterable[Hashed], what: str, total: int) -> Iterable[Hashed]:
    """Shows no progress."""
    return items


@dataclass(frozen=True)
class SharedImages:
    """Images that occur in two splits, compared by their bytes.

    Attributes:
        pairs: (id in the first split, id in the second), one pair per image of the second split.
    """

    first: str
    second: str
    pairs: Sequence[tuple[str, str]]

    @property
    def sentence(self) -> str:
        """How many there are, and the first few."""
        named = ", ".join(f"{other} is {one}" for one, other in self.pairs[:SHOWN])
        more = ", …" if len(self.pairs) > SHOWN else ""
        verb = "is" if len(self.pairs) == 1 else "are"
        return f"{counted(len(self.pairs), f'{self.second} image')} {verb} in {self.first} too: {named}{more}"


def digests(source: ImageSource, numbers: Sequence[int], track: Track = untracked) -> dict[int, bytes]:
    """Index of an image → SHA-256 of it as given by its source: the bytes of a file, or dtype, shape and pixels.

    A few threads read each image once; files unchanged since an earlier command are not read again. Images are not
    decoded: the same picture in another file format, or saved again, counts as a different image. What has no content,
    since it is empty or a pointer of Git LFS, is left out: any two of them would be the same image.
    """

    def digest(number: int) -> Hashed:
        image = source.read(number)
        if isinstance(image, bytes):
            if _lacks_content(image):
                return number, b""
            return number, hashlib.sha256(image).digest()
        return number, hashlib.sha256(f"{image.dtype} {image.shape}\n".encode() + image.tobytes()).digest()

    paths = file_paths(source, numbers)
    stamps, kept = stamps_of(paths), read_kept(paths)
    known = {
        number: kept[path][1] for number, path in paths.items() if path in kept and kept[path][0] == stamps.get(number)
    }
    left = [number for number in numbers if number not in known]
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        blocks = (left[start : start + BLOCK] for start in range(0, len(left), BLOCK))
        read = (each for block in blocks for each in pool.map(digest, block))
        known.update(each for each in track(read, "images read", len(left)) if each[1])
    if left:
        settled = {number: path for number, path in paths.items() if number in stamps and number in known}
        write_kept(paths, {**kept, **{path: (stamps[number], known[number]) for number, path in settled.items()}})
    return {number: known[number] for number in numbers if number in known}


def empty_images(source: ImageSource, numbers: Iterable[int]) -> tuple[list[str], list[str]]:
    """The ids of images without content: those that are empty, and those that are pointers of Git LFS."""
    found: tuple[list[str], list[str]] = ([], [])
    for number in numbers:
        found[bool(source.read(number))].append(source.entries[number].id)
    return found


def _lacks_content(image: bytes) -> bool:
    return not image or image.startswith(LFS.encode())


def contents_hash(by_number: Mapping[int, bytes]) -> str:
    """SHA-256 over all images, in order."""
    return hashlib.sha256(b"".join(by_number.values())).hexdigest()


def shared_images(
    by_number: Mapping[int, bytes], ids: Sequence[str], splits: Sequence[str], first: str, second: str
) -> SharedImages:
    """The images of one split that also occur in another.

    Args:
        by_number: digest by index of an image.
        ids, splits: of all images.
    """
    known: dict[bytes, int] = {}
    for number, digest in by_number.items():
        if splits[number] == first:
            known.setdefault(digest, number)
    pairs = [
        (ids[known[digest]], ids[number])
        for number, digest in by_number.items()
        if splits[number] == second and digest in known
    ]
    return SharedImages(first, second, pairs)
