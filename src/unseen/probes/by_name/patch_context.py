"""The probe `patch-context`: nearest neighbours among labelled patches, without training (Hummingbird)."""

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
class PatchContext(Probe):
    """Labels of the 30 most similar training patches; see `unseen.probes.patches.context`. Nothing is searched."""

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

    def flops(self, images: int, tested: int, positions: int, channels: int, codes: int) -> float:
        """Of the similarities of test patches to the memory."""
        memory: int = min(images * positions, self.protocol.memory)
        return 2.0 * tested * positions * memory * channels

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield read_maps(PatchContext.name, job, values)


PROBE = PatchContext
