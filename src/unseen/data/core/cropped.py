"""Image files of which some are cropped to a box, as queries of retrieval benchmarks are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unseen.data.core.decoding.decode import whole_pixels
from unseen.data.core.source import Entry, Image, ImageSource
from unseen.errors import UserError

Box = tuple[float, float, float, float]
"""Left, upper, right and lower edge in pixels, rounded as PIL does: to the nearest integers, halves to even."""


@dataclass(frozen=True)
class CroppedImages:
    """The images of another source; those with a box are given as the pixels inside it.

    Boxes are of the pixels as they are stored, so that a cropped image is never turned by its EXIF orientation. Where a
    box extends beyond its image, pixels are black, as with PIL's `crop`.

    Attributes:
        boxes: id → box.
    """

    images: ImageSource
    boxes: Mapping[str, Box]

    @property
    def entries(self) -> Sequence[Entry]:
        return self.images.entries

    @property
    def about(self) -> dict[str, str]:
        return self.images.about

    def read(self, number: int) -> Image:
        from PIL import Image as Pil

        image, name = self.images.read(number), self.entries[number].id
        box = self.boxes.get(name)
        if box is None:
            return image
        picture = Pil.fromarray(whole_pixels(image, name))
        left, upper, right, lower = map(round, box)
        inside = max(left, 0) < min(right, picture.width) and max(upper, 0) < min(lower, picture.height)
        if not inside or right - left > 2 * picture.width or lower - upper > 2 * picture.height:
            raise UserError(f"{name}: its box {box} does not fit an image of {picture.width} × {picture.height} pixels")
        return np.asarray(picture.crop((left, upper, right, lower)))
