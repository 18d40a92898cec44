"""How saliency is measured: what Ericsson et al. 2021 say (A.9), and what they leave open as we read it."""

from dataclasses import dataclass, replace

from unseen.images.transform import Transform
from unseen.probes.saliency.grid import EXACT, Grid

PAPER = "ericsson-2021-saliency"


@dataclass(frozen=True)
class SaliencyProtocol:
    """A grid of masks, and the choices that the paper does not state.

    Attributes:
        mask, stride: of the grid, in pixels.
        resized: sides of the whole image and of the crop in the paper: images are squashed to 242 × 242 pixels and the
            224 × 224 in the middle are seen; in this proportion for backbones that see another size, and for all grids.
        fill: what hides pixels, "zero": 0 after normalisation, the mean colour of the training images.
        layer: whose features are compared, "pooled": one vector for an image.
        seen: what the network sees, "crop": the middle; masks that reach over its edge are cut.
        centre: f̄ of the relative error, "mean" of the clean features over dimensions.
    """

    name: str = PAPER
    mask: int = EXACT.mask
    stride: int = EXACT.stride
    resized: tuple[int, int] = (242, 224)
    fill: str = "zero"
    layer: str = "pooled"
    seen: str = "crop"
    centre: str = "mean"

    @classmethod
    def of(cls, grid: Grid) -> "SaliencyProtocol":
        """With another grid it has another name."""
        name = PAPER if grid == EXACT else f"saliency-{grid.mask}-{grid.stride}"
        return cls(name, grid.mask, grid.stride)

    @property
    def grid(self) -> Grid:
        return Grid(self.mask, self.stride)

    def transform(self, own: Transform) -> Transform:
        """How images are prepared, from how the backbone wants them."""
        whole, crop = self.resized
        return replace(own, resize=round(own.size * whole / crop), squash=True)
