"""The saliency protocol: Ericsson et al. 2021 (A.9), with our choices for what the paper leaves open."""

from dataclasses import dataclass, replace

from unseen.data.core.decoding.transform import Transform
from unseen.probes.saliency.grid import EXACT, Grid

PAPER = "ericsson-2021-saliency"


@dataclass(frozen=True)
class SaliencyProtocol:
    """A grid of masks, and the choices that the paper does not state.

    Attributes:
        mask, stride: of the grid, in pixels.
        resized: sides of the whole image and of the crop in the paper: images are squashed to 242 × 242 pixels and
            centre-cropped to 224 × 224; the same ratio is used for backbones with another size, and for all grids.
        fill: what hides pixels, "zero": 0 after normalisation, the mean colour of the training images.
        layer: the layer whose features are compared, "pooled": one vector per image.
        seen: what the network sees, "crop": the centre; masks that extend over its edge are cut.
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
        """The protocol with another grid, under another name."""
        name = PAPER if grid == EXACT else f"saliency-{grid.mask}-{grid.stride}"
        return cls(name, grid.mask, grid.stride)

    @property
    def grid(self) -> Grid:
        return Grid(self.mask, self.stride)

    def transform(self, own: Transform) -> Transform:
        """The preprocessing of images, derived from the backbone's."""
        whole, crop = self.resized
        return replace(own, resize=round(own.size * whole / crop), squash=True)


ERICSSON_2021 = SaliencyProtocol()
"""The settings of the paper."""
