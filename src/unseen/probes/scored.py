"""Probes that give a score for each class: the easiest way to write your own."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.probes.probe import Drawn, DrawnProbe, ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.units import hit_units

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ScoredProbe(DrawnProbe, ABC):
    """A probe defined by one function, from training samples and test features to class scores."""

    scored: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5")

    @abstractmethod
    def scores(self, X_train: "Tensor", y_train: "Tensor", X_test: "Tensor", classes: int, seed: int) -> Any:
        """(m, c) scores, of which the largest is the prediction: a tensor, or anything NumPy can convert.

        Args:
            X_train, X_test: (n, d) and (m, d) features, float32 on the device of the study; not to be modified.
            y_train: (n,) class indices in [0, classes).
        """

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Drawn]:
        from unseen.metrics.accuracy import top_k_accuracy, top_k_hits

        scores, y = self.checked_scores(data, seed), data.y_test.cpu()
        values = [(f"top{k}", float(top_k_accuracy(scores, y, k))) for k in (1, 5)]
        yield self.name, values, {}, hit_units(top_k_hits(scores, y, 1))

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        return iter([(self.name, self.checked_scores(data.drawn(setting), setting.seed))])

    def checked_scores(self, data: ProbeData, seed: int) -> "Tensor":
        """The scores on the CPU in float64; anything but one finite number per class and sample is refused."""
        import torch

        X_train, y_train, X_test, y_test = data.on_device()
        scores = self.scores(X_train, y_train, X_test, data.classes, seed)
        checked = torch.as_tensor(scores).detach().cpu().double()
        wanted = (len(y_test), data.classes)
        if tuple(checked.shape) != wanted:
            raise UserError(f"the probe {self.name} gave scores of shape {tuple(checked.shape)}, not {wanted}")
        if not bool(checked.isfinite().all()):
            raise UserError(f"the probe {self.name} gave scores that are not finite numbers")
        return checked
