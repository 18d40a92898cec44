"""The probe `patch-context`: nearest neighbours among labelled patches, without training (Hummingbird)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, ClassVar

from unseen.probes.job import Fit
from unseen.probes.patches.patch_probe import Demand, PatchProbe, PatchSize, Predictor, Sample
from unseen.probes.patches.protocols import PATCH_CONTEXT, ContextProtocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.patches.task import PatchTask

SAMPLED_KEYS, SAMPLED_QUERIES = 65_536, 1_024
"""Number of patches in a timed look-up."""


@dataclass(frozen=True)
class PatchContext(PatchProbe):
    """Labels of the 30 most similar training patches; see `unseen.probes.patches.context`. No hyper-parameters are
    searched.
    """

    name: ClassVar[str] = "patch-context"
    title: ClassVar[str] = "in-context prediction: labels of the nearest training patches (Hummingbird)"
    citation: ClassVar[str] = "Balažević et al. 2023, Towards In-context Scene Understanding"
    purpose: ClassVar[str] = "dense tasks in little time: nothing is trained"
    label: ClassVar[str] = "In-context on patches"
    revision: ClassVar[int] = 2
    protocol: ContextProtocol = PATCH_CONTEXT

    def predictor(self, task: "PatchTask", seed: int) -> tuple[Fit, Predictor]:
        from unseen.probes.patches.context import AT_ONCE, Memory, look_up

        resident = task.fits(self.demand(task.size, task.dtype.itemsize))
        memory = Memory.of(task.training, self.protocol, resident=resident)

        def predict(features: "Tensor") -> "Tensor":
            return look_up(memory, features, self.protocol)

        scored = task.scored(predict, AT_ONCE)
        fit = Fit(self.name, None, seed, scored.values, scored.details | {"memory": len(memory)}, units=scored.units)
        return fit, Predictor(task.codes, predict, scored.shown)

    def demand(self, size: PatchSize, item: int) -> Demand:
        from unseen.probes.patches.context import demand

        return demand(size, self.protocol, item)

    def samples_of_work(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """The neighbours of some patches in a part of the memory, and their labels; and reading, if keys do not fit."""
        import torch

        from unseen.features.device_memory import free_bytes
        from unseen.probes.patches.context import AT_ONCE, KEYS, Memory, mean_shares, nearest
        from unseen.probes.patches.rows import READ, sample_reading
        from unseen.probes.patches.scoring import SHOWN
        from unseen.probes.patches.training import TrainingPatches

        on_gpu, memory = device.type == "cuda", min(size.patches, self.protocol.memory)
        dtype = torch.float16 if on_gpu else torch.float32
        keys = min(memory, KEYS if on_gpu else SAMPLED_KEYS)
        queries = min(size.queries, SAMPLED_QUERIES, keys)
        X = torch.rand(keys, size.channels, device=device, dtype=dtype)
        labels = torch.nn.functional.one_hot(torch.arange(keys) % size.codes, size.codes)
        part = Memory.of(TrainingPatches.of(X, labels), self.protocol)
        shown = min(size.tested, 2 * SHOWN)  # images shown as pictures are predicted again
        looked_up = (size.tested + shown) * size.queries / queries
        yield lambda: nearest(part, X[:queries], self.protocol), looked_up * memory / keys
        near = torch.randint(keys, (queries, min(self.protocol.neighbours, keys)), device=device)
        yield lambda: mean_shares(part, torch.rand(near.shape, device=device), near), looked_up
        if on_gpu and not self.demand(size, dtype.itemsize).fits(free_bytes(device)):
            passes = ceil(size.tested / max(1, AT_ONCE // size.queries)) + shown
            yield sample_reading(size.channels, READ, device), passes * memory / READ


PROBE = PatchContext
