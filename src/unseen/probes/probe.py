"""What a probe by name is: a frozen dataclass of settings that fits itself to features and gives scores.

A module of `unseen.probes.by_name` that defines `PROBE`, a subclass of `Probe`, is a probe: nothing else is edited.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    from torch import Tensor

Pairs = Sequence[tuple[str, float]]
"""(metric, value), with metrics by their names in `unseen.metrics.catalogue`."""


@dataclass(frozen=True, eq=False)
class ProbeData:
    """Features and class indices from 0 without gaps; both parts have every class.

    Attributes:
        X_train, X_test: (n, d), where the caller has them.
        device: where to compute.
    """

    X_train: "Tensor"
    y_train: "Tensor"
    X_test: "Tensor"
    y_test: "Tensor"
    classes: int
    device: str = "cpu"

    def drawn(self, setting: Setting) -> "ProbeData":
        """With the setting's shots: the samples on which the logistic probe of the same seed has its final fit."""
        from unseen.probes.sampling import draw_shots, stream

        if setting.shots is None:
            return self
        rows = draw_shots(self.y_train, setting.shots, stream(setting.seed, 3))
        return replace(self, X_train=self.X_train[rows.to(self.X_train.device)], y_train=self.y_train[rows])

    def on_device(self) -> "tuple[Tensor, Tensor, Tensor, Tensor]":
        """The four arrays where they are computed with."""
        X_train, y_train, X_test, y_test = (
            array.to(self.device) for array in (self.X_train, self.y_train, self.X_test, self.y_test)
        )
        return X_train, y_train, X_test, y_test


@dataclass(frozen=True)
class Fit:
    """A fitted probe.

    Attributes:
        variant: what tables call it: the probe's name, with what tells apart several fits of one call (`knn-20`).
        values: (metric, value) pairs.
        details: how it came about: the hyper-parameters chosen and what they were chosen by.
    """

    variant: str
    shots: int | None
    seed: int
    values: Pairs
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe(ABC):
    """A probe and its settings, which are the fields of the subclass.

    Attributes:
        name: as in `unseen.probe(…, probe="knn")` and `unseen probe --probe knn`.
        title: what it is, in a few words.
        random: whether seeds change its numbers when it is fitted to all samples. If not, it is fitted once.
        default_shots: what `shots` is where the caller does not say.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    random: ClassVar[bool] = False
    default_shots: ClassVar[tuple[int | None, ...]] = (None,)

    @property
    def protocol_name(self) -> str:
        """The protocol that scores carry; empty where a probe has none."""
        return ""

    def with_protocol(self, protocol: Any) -> "Probe":
        """The same probe under another protocol, by name or as an object."""
        raise UserError(f"the probe {self.name} has no protocols; leave out protocol")

    def settings(self, shots: Sequence[int | None], seeds: Sequence[int]) -> list[Setting]:
        """What is fitted: every seed with every number of shots, but once where nothing is drawn."""
        return [
            Setting(number, seed)
            for seed in seeds
            for number in shots
            if self.random or number is not None or seed == seeds[0]
        ]

    def variants(self, data: ProbeData) -> int:
        """How many fits each setting gives."""
        return 1

    @abstractmethod
    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        """Fit and score every setting, each passed on when it is done, in an order of the probe's own."""


@dataclass(frozen=True)
class DrawnProbe(Probe):
    """A probe that knows nothing of shots: it is fitted to the samples that were drawn."""

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            for variant, values, details in self.fit_drawn(data.drawn(setting), setting.seed):
                yield Fit(variant, setting.shots, setting.seed, values, details)

    @abstractmethod
    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        """Variant, (metric, value) pairs and details of each fit to these samples."""
