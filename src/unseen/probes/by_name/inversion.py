"""The probe `inversion`: what a backbone's features retain of an image, shown by reconstructing it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.probes.image_cell import Stepping
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.single_images import Measured, Pixels, SingleImageProbe
from unseen.reading.keys import key

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings


@dataclass(frozen=True)
class Inversion(SingleImageProbe):
    """Images reconstructed by a deep image prior from the last spatial map, and their errors; see
    `unseen.probes.inversion`. Perceptual distances to the originals are jobs of their own (`unseen.probes.perceptual`).
    """

    name: ClassVar[str] = "inversion"
    title: ClassVar[str] = "images reconstructed from features, and how near they come (Ericsson et al.)"
    citation: ClassVar[str] = "Ericsson et al. 2021, How Well Do Self-Supervised Models Transfer?"
    purpose: ClassVar[str] = "what features keep of the image itself"
    random: ClassVar[bool] = True
    patches: ClassVar[bool] = True
    half: ClassVar[bool] = False
    reconstructs: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = (
        "lpips-alexnet", "lpips-vgg", "lpips-squeezenet", "colour-red", "colour-green", "colour-blue",
    )  # fmt: skip
    steps: int | None = key(None, "steps per reconstruction; unset: 3000, as in the paper", least=1, identity=False)
    sigmoid: bool = key(False, "end in a sigmoid instead of clamping the output", identity=False)
    batch: int | None = key(None, "images per batch; unset: what is fast here", least=1, identity=False)
    protocol: InversionProtocol | None = None

    @property
    def used(self) -> InversionProtocol:
        """The protocol as an object."""
        return self.protocol or InversionProtocol.of(self.steps, sigmoid=self.sigmoid)

    @property
    def protocol_name(self) -> str:
        return self.used.name

    @property
    def resolved(self) -> "Inversion":
        return replace(self, protocol=self.used)

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {"steps": self.used.steps}

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.used.steps < InversionProtocol().steps:
            yield "short-inversion", {"steps": self.used.steps}

    def transform(self, own: Transform) -> Transform:
        return own

    def check(self, backbone: "Backbone") -> None:
        from unseen.backbones.patches import PatchSpec

        if not isinstance(backbone.spec, PatchSpec) or backbone.spec.drawn or backbone.spec.positions < 2:
            raise UserError(
                f"{backbone.label}: its features are one vector per image; images are reconstructed from a spatial map "
                "(load_backbone(…, patches=True))"
            )
        try:
            self.used.at_size(backbone.spec.transform.size)
        except UserError as error:
            raise UserError(f"{backbone.label}: {error}") from None

    def columns(self, backbone: "Backbone", images: int) -> Mapping[str, str | int | float]:
        from unseen.backbones.patches import PatchSpec

        spec = backbone.spec
        assert isinstance(spec, PatchSpec)
        return {"map": f"{spec.channels} × {spec.grid[0]} × {spec.grid[1]}", "steps": self.used.steps}

    def total_steps(self, backbone: "Backbone", images: int) -> int:
        return images * self.used.steps

    def image_seconds(self, backbone: "Backbone", images: int, settings: "Settings") -> float:
        from unseen.probes.inversion.measure import image_seconds

        return images * image_seconds(backbone, self.used, settings, images, self.batch)

    def measure(
        self,
        backbone: "Backbone",
        images: Sequence[Pixels],
        settings: "Settings",
        seed: int,
        scratch: Path,
        step: Stepping,
    ) -> Iterator[Measured]:
        from unseen.probes.inversion.measure import reconstructions

        return reconstructions(backbone, images, self.used, settings, self.batch, seed, scratch, step)


PROBE = Inversion
