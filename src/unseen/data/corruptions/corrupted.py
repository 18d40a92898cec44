"""Images of another source, corrupted when they are read."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import Entry, Image, ImageSource
from unseen.data.corruptions.corruptions import corrupt
from unseen.errors import UserError

FRAME = Transform(size=224, resize=256, interpolation="bilinear")
"""The input of ImageNet-C's corruptions: shortest side 256 pixels, central 224 × 224 crop."""


@dataclass(frozen=True)
class CorruptedImages:
    """Corrupted images that are the same every time and in any order: the random generator depends only on the image
    id.
    """

    source: ImageSource
    corruption: str
    severity: int

    @property
    def entries(self) -> Sequence[Entry]:
        return self.source.entries

    @property
    def about(self) -> dict[str, str]:
        return self.source.about | {"corruption": self.corruption, "severity": str(self.severity)}

    def read(self, number: int) -> Image:
        """Pixels (224, 224, 3); a file that cannot be decoded is returned unchanged, to be reported as damaged."""
        image = self.source.read(number)
        try:
            pixels = decode(image, FRAME)
        except UserError:
            return image
        name = f"{self.corruption}/{self.severity}/{self.source.entries[number].id}"
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        return corrupt(pixels, self.corruption, self.severity, np.random.default_rng(seed))
