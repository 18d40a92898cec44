"""A fingerprint of image contents: it distinguishes images with the same names but different pixels."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.manifest import Manifest
from unseen.data.core.source import ImageSource

SAMPLED = 16


def names_and_pixels(source: ImageSource, manifest: Manifest, splits: Sequence[str]) -> str:
    """The content hash of a manifest and the fingerprint of its images in some splits: what a training depends on."""
    used = [number for split in splits for number in manifest.numbers(source, split)]
    return f"{manifest.content_hash}, {fingerprint(source, used)}"


def fingerprint(source: ImageSource, numbers: Sequence[int] | NDArray[np.int64]) -> str:
    """SHA-256 over at most 16 images, spread evenly from the first of `numbers` to the last, as given by the source.

    For a file this is its bytes before decoding, so that damaged images count too and machines agree; for pixels it is
    dtype, shape and values. It costs 16 reads for any number of images; changes to other images are not noticed.
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
