"""The probe `saliency`: where a backbone looks in an image, found by hiding parts of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.data.core.decoding.transform import Transform
from unseen.probes.image_cell import Stepping
from unseen.probes.saliency.grid import parse_grid
from unseen.probes.saliency.protocol import SaliencyProtocol
from unseen.probes.single_images import Measured, Pixels, SingleImageProbe
from unseen.reading.keys import key

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings


@dataclass(frozen=True)
class Saliency(SingleImageProbe):
    """Errors of features behind a sliding mask, and how diffuse they are; see `unseen.probes.saliency`."""

    name: ClassVar[str] = "saliency"
    title: ClassVar[str] = "attention maps by occlusion, and how diffuse they are (Ericsson et al.)"
    citation: ClassVar[str] = "Ericsson et al. 2021, How Well Do Self-Supervised Models Transfer?"
    purpose: ClassVar[str] = "which parts of an image features depend on"
    metrics: ClassVar[tuple[str, ...]] = ("diffusion",)
    grid: str = key("10/2", "mask size/stride in pixels; 10/1 as in the paper, slower", identity=False)
    batch: int | None = key(None, "masked images per batch; unset: what is fast here", least=1, identity=False)
    protocol: SaliencyProtocol | None = None

    def __post_init__(self) -> None:
        _ = self.used  # refuses an impossible grid before any work

    @property
    def used(self) -> SaliencyProtocol:
        """The protocol as an object."""
        return self.protocol or SaliencyProtocol.of(parse_grid(self.grid))

    @property
    def protocol_name(self) -> str:
        return self.used.name

    @property
    def resolved(self) -> "Saliency":
        return replace(self, protocol=self.used)

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.used != SaliencyProtocol():
            yield "coarse-grid", {"mask": self.used.mask, "stride": self.used.stride}

    def transform(self, own: Transform) -> Transform:
        return self.used.transform(own)

    def check(self, backbone: "Backbone") -> None:
        self.used.grid.check(backbone.spec.transform.size, backbone.label)

    def columns(self, backbone: "Backbone", images: int) -> Mapping[str, str | int | float]:
        return {"grid": str(self.used.grid), "passes": self.total_steps(backbone, images)}

    def total_steps(self, backbone: "Backbone", images: int) -> int:
        return images * self.used.grid.passes(backbone.spec.transform.size)

    def image_seconds(self, backbone: "Backbone", images: int, settings: "Settings") -> float:
        from unseen.probes.saliency.measure import image_seconds

        return images * image_seconds(backbone, self.used.grid, settings, self.batch)

    def measure(
        self,
        backbone: "Backbone",
        images: Sequence[Pixels],
        settings: "Settings",
        seed: int,
        scratch: Path,
        step: Stepping,
    ) -> Iterator[Measured]:
        from unseen.probes.saliency.measure import attention_maps

        return attention_maps(backbone, images, self.used.grid, settings, self.batch, step)


PROBE = Saliency
