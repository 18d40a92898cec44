"""The interface of probes: a frozen dataclass of settings that is fitted to data, knows its cost and gives scores.

Every module of `unseen.probes.by_name` that defines `PROBE`, a subclass of `Probe`, is a probe; nothing else needs
editing. It is listed by `unseen ls probes` and, if it is for feature vectors, run by `unseen.probe`, by `unseen probe
--probe` and by `unseen concepts --extended`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from unseen.errors import UserError
from unseen.features.features import Rows, align
from unseen.probes.job import Fit, Job, Pairs, packed, read_samples
from unseen.probes.protocol import LogisticProtocol, Setting
from unseen.probes.samples import ClassCounts, SamplesPerClass, Shortage

if TYPE_CHECKING:
    from torch import Tensor

Input = Literal["vectors", "patches", "images"]
"""What a probe is fitted to: one feature vector per image with its class, patch features with maps, or images."""

Numbers = Literal["float32", "float16", "tf32"]
"""Dtypes of the factors in products; the last is the reduced form of float32 on a GPU."""


@dataclass(frozen=True, eq=False)
class ProbeData:
    """The data that a probe is fitted to and scored on. For `vectors`, both parts have every class.

    Attributes:
        X_train, X_test: (n, …) features of n samples, (n, d) for vectors: tensors on any device and of any dtype, or
            rows that are read on use, in float32.
        y_train, y_test: (n, …) labels: for vectors (n,) class indices from 0 without gaps.
        device: where to compute.
        shared: cache shared by probes of the same data.
    """

    X_train: "Tensor | Rows"
    y_train: "Tensor"
    X_test: "Tensor | Rows"
    y_test: "Tensor"
    classes: int
    device: str = "cpu"
    shared: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def drawn(self, setting: Setting) -> "ProbeData":
        """The data with the setting's shots: the samples of the logistic probe's final fit with the same seed."""
        from unseen.probes.sampling import draw_shots, stream

        if setting.shots is None:
            return self
        rows, X = draw_shots(self.y_train, setting.shots, stream(setting.seed, 3)), self.train_rows()
        return replace(self, X_train=X[rows.to(X.device)], y_train=self.y_train[rows])

    def train_rows(self, *, unit: bool = False, copies: int = 1) -> "Tensor":
        """The training features on the device; arguments as in `unseen.probes.rows.on_device`."""
        return _on_device(self.X_train, self.device, unit, copies)

    def test_rows(self, *, unit: bool = False, copies: int = 1) -> "Tensor":
        """The test features on the device."""
        return _on_device(self.X_test, self.device, unit, copies)

    def on_device(self, *, copies: int = 2) -> "tuple[Tensor, Tensor, Tensor, Tensor]":
        """All data on the computing device."""
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
    """The amount of data given to a probe, for cost estimates.

    Attributes:
        rows, test_rows: numbers of training and test samples.
        shape: shape of the features of one sample: (d,), or (height, width, d) for a map.
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
        protocol: the study's, which determines how thoroughly hyper-parameters are searched.
        train, test: content hashes of the features.
        gpu: whether probes will run on a GPU.
        counts: samples of each class, if known.
    """

    study: str
    protocol: LogisticProtocol
    backbone: str
    domain: str
    train: str
    test: str
    size: Size
    gpu: bool = False
    counts: ClassCounts | None = None

    @property
    def features(self) -> tuple[str, str, str, str]:
        return self.backbone, self.domain, self.train, self.test

    def usable_shots(self, probe: "Probe") -> list[int | None]:
        """A probe's own numbers of shots, without those for which there are too few samples."""
        counts = self.counts
        return [
            number for number in probe.default_shots if counts is None or probe.total_shortage(counts, number) is None
        ]


@dataclass(frozen=True)
class Probe:
    """A probe and its settings, which are the fields of the subclass.

    Attributes:
        name: as in `unseen.probe(…, probe="knn")` and `unseen probe --probe knn`; also in scores.
        title: what it is, in a few words.
        input: what it is fitted to.
        random: whether seeds change its numbers when it is fitted to all samples. If not, it is fitted once.
        extended: whether it is one of the further probes of ImageNet-CoG's first version (`--extended all`).
        scored: whether it gives class scores (`test_scores`), which a user's own metrics need.
        default_shots: the default of `shots`.
        metrics: the metrics of its scores, as in `unseen.metrics.catalogue`.
        commands: the commands that run it besides `unseen probe` and `unseen concepts --extended`.
        revision: increased when its code gives other numbers for the same input, so that older results are not reused.
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
        """The protocol recorded in scores; empty if a probe has none."""
        return ""

    def with_protocol(self, protocol: Any) -> "Probe":
        """The same probe under another protocol, by name or as an object."""
        raise UserError(f"the probe {self.name} has no protocols; leave out protocol")

    def settings(self, shots: Sequence[int | None], seeds: Sequence[int]) -> list[Setting]:
        """The settings to fit: every seed with every number of shots, but only one if nothing is drawn."""
        return [
            Setting(number, seed)
            for seed in seeds
            for number in shots
            if self.random or number is not None or seed == seeds[0]
        ]

    def samples(self, data: ProbeData, shots: int | None) -> SamplesPerClass | None:
        """Training samples per class of a fit with that many shots; None if a probe uses none, or for maps."""
        return SamplesPerClass.of_labels(data.y_train).drawn(shots) if data.y_train.ndim == 1 else None

    def total_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """Why the probe cannot be fitted with that many shots, if so: by default if every class has fewer samples."""
        return counts.samples.total_shortage(shots)

    def partial_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """That some classes have too few samples for that many shots, or too few for a search, if so."""
        return counts.samples.partial_shortage(shots, self.regression.validation if self.regression else 0.0)

    @staticmethod
    def prepare(parts: Sequence[Any], where: str, device: str) -> ProbeData:
        """Training and test features that were read, as input for `fit`.

        A probe for other features than vectors, or for other labels than one class per image, overrides this.

        Args:
            parts: for vectors, two `Features`; their classes are put in the same order.
            where: their name in error messages.
        """
        import torch

        train, test = parts
        train, test = align(train, test, where)
        labels = [torch.from_numpy(part.y) for part in (train, test)]
        return ProbeData(train.X, labels[0], test.X, labels[1], len(train.classes), device)

    def variants(self, data: ProbeData) -> int:
        """Number of fits for each setting."""
        return 1

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        """Fit and score every setting, each yielded when it is done, in unspecified order."""
        raise UserError(f"the probe {self.name} is not for features but for {self.input}: {' or '.join(self.commands)}")

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """(m, c) class scores of the test samples, for each variant of a fit; None if a probe has none.

        Args:
            kept: the values of the result of that fit, which may save repeating the search.
        """
        return None

    def flops(self, size: Size, setting: Setting) -> float:
        """Multiplications and additions of a fit; by default those of one product of training and test features."""
        return 2.0 * size.rows * size.test_rows * size.dimension

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes needed during a fit, of a process or of a GPU; by default two copies of the training features.

        Test features, about a twentieth of the training features in ImageNet-CoG, need not be included.
        """
        return 4 * 2 * size.rows * size.dimension

    def multiplies(self, *, gpu: bool = False) -> Numbers:
        """Dtype of the factors in its largest products, for time estimates."""
        return "float32"

    @property
    def regression(self) -> LogisticProtocol | None:
        """The protocol of the stacked SGD that dominates its time; None if matrix products dominate."""
        return None

    @classmethod
    def in_study(cls, protocol: LogisticProtocol) -> Self:
        """The probe as studies with a protocol run it."""
        return cls()

    @classmethod
    def jobs(cls, part: StudyPart, seeds: Sequence[int]) -> Iterator["FeatureJob"]:
        """The jobs of a study with this probe: by default one for each of its settings."""
        probe = cls.in_study(part.protocol)
        name = probe.protocol_name or part.protocol.name
        for setting in probe.settings(part.usable_shots(probe), seeds):
            yield ProbeJob(part.study, cls.name, probe, name, *part.features, setting.shots, setting.seed, cls.revision)


@dataclass(frozen=True)
class DrawnProbe(Probe, ABC):
    """A probe that does not handle shots itself: it is fitted to the samples that were drawn."""

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            for variant, values, details in self.fit_drawn(data.drawn(setting), setting.seed):
                yield Fit(variant, setting.shots, setting.seed, values, details)

    @abstractmethod
    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        """Variant, (metric, value) pairs and details of each fit to these samples."""


class FeatureJob(Protocol):
    """A job on a pair of training and test features, given by their content hashes."""

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
    """Common fields of jobs of one probe on a pair of features.

    Attributes:
        protocol: how the probe is fitted, or the name of the study's protocol if it has none.
        train, test: content hashes of the features.
    """

    study: str
    protocol: Any
    backbone: str
    domain: str
    train: str
    test: str


class FitsJob(Job):
    """A job whose result has one fit for each variant of a probe."""

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
        name: name of the probe; `probe` are its settings.
        protocol: name of the probe's protocol, or of the study's if it has none.
        train, test: content hashes of the features.
        revision: revision of the probe's code.
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
    """The values of a result with one fit for each variant."""
    return {
        "fits": [
            {"variant": fit.variant, "values": dict(fit.values), "details": {**fit.details, **packed(fit.correct)}}
            for fit in fits
        ]
    }


def fits_read(job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
    """The fits in such a result."""
    samples = read_samples(values)
    for fit in values["fits"]:
        pairs = list(fit["values"].items())
        yield Fit(fit["variant"], job["shots"], job["seed"], pairs, fit["details"], samples=samples)
