"""Probes that give a score for each class: the easiest way to write your own."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.probes.job import Pairs
from unseen.probes.probe import DrawnProbe, ProbeData
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ScoredProbe(DrawnProbe, ABC):
    """A probe defined by one function, from training samples and test features to class scores."""

    scored: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5")

    @abstractmethod
    def scores(self, X_train: "Tensor", y_train: "Tensor", X_test: "Tensor", classes: int, seed: int) -> Any:
        """(m, c) scores, of which the largest is the prediction: a tensor, or anything NumPy can convert.

        Args:
            X_train, X_test: (n, d) and (m, d) features, float32 on the device of the study; not to be modified.
            y_train: (n,) class indices in [0, classes).
        """

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        from unseen.metrics.accuracy import top_k_accuracy

        scores = self.checked_scores(data, seed)
        values = [(f"top{k}", float(top_k_accuracy(scores, data.y_test.cpu(), k))) for k in (1, 5)]
        yield self.name, values, {}

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
