"""The probe `patch-linear`: batch norm and a linear layer on the features of patches."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from unseen.probes.job import Fit
from unseen.probes.patches.patch_probe import Demand, PatchProbe, PatchSize, Predictor, Sample
from unseen.probes.patches.protocols import PATCH_LINEAR, PatchLinearProtocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.patches.task import PatchTask

SAMPLED_STEPS = 4
"""Number of steps in a timed training."""


@dataclass(frozen=True)
class PatchLinear(PatchProbe):
    """A linear classifier of patches, with learning rate and weight decay chosen on a tenth of the training images.

    See `unseen.probes.patches.linear`.
    """

    name: ClassVar[str] = "patch-linear"
    title: ClassVar[str] = "batch norm and a linear layer on patch features, for classes, normals and depths"
    citation: ClassVar[str] = "Oquab et al. 2023, DINOv2"
    purpose: ClassVar[str] = "dense tasks: the linear classifier of patches"
    label: ClassVar[str] = "Linear on patches"
    least_images: ClassVar[int] = 2
    random: ClassVar[bool] = True
    revision: ClassVar[int] = 2
    protocol: PatchLinearProtocol = PATCH_LINEAR

    def predictor(self, task: "PatchTask", seed: int) -> tuple[Fit, Predictor]:
        from unseen.probes.patches.probe_patches import choose_linear

        patches = task.training
        if task.fits(self.demand(task.size, task.dtype.itemsize)):
            patches = patches.on_device()
        chosen = choose_linear(patches, self.protocol, task.codes, seed=seed)

        def predict(features: "Tensor") -> "Tensor":
            return chosen.classifier.logits(features.float())[0].softmax(dim=1)

        scored = task.scored(predict)
        rate, decay = chosen.setting
        details = {"rate": rate, "decay": decay, "validation": list(chosen.validation), "edge": chosen.edge}
        fit = Fit(self.name, None, seed, scored.values, scored.details | details, units=scored.units)
        return fit, Predictor(task.codes, predict, scored.shown)

    def demand(self, size: PatchSize, item: int) -> Demand:
        from unseen.probes.patches.linear import demand

        return demand(size, self.protocol, item)

    def samples_of_work(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """A few steps of all settings, and of the one that is trained again; and reading, if features do not fit.

        The time cannot be estimated from products alone: with few classes, reading and normalising the patches of a
        batch takes longer.
        """
        import torch

        from unseen.features.device_memory import free_bytes
        from unseen.probes.patches.linear import fit_patches
        from unseen.probes.patches.rows import sample_reading
        from unseen.probes.patches.training import TrainingPatches

        rows = min(self.protocol.batch, size.patches)
        few = replace(self.protocol, epochs=0, least_steps=SAMPLED_STEPS)
        dtype = torch.float16 if device.type == "cuda" else torch.float32
        X, Y = torch.rand(rows, size.channels, device=device, dtype=dtype), torch.arange(rows) % size.codes
        patches = TrainingPatches.of(X, torch.nn.functional.one_hot(Y, size.codes))
        kept = round((1 - self.protocol.validation) * size.patches)
        steps = [self.protocol.steps(trained) for trained in (kept, size.patches)]
        for settings, number in zip((self.protocol.settings, self.protocol.settings[:1]), steps, strict=True):
            yield (
                partial(fit_patches, patches, torch.arange(rows), settings, few, torch.Generator().manual_seed(0)),
                number / SAMPLED_STEPS,
            )
        if device.type == "cuda" and not self.demand(size, dtype.itemsize).fits(free_bytes(device)):
            yield sample_reading(size.channels, rows, device), sum(steps)


PROBE = PatchLinear
