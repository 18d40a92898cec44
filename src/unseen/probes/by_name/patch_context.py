"""The probe `patch-context`: nearest neighbours among labelled patches, without training (Hummingbird)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.job import Fit
from unseen.probes.patches.job import PatchJob, PatchSize, Predictor, Sample, read_maps
from unseen.probes.probe import Input, Probe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.patches.task import PatchTask

SAMPLED_KEYS, SAMPLED_QUERIES = 65_536, 1_024
"""Number of patches in a timed look-up."""


@dataclass(frozen=True)
class PatchContext(Probe):
    """Labels of the 30 most similar training patches; see `unseen.probes.patches.context`. No hyper-parameters are
    searched.
    """

    name: ClassVar[str] = "patch-context"
    title: ClassVar[str] = "in-context prediction: labels of the nearest training patches (Hummingbird)"
    input: ClassVar[Input] = "patches"
    metrics: ClassVar[tuple[str, ...]] = ("miou", "pixel-accuracy", "angle-mean", "depth-rmse")
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks --dense",)


@dataclass(frozen=True)
class PatchContextJob(PatchJob):
    """The in-context probe on a data set with maps; `protocol` is a `ContextProtocol`."""

    revision: int = PatchContext.revision

    def run(self, task: "PatchTask") -> tuple[dict[str, Any], Predictor]:
        from unseen.probes.patches.context import Memory, look_up

        codes = task.codes()
        X, Y, _ = task.training(codes)
        memory = Memory.of(X, Y, self.protocol)

        def predict(features: "Tensor") -> "Tensor":
            return look_up(memory, features, self.protocol)

        scored = task.scored(codes, predict)
        return {**scored.kept(), "memory": len(memory.keys)}, Predictor(codes, predict, scored.shown)

    def samples(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """A look-up of some patches of an image in a part of the memory: similarities and sorting."""
        import torch

        from unseen.probes.patches.context import Memory, look_up
        from unseen.probes.patches.scoring import SHOWN

        memory: int = min(size.images * size.positions, self.protocol.memory)
        keys, queries = min(memory, SAMPLED_KEYS), min(size.positions, SAMPLED_QUERIES)
        dtype = torch.float16 if device.type == "cuda" else torch.float32
        part = Memory(*(torch.rand(keys, width, device=device, dtype=dtype) for width in (size.channels, size.codes)))
        patches = torch.rand(queries, size.channels, device=device, dtype=dtype)
        looked_up = size.tested + min(size.tested, 2 * SHOWN)  # images shown as pictures are predicted again
        yield (
            lambda: look_up(part, patches, self.protocol),
            looked_up * size.positions / queries * memory / keys,
        )

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield read_maps(PatchContext.name, job, values)


PROBE = PatchContext
