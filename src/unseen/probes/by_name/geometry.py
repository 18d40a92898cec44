"""The probe `geometry`: how test features lie on the unit sphere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from unseen.errors import UserError
from unseen.probes.probe import Fit, Probe, ProbeData
from unseen.probes.protocol import Setting


@dataclass(frozen=True)
class Geometry(Probe):
    """Alignment and uniformity of the test features (Wang & Isola 2020); nothing is trained.

    Args:
        alpha: exponent of alignment.
        t: temperature of uniformity.
    """

    name: ClassVar[str] = "geometry"
    title: ClassVar[str] = "alignment and uniformity of test features (Wang & Isola)"
    alpha: float = 2.0
    t: float = 2.0

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.metrics.geometry import alignment, uniformity

        if any(setting.shots is not None for setting in settings):
            raise UserError("geometry is of the test features, without training samples: leave out shots")
        _, _, X_test, y_test = data.on_device()
        values = (("alignment", alignment(X_test, y_test, self.alpha)), ("uniformity", uniformity(X_test, self.t)))
        for setting in settings:
            yield Fit(self.name, setting.shots, setting.seed, values)


PROBE = Geometry
