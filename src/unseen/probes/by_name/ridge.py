"""The probe `ridge`: least-squares regression on classes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.probe import Drawn, DrawnProbe, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.probes.units import hit_units
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Ridge(DrawnProbe):
    """Ridge regression on classes with unnormalised features; see `unseen.probes.ridge`.

    Among several penalties, the one with the best leave-one-out accuracy on the training set is scored, with ties
    broken by the smallest leave-one-out error.
    """

    name: ClassVar[str] = "ridge"
    title: ClassVar[str] = "ridge regression on classes, its penalty chosen by leave-one-out accuracy"
    purpose: ClassVar[str] = "a quick linear classifier, its penalty for free"
    scored: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    penalties: tuple[float, ...] = key(
        tuple(10.0**power for power in range(-4, 7)), "penalties λ of ‖Y − XW‖² + λ‖W‖² to choose from", above=0
    )

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Drawn]:
        from unseen.probes.ridge import leave_one_out, ridge

        X_train, y_train, X_test, y_test = data.on_device()
        model = ridge(X_train, y_train, self.penalties)
        held_out = leave_one_out(model, X_train, y_train)
        errors = held_out.errors.tolist()
        right = held_out.accuracies.tolist() if held_out.accuracies is not None else []
        best = max(range(len(errors)), key=lambda place: (right[place], -errors[place]))
        details = {"penalty": self.penalties[best], "leave_one_out": right}
        hits = model.hits(X_test, y_test)[best]
        yield self.name, (("top1", float(hits.sum().double() / len(hits))),), details, hit_units(hits)

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """Predictions of the regression on class indicators."""
        from unseen.probes.ridge import ridge

        drawn = data.drawn(setting)
        if "penalty" not in kept:
            [(_, _, kept, *_)] = self.fit_drawn(drawn, setting.seed)
        X_train, y_train, X_test, _ = drawn.on_device()
        return iter([(self.name, ridge(X_train, y_train, [kept["penalty"]]).predict(X_test, 0))])

    def flops(self, size: Size, setting: Setting) -> float:
        """Flops of the eigendecomposition, and of leaving out each sample for every penalty."""
        smaller = min(size.rows, size.dimension)
        each = 2.0 * size.rows * smaller * (size.dimension + len(self.penalties) * size.classes)
        return each + 10.0 * smaller**3

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the 32-bit features, and of the matrix of products and its eigenvectors in 64 bits."""
        return 4 * size.rows * size.dimension + 3 * 8 * min(size.rows, size.dimension) ** 2


PROBE = Ridge
