"""What a probe is: a frozen dataclass of settings that fits itself to data, knows its cost and gives scores.

A module of `unseen.probes.by_name` that defines `PROBE`, a subclass of `Probe`, is a probe: nothing else is edited. It
is listed by `unseen ls probes` and, if it is for feature vectors, run by `unseen.probe`, by `unseen probe --probe` and
by `unseen concepts --extended`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from unseen.errors import UserError
from unseen.features.features import Rows, align
from unseen.probes.job import Fit, Job, Pairs, packed
from unseen.probes.protocol import LogisticProtocol, Setting

if TYPE_CHECKING:
    from torch import Tensor

Input = Literal["vectors", "patches", "images"]
"""What a probe is fitted to: a feature vector per image with its class, features of patches with maps, or images."""

Numbers = Literal["float32", "float16", "tf32"]
"""Types of numbers that are multiplied; the last is the short form of float32 on a GPU."""


@dataclass(frozen=True, eq=False)
class ProbeData:
    """What a probe is fitted to and scored on. Of `vectors`, both parts have every class.

    Attributes:
        X_train, X_test: (n, …) features of n samples, (n, d) of vectors: tensors, where and as the caller has them, or
            rows that are read when they are needed, then in float32.
        y_train, y_test: (n, …) labels: of vectors (n,) class indices from 0 without gaps.
        device: where to compute.
        shared: what probes keep for others of the same data.
    """

    X_train: "Tensor | Rows"
    y_train: "Tensor"
    X_test: "Tensor | Rows"
    y_test: "Tensor"
    classes: int
    device: str = "cpu"
    shared: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def drawn(self, setting: Setting) -> "ProbeData":
        """With the setting's shots: the samples on which the logistic probe of the same seed has its final fit."""
        from unseen.probes.sampling import draw_shots, stream

        if setting.shots is None:
            return self
        rows, X = draw_shots(self.y_train, setting.shots, stream(setting.seed, 3)), self.train_rows()
        return replace(self, X_train=X[rows.to(X.device)], y_train=self.y_train[rows])

    def train_rows(self, *, unit: bool = False, copies: int = 1) -> "Tensor":
        """The training features on the device; arguments as in `unseen.probes.rows.on_device`."""
        return _on_device(self.X_train, self.device, unit, copies)

    def test_rows(self, *, unit: bool = False, copies: int = 1) -> "Tensor":
        """The test features likewise."""
        return _on_device(self.X_test, self.device, unit, copies)

    def on_device(self, *, copies: int = 2) -> "tuple[Tensor, Tensor, Tensor, Tensor]":
        """All of it where it is computed with."""
        y_train, y_test = self.y_train.to(self.device), self.y_test.to(self.device)
        return self.train_rows(copies=copies), y_train, self.test_rows(), y_test


def _on_device(X: "Tensor | Rows", device: str, unit: bool, copies: int) -> "Tensor":
    import torch

    from unseen.metrics.geometry import unit_rows
    from unseen.probes.rows import on_device

    if not isinstance(X, torch.Tensor):
        return on_device(X, torch.device(device), unit=unit, copies=copies)
    return unit_rows(X.to(device)) if unit else X.to(device)


@dataclass(frozen=True)
class Size:
    """How much data a probe is given, for estimates of what it takes.

    Attributes:
        rows, test_rows: samples to train and to test on.
        shape: of the features of one sample: (d,), or (height, width, d) of a map.
    """

    rows: int
    test_rows: int
    classes: int
    shape: tuple[int, ...]

    @property
    def dimension(self) -> int:
        return self.shape[-1]


@dataclass(frozen=True)
class StudyPart:
    """The features of a backbone on a domain, as a study plans to probe them.

    Attributes:
        protocol: the study's: how thoroughly hyper-parameters are searched.
        train, test: content hashes of the features.
        gpu: whether probes will run on a GPU.
    """

    study: str
    protocol: LogisticProtocol
    backbone: str
    domain: str
    train: str
    test: str
    size: Size
    gpu: bool = False

    @property
    def features(self) -> tuple[str, str, str, str]:
        return self.backbone, self.domain, self.train, self.test


@dataclass(frozen=True)
class Probe:
    """A probe and its settings, which are the fields of the subclass.

    Attributes:
        name: as in `unseen.probe(…, probe="knn")` and `unseen probe --probe knn`; scores carry it too.
        title: what it is, in a few words.
        input: what it is fitted to.
        random: whether seeds change its numbers when it is fitted to all samples. If not, it is fitted once.
        extended: whether it is among the further probes of ImageNet-CoG's first version (`--extended all`).
        scored: whether it gives scores of the classes (`test_scores`), which metrics of the user's own are of.
        default_shots: what `shots` is where the caller does not say.
        metrics: what it is scored by, as in `unseen.metrics.catalogue`.
        commands: those that run it beside `unseen probe` and `unseen concepts --extended`.
        revision: raised when its code gives other numbers for the same input, so that older results are not taken for
            its own.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    input: ClassVar[Input] = "vectors"
    random: ClassVar[bool] = False
    extended: ClassVar[bool] = False
    scored: ClassVar[bool] = False
    default_shots: ClassVar[tuple[int | None, ...]] = (None,)
    metrics: ClassVar[tuple[str, ...]] = ("top1",)
    commands: ClassVar[tuple[str, ...]] = ()
    revision: ClassVar[int] = 1

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

    @staticmethod
    def prepare(parts: Sequence[Any], where: str, device: str) -> ProbeData:
        """Training and test features that were read, as `fit` takes them.

        A probe of other features than vectors, or of other labels than one class per image, has its own.

        Args:
            parts: for vectors, two `Features`; the classes of both are put in the same order.
            where: what errors call them.
        """
        import torch

        train, test = parts
        train, test = align(train, test, where)
        labels = [torch.from_numpy(part.y) for part in (train, test)]
        return ProbeData(train.X, labels[0], test.X, labels[1], len(train.classes), device)

    def variants(self, data: ProbeData) -> int:
        """How many fits each setting gives."""
        return 1

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        """Fit and score every setting, each passed on when it is done, in an order of the probe's own."""
        raise UserError(f"the probe {self.name} is not for features but for {self.input}: {' or '.join(self.commands)}")

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """(m, c) scores of the classes for the test samples, of each variant of a fit; None where a probe has none.

        Args:
            kept: the values of the result of that fit, which may save searching again.
        """
        return None

    def flops(self, size: Size, setting: Setting) -> float:
        """Multiplications and additions of a fit; by default those of one product of training with test features."""
        return 2.0 * size.rows * size.test_rows * size.dimension

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes while it is fitted, of a process or of a GPU; by default two copies of the training features.

        Test features, about a twentieth of those to train on in ImageNet-CoG, need not be in it.
        """
        return 4 * 2 * size.rows * size.dimension

    def multiplies(self, *, gpu: bool = False) -> Numbers:
        """The numbers that it multiplies most, for estimates of time."""
        return "float32"

    @property
    def regression(self) -> LogisticProtocol | None:
        """The protocol of the stacked SGD that its time is spent in; None where it goes by products of matrices."""
        return None

    @classmethod
    def in_study(cls, protocol: LogisticProtocol) -> Self:
        """The probe as studies of a protocol run it."""
        return cls()

    @classmethod
    def jobs(cls, part: StudyPart, seeds: Sequence[int]) -> Iterator["FeatureJob"]:
        """What a study does with this probe: by default a job for each of its settings."""
        probe = cls.in_study(part.protocol)
        name = probe.protocol_name or part.protocol.name
        for setting in probe.settings(cls.default_shots, seeds):
            yield ProbeJob(part.study, cls.name, probe, name, *part.features, setting.shots, setting.seed, cls.revision)


@dataclass(frozen=True)
class DrawnProbe(Probe, ABC):
    """A probe that knows nothing of shots: it is fitted to the samples that were drawn."""

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            for variant, values, details in self.fit_drawn(data.drawn(setting), setting.seed):
                yield Fit(variant, setting.shots, setting.seed, values, details)

    @abstractmethod
    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        """Variant, (metric, value) pairs and details of each fit to these samples."""


class FeatureJob(Protocol):
    """A job on a pair of training and test features, which it names by their content hashes."""

    @property
    def study(self) -> str: ...
    @property
    def backbone(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def train(self) -> str: ...
    @property
    def test(self) -> str: ...
    @property
    def probe(self) -> Probe:
        """The probe that it fits."""

    @property
    def setting(self) -> Setting: ...
    def kept(self, fits: Sequence[Fit]) -> dict[str, Any]:
        """As in `Job`."""


@dataclass(frozen=True)
class PairJob(Job):
    """What jobs of one probe on a pair of features begin with.

    Attributes:
        protocol: how the probe is fitted, or the name of the study's protocol where it has none of its own.
        train, test: content hashes of the features.
    """

    study: str
    protocol: Any
    backbone: str
    domain: str
    train: str
    test: str


class FitsJob(Job):
    """A job whose result has a fit for each variant of a probe."""

    shots: int | None
    seed: int

    @property
    def setting(self) -> Setting:
        return Setting(self.shots, self.seed)

    def kept(self, fits: Sequence[Fit]) -> dict[str, Any]:
        return fits_kept(fits)

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        return fits_read(job, values)


@dataclass(frozen=True)
class ProbeJob(FitsJob):
    """Any probe with its settings on a pair of features.

    Attributes:
        name: of the probe, and `probe` its settings.
        protocol: the name of the probe's, or of the study's where it has none.
        train, test: content hashes of the features.
        revision: of the probe's code.
    """

    study: str
    name: str
    probe: Probe
    protocol: str
    backbone: str
    domain: str
    train: str
    test: str
    shots: int | None
    seed: int
    revision: int = 1


def fits_kept(fits: Sequence[Fit]) -> dict[str, Any]:
    """The values of a result with a fit for each variant."""
    return {
        "fits": [
            {"variant": fit.variant, "values": dict(fit.values), "details": {**fit.details, **packed(fit.correct)}}
            for fit in fits
        ]
    }


def fits_read(job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
    """The fits in such a result."""
    for fit in values["fits"]:
        yield Fit(fit["variant"], job["shots"], job["seed"], list(fit["values"].items()), fit["details"])
