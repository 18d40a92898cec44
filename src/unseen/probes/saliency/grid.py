"""The masks of occlusion saliency: their positions, and how often each pixel is covered.

A square mask slides over an image and also extends over its edges: on a side of s pixels the first mask begins mask −
stride pixels before the image, so that the image with its margins has s + 2·(mask − stride) pixels. Every pixel of the
image is then covered (mask / stride)² times, and there are ((s + mask) / stride − 1)² masks.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unseen.errors import UserError, setting

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Grid:
    """Masks of `mask` × `mask` pixels, `stride` pixels apart; the stride divides the mask."""

    mask: int
    stride: int

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= self.mask or self.mask % self.stride:
            raise UserError(
                f"a grid of {self.mask}/{self.stride}: the stride must divide the mask, so that every pixel is "
                "covered equally often"
            )

    def __str__(self) -> str:
        return f"{self.mask}/{self.stride}"

    @property
    def cover(self) -> int:
        """Masks that cover a pixel along one side; the total is its square."""
        return self.mask // self.stride

    def padded(self, size: int) -> int:
        """Side of an image with its margins, given its `size` without."""
        return size + 2 * (self.mask - self.stride)

    def side(self, size: int) -> int:
        """Masks along one side of an image."""
        return (size - 1) // self.stride + self.cover

    def passes(self, size: int) -> int:
        """Total number of masks."""
        return self.side(size) ** 2

    def start(self, place: "int | Tensor") -> "int | Tensor":
        """Start of a mask along a side, by its index; negative if it extends over the edge."""
        return place * self.stride - (self.mask - self.stride)

    def check(self, size: int, what: str) -> None:
        """Refuse images that a mask would hide entirely."""
        if size < self.mask:
            raise UserError(
                f"{what} sees images of {size} × {size} pixels, smaller than the mask of {self.mask} × {self.mask}; "
                f"choose a smaller mask ({setting('saliency.grid')}) or larger images ({setting('backbone.size')})"
            )


EXACT = Grid(10, 1)
GRIDS = {str(grid): grid for grid in (EXACT, Grid(10, 2), Grid(8, 4), Grid(16, 8))}
"""The paper's grid, and cheaper ones: 54,289, 13,456, 3,249 and 841 passes for an image of 224 × 224 pixels."""


def parse_grid(text: str) -> Grid:
    """`10/2` as a grid of masks of 10 pixels, 2 apart."""
    match = re.fullmatch(r"\s*(\d{1,4})\s*/\s*(\d{1,4})\s*", text)
    if not match:
        raise UserError(f"a grid is mask/stride in pixels, as {', '.join(GRIDS)}, not '{text}'")
    return Grid(int(match[1]), int(match[2]))
