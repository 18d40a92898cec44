"""The probe `geometry`: alignment and uniformity of test features on the unit sphere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from unseen.errors import UserError
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.reading.keys import key


@dataclass(frozen=True)
class Geometry(Probe):
    """Alignment and uniformity of the test features (Wang & Isola 2020); nothing is trained."""

    name: ClassVar[str] = "geometry"
    title: ClassVar[str] = "alignment and uniformity of test features (Wang & Isola)"
    citation: ClassVar[str] = "Wang and Isola 2020, Understanding Contrastive Representation Learning"
    purpose: ClassVar[str] = "a diagnosis: how features lie on the sphere"
    extended: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("alignment", "uniformity")
    alpha: float = key(2.0, "exponent of alignment", above=0)
    t: float = key(2.0, "temperature of uniformity", above=0)

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.metrics.geometry import alignment, uniformity

        if any(setting.shots is not None for setting in settings):
            raise UserError("geometry only uses test features, so it has no shots; leave out shots")
        X, y = data.test_rows(copies=3), data.y_test
        values = (("alignment", alignment(X, y, self.alpha)), ("uniformity", uniformity(X, self.t)))
        for setting in settings:
            yield Fit(self.name, setting.shots, setting.seed, values)

    def takes_shots(self, shots: int | None) -> bool:
        """It uses only test features, and all of them."""
        return shots is None

    def samples(self, data: ProbeData, shots: int | None) -> None:
        """It is trained on nothing."""

    def flops(self, size: Size, setting: Setting) -> float:
        """Flops for all pairs of test samples."""
        return float(size.test_rows) ** 2 * size.dimension

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        return 4 * 3 * size.test_rows * size.dimension


PROBE = Geometry
