"""The probe `patch-linear`: batch norm and a linear layer on the features of patches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.job import Fit
from unseen.probes.patches.job import PatchJob, Predictor, read_maps
from unseen.probes.probe import Input, Probe

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.patches.task import PatchTask


@dataclass(frozen=True)
class PatchLinear(Probe):
    """A linear classifier of patches, its learning rate and weight decay chosen on a tenth of the training images.

    See `unseen.probes.patches.linear`.
    """

    name: ClassVar[str] = "patch-linear"
    title: ClassVar[str] = "batch norm and a linear layer on patch features, for classes, normals and depths"
    input: ClassVar[Input] = "patches"
    metrics: ClassVar[tuple[str, ...]] = ("miou", "pixel-accuracy", "angle-mean", "depth-rmse")
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --dense",)


@dataclass(frozen=True)
class PatchLinearJob(PatchJob):
    """The linear probe on a data set with maps; `protocol` is a `PatchLinearProtocol`."""

    seed: int = 0
    revision: int = PatchLinear.revision

    def run(self, task: "PatchTask") -> tuple[dict[str, Any], Predictor]:
        from unseen.probes.patches.probe_patches import choose_linear

        codes = task.codes()
        X, Y, images = task.training(codes)
        found = choose_linear(X, Y, images, self.protocol, codes, seed=self.seed)

        def predict(features: "Tensor") -> "Tensor":
            return found.classifier.logits(features.float())[0].softmax(dim=1)

        scored = task.scored(codes, predict)
        rate, decay = found.setting
        details = {"rate": rate, "decay": decay, "validation": list(found.validation), "edge": found.edge}
        return {**scored.kept(), **details}, Predictor(codes, predict, scored.shown)

    def flops(self, images: int, tested: int, positions: int, channels: int, codes: int) -> float:
        """Of all settings, and of the one that is trained again."""
        patches = images * positions
        visited: int = self.protocol.steps(patches) * min(self.protocol.batch, patches)
        return 4.0 * visited * channels * codes * (len(self.protocol.settings) + 1)

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield read_maps(PatchLinear.name, job, values)


PROBE = PatchLinear
