"""What all images of a data set show, as hashes: by these a changed image is noticed, and one that is there twice."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from unseen.images.own.kept_digests import file_paths, read_kept, stamps_of, write_kept
from unseen.images.source import ImageSource
from unseen.words import counted

THREADS = 8
BLOCK = 256
SHOWN = 3
"""Pairs that a sentence names."""
Hashed = tuple[int, bytes]
Track = Callable[[Iterable[Hashed], str, int], Iterable[Hashed]]
"""Passes items on, to show how many there were, what they are, and how many there are in all."""


def untracked(items: Iterable[Hashed], what: str, total: int) -> Iterable[Hashed]:
    """Shows nothing."""
    return items


@dataclass(frozen=True)
class SharedImages:
    """Images that are in two splits, by their bytes.

    Attributes:
        pairs: ids, of the first split and of the second; one pair for each image of the second.
    """

    first: str
    second: str
    pairs: Sequence[tuple[str, str]]

    @property
    def sentence(self) -> str:
        """How many there are, and which the first are."""
        named = ", ".join(f"{other} is {one}" for one, other in self.pairs[:SHOWN])
        more = ", …" if len(self.pairs) > SHOWN else ""
        verb = "is" if len(self.pairs) == 1 else "are"
        return f"{counted(len(self.pairs), f'{self.second} image')} {verb} in {self.first} too: {named}{more}"


def digests(source: ImageSource, numbers: Sequence[int], track: Track = untracked) -> dict[int, bytes]:
    """Number of an image → SHA-256 of it as its source gives it: the bytes of a file, or type, shape and pixels.

    The images are read once, by a few threads, and files that were not touched since an earlier command not even that.
    They are not decoded: the same picture in another file format, or saved anew, is another image here.
    """

    def digest(number: int) -> Hashed:
        image = source.read(number)
        if isinstance(image, bytes):
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
        known.update(track(read, "images read", len(left)))
    if left:
        found = {path: (stamps[number], known[number]) for number, path in paths.items() if number in stamps}
        write_kept(paths, {**kept, **found})
    return {number: known[number] for number in numbers}


def contents_hash(found: Mapping[int, bytes]) -> str:
    """SHA-256 over all images, in order."""
    return hashlib.sha256(b"".join(found.values())).hexdigest()


def shared_images(
    found: Mapping[int, bytes], ids: Sequence[str], splits: Sequence[str], first: str, second: str
) -> SharedImages:
    """The images of a split that another has too.

    Args:
        found: by number of an image.
        ids, splits: of all images.
    """
    known: dict[bytes, int] = {}
    for number, digest in found.items():
        if splits[number] == first:
            known.setdefault(digest, number)
    pairs = [
        (ids[known[digest]], ids[number])
        for number, digest in found.items()
        if splits[number] == second and digest in known
    ]
    return SharedImages(first, second, pairs)
