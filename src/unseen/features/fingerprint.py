"""What some images show, in one line: images of the same names and other pixels are told apart by it."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unseen.images.manifest import Manifest
from unseen.images.source import ImageSource

SAMPLED = 16


def names_and_pixels(source: ImageSource, manifest: Manifest, splits: Sequence[str]) -> str:
    """The content hash of a manifest and the fingerprint of its images of some splits: what a training depends on."""
    used = [number for split in splits for number in manifest.numbers(source, split)]
    return f"{manifest.content_hash}, {fingerprint(source, used)}"


def fingerprint(source: ImageSource, numbers: Sequence[int] | NDArray[np.int64]) -> str:
    """SHA-256 over at most 16 images, spread evenly from the first of `numbers` to the last, as the source gives them.

    Of a file these are its bytes, before anything decodes them: a damaged image counts as it is, and machines agree. Of
    pixels, they are type, shape and values. The cost is 16 reads however many images there are; a change to others
    than these is not noticed.
    """
    last, steps = len(numbers) - 1, SAMPLED - 1
    digest = hashlib.sha256()
    for place in dict.fromkeys(last * step // steps for step in range(SAMPLED)):
        image = source.read(int(numbers[place]))
        if isinstance(image, bytes):
            digest.update(f"{len(image)} bytes\n".encode() + image)
        else:
            digest.update(f"{image.dtype} {image.shape}\n".encode() + image.tobytes())
    return digest.hexdigest()
