"""The interface of probes: a frozen dataclass of settings that is fitted to data, knows its cost and gives scores.

Every module of `unseen.probes.by_name` that defines `PROBE`, a subclass of `Probe`, is a probe; nothing else needs
editing. It is listed by `unseen ls probes` and, if it is for feature vectors, run by `unseen.probe`, by `unseen probe`
and by every study of features.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.backbones.vector_parts import VectorPart
from unseen.data.core.dataset import Target
from unseen.errors import UserError
from unseen.features.features import Rows
from unseen.probes.job import Fit, Held, Job, Pairs, plain_json
from unseen.probes.protocol import LogisticProtocol, Setting
from unseen.probes.samples import ClassCounts, SamplesPerClass, Shortage
from unseen.probes.units import Units
from unseen.reading.keys import is_identity

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.checkpoints import FitsSoFar
    from unseen.probes.vectors import Vectors

Input = Literal["vectors", "patches", "outputs", "images"]
"""What a probe is fitted to: one feature vector per image, patch features, class scores of a head, or images."""

PublishedOn = Literal["levels", "tasks", ""]
"""The data that papers print the numbers of a probe for: levels of concepts, other data sets, or none."""

OTHER_WORK_ON_GPU = 5.0
"""Seconds of probes without SGD on a GPU per second of their products: comparing, sorting, 64 bits (H200)."""

Numbers = Literal["float32", "float16", "tf32"]
"""Dtypes of the factors in products; the last is the reduced form of float32 on a GPU."""


def nowhere(setting: Setting) -> "FitsSoFar":
    """No checkpoints."""
    from unseen.probes.checkpoints import NotKept

    return NotKept()


@dataclass(frozen=True, eq=False)
class ValidationData:
    """Validation samples; fields as in `ProbeData`."""

    X: "Tensor | Rows"
    y: "Tensor"
    ignored: "Tensor | None" = None


@dataclass(frozen=True, eq=False)
class ProbeData:
    """The data that a probe is fitted to and scored on. For `vectors`, both parts have every class.

    Attributes:
        X_train, X_test: (n, …) features of n samples, (n, d) for vectors: tensors on any device and of any dtype, or
            rows that are read on use, in float32.
        y_train, y_test: (n, …) labels: for vectors (n,) class indices from 0 without gaps; for rankings see
            `unseen.probes.vectors`.
        device: where to compute.
        validation: the data set's own validation samples, for a probe that chooses its settings on them. Other probes
            are trained on them too.
        ignored: (n, c) test labels that count neither for nor against a class, if samples have several classes.
        checkpoint: where the fits of a setting are stored while it is computed.
        shared: cache shared by probes of the same data.
        parts: what the columns of a vector are, if its features record it.
        names: (c,) names of the classes, if known.
    """

    X_train: "Tensor | Rows"
    y_train: "Tensor"
    X_test: "Tensor | Rows"
    y_test: "Tensor"
    classes: int
    device: str = "cpu"
    validation: "ValidationData | None" = None
    ignored: "Tensor | None" = None
    checkpoint: "Callable[[Setting], FitsSoFar]" = nowhere
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    parts: tuple[VectorPart, ...] = ()
    names: tuple[str, ...] = ()

    def drawn(self, setting: Setting) -> "ProbeData":
        """The data with the setting's shots: the samples of the logistic probe's final fit with the same seed."""
        from unseen.probes.sampling import draw_shots, stream

        if setting.shots is None:
            return self
        rows, X = draw_shots(self.y_train, setting.shots, stream(setting.seed, 3)), self.train_rows()
        return replace(self, X_train=X[rows.to(X.device)], y_train=self.y_train[rows], shared={})

    def train_rows(self, *, unit: bool = False, copies: int = 1) -> "Tensor":
        """The training features on the device; arguments as in `unseen.probes.rows.on_device`."""
        return rows_on(self.X_train, self.device, unit=unit, copies=copies)

    def test_rows(self, *, unit: bool = False, copies: int = 1) -> "Tensor":
        """The test features on the device."""
        return rows_on(self.X_test, self.device, unit=unit, copies=copies)

    def all_rows(self, *, copies: int = 1) -> "Tensor":
        """Training and test features together on the device; rows on disk are not held twice."""
        import torch

        from unseen.probes.rows import all_on_device

        sides = self.X_train, self.X_test
        rows = [X for X in sides if not isinstance(X, torch.Tensor)]
        if len(rows) == len(sides):
            return all_on_device(rows, torch.device(self.device), copies=copies)
        return torch.cat([rows_on(X, self.device, copies=copies) for X in sides])

    def on_device(self, *, copies: int = 2) -> "tuple[Tensor, Tensor, Tensor, Tensor]":
        """All data on the computing device."""
        y_train, y_test = self.y_train.to(self.device), self.y_test.to(self.device)
        return self.train_rows(copies=copies), y_train, self.test_rows(), y_test


def rows_on(X: "Tensor | Rows", device: str, *, unit: bool = False, copies: int = 1) -> "Tensor":
    """(n, …) features on a device; arguments as in `unseen.probes.rows.on_device`."""
    import torch

    from unseen.metrics.geometry import unit_rows
    from unseen.probes.rows import on_device

    if not isinstance(X, torch.Tensor):
        return on_device(X, torch.device(device), unit=unit, copies=copies)
    return unit_rows(X.to(device)) if unit else X.to(device)


def samples_with_validation(data: ProbeData, shots: int | None = None) -> SamplesPerClass | None:
    """Samples per class of a fit to the data set's own validation samples and to all others, or to a few of these.

    None for samples with several classes.
    """
    if data.y_train.ndim != 1:
        return None
    counts = data.y_train.bincount(minlength=data.classes)
    if shots is not None:
        counts = counts.clamp(max=shots)
    if data.validation is not None:
        counts = counts + data.validation.y.to(counts.device).bincount(minlength=data.classes)
    return SamplesPerClass.of(counts.tolist())


@dataclass(frozen=True)
class Size:
    """The amount of data given to a probe, for cost estimates.

    Attributes:
        rows, test_rows: numbers of training and test samples; validation samples that the probe is trained on count as
            training samples, and others do not count.
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
class Probe:
    """A probe and its settings, which are the fields of the subclass.

    Attributes:
        name: as in `unseen.probe(…, probe="knn")` and `unseen probe --probe knn`; also in scores.
        title: what it is, in a few words.
        purpose: what to take it for, in at most 50 letters.
        input: what it is fitted to.
        random: whether seeds change its numbers when it is fitted to all samples. If not, it is fitted once.
        targets: the labels it takes: one class per image, several, or rankings.
        validation: what becomes of a data set's own validation samples: a probe chooses its settings on them, or is
            trained on them too.
        split: whether it needs training and test data; episodes are drawn from all samples together.
        trains_at_random: whether seeds change its numbers also where a data set has its own validation samples.
        once: whether a study fits it with the first seed only, unless it has a number of seeds of its own: it chooses
            among several draws of its own.
        keeps_units: whether its fits keep what each unit of the test set contributes (`Fit.units`).
        takes_gaps: whether it can be fitted if only test images have some class.
        extended: whether it is one of the further probes of ImageNet-CoG's first version (`--extended all`).
        scored: whether it gives class scores (`test_scores`), which a user's own metrics need.
        published_on: the data that papers print its numbers for.
        divisible: whether one large fit uses all cores, so that such fits run one after another.
        default_shots: the default of `shots`.
        metrics: the metrics of its scores, as in `unseen.metrics.catalogue`.
        revision: increased when its code gives other numbers for the same input, so that older results are not reused.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    purpose: ClassVar[str] = ""
    input: ClassVar[Input] = "vectors"
    targets: ClassVar[tuple[Target, ...]] = ("class",)
    validation: ClassVar[Literal["chooses", "joins"]] = "joins"
    split: ClassVar[bool] = True
    once: ClassVar[bool] = False
    keeps_units: ClassVar[bool] = False
    random: ClassVar[bool] = False
    trains_at_random: ClassVar[bool] = False
    takes_gaps: ClassVar[bool] = False
    extended: ClassVar[bool] = False
    scored: ClassVar[bool] = False
    published_on: ClassVar[PublishedOn] = ""
    divisible: ClassVar[bool] = False
    default_shots: ClassVar[tuple[int | None, ...]] = (None,)
    metrics: ClassVar[tuple[str, ...]] = ("top1",)
    revision: ClassVar[int] = 1

    @property
    def unlabelled(self) -> bool:
        """Whether it looks at single images, which need no labels."""
        return self.targets == ("none",)

    @property
    def protocol_name(self) -> str:
        """The protocol recorded in scores; empty if a probe has none."""
        return ""

    @property
    def resolved(self) -> "Probe":
        """The probe with its protocol as an object, if it is a name."""
        return self

    @property
    def needed_splits(self) -> tuple[str, ...]:
        """The splits that a data set must have."""
        return ("train", "test") if self.split else ()

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        """The values that unset fields stand for, as far as data do not decide them and jobs have the same keys.

        Args:
            gpu: what computes, for values that the device decides; they are left out if it is not known.
        """
        return {}

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

    def telling_seeds(self, vectors: "Vectors", seeds: Sequence[int]) -> Sequence[int]:
        """The seeds to fit it with on some features: by default all, of which `settings` takes those that matter."""
        return seeds

    def takes_target(self, target: Target) -> bool:
        """Whether it takes such labels with its settings."""
        return target in self.targets

    def takes_shots(self, shots: int | None) -> bool:
        """Whether it can be fitted with that many samples per class, or to all (None), of any data."""
        return True

    def samples(self, data: ProbeData, shots: int | None) -> SamplesPerClass | None:
        """Training samples per class of a fit with that many shots; None if a probe uses none, or for maps."""
        return SamplesPerClass.of_labels(data.y_train).drawn(shots) if data.y_train.ndim == 1 else None

    def total_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """Why the probe cannot be fitted with that many shots, if so: by default if every class has fewer samples."""
        return counts.samples.total_shortage(shots)

    def partial_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """That some classes have too few samples for that many shots, or too few for a search, if so."""
        return counts.samples.partial_shortage(shots, self.regression.validation if self.regression else 0.0)

    def variants(self, data: ProbeData) -> int:
        """Number of fits for each setting."""
        return 1

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        """Fit and score every setting, each yielded when it is done, in unspecified order."""
        raise UserError(f"the probe {self.name} is not for features but for {self.input}")

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

    def timed_product(self, size: Size, *, gpu: bool = False) -> tuple[int, int, int]:
        """Shape (m, k, n) of the product that dominates its time; by default one that keeps the device busy."""
        side = 8192 if gpu else 1024
        return side, side, side

    def seconds(self, size: Size, setting: Setting, rate: float, *, gpu: bool = False) -> float:
        """Estimated seconds of a fit, if no regression dominates its time.

        Args:
            rate: multiplications and additions per second of `timed_product`.
        """
        other = OTHER_WORK_ON_GPU if gpu and self.multiplies(gpu=gpu) != "tf32" else 1.0
        return self.flops(size, setting) / rate * other

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What a reader must know of its protocol: codes of notices (`unseen.runs.notices`) with their arguments."""
        yield from ()

    def data_notices(self, vectors: "Vectors", named: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What a reader must know of its values on some features, as `remarks`.

        Args:
            named: the data set as notices name it; empty if it has no name.
        """
        yield from ()

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[Probe]":
        """The probe with everything that the features and the device decide; several if it has several forms."""
        return (self,)

    def arithmetic(self, *, gpu: bool = False) -> str:
        """Dtype of the factors in products, if it is no field and depends on the device."""
        return ""

    @property
    def described(self) -> dict[str, Any]:
        """Its settings, as JSON: the part of its jobs' identity that the user chooses."""
        return {each.name: plain_json(getattr(self, each.name)) for each in fields(self) if is_identity(each)}

    def jobs(
        self, vectors: "Vectors", seeds: Sequence[int], shots: Sequence[int | None] | None = None, *, gpu: bool = False
    ) -> Iterator[Job]:
        """Its jobs on some features: one for each of its forms and settings.

        Args:
            shots: by default its own. Numbers for which there are too few samples are left out.
        """
        for probe in self.planned(vectors, gpu=gpu):
            usable = vectors.usable_shots(probe, probe.default_shots if shots is None else shots)
            # Seeds draw validation samples only for data sets that have none of their own.
            fixed = probe.validation == "chooses" and not probe.trains_at_random and "val" in vectors.splits
            for setting in probe.settings(usable, probe.telling_seeds(vectors, seeds)):
                if fixed and setting.shots is None and setting.seed != seeds[0]:
                    continue
                yield Job(
                    probe.name,
                    probe.revision,
                    vectors.backbone,
                    vectors.dataset,
                    vectors.reads,
                    probe.described,
                    setting.shots,
                    setting.seed,
                    arithmetic=probe.arithmetic(gpu=gpu),
                    make=Held(probe),
                )


Drawn = tuple[str, Pairs, Mapping[str, Any]] | tuple[str, Pairs, Mapping[str, Any], Units]


@dataclass(frozen=True)
class DrawnProbe(Probe, ABC):
    """A probe that does not handle shots itself: it is fitted to the samples that were drawn."""

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            for variant, values, details, *units in self.fit_drawn(data.drawn(setting), setting.seed):
                yield Fit(variant, setting.shots, setting.seed, values, details, units=units[0] if units else None)

    @abstractmethod
    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Drawn]:
        """Variant, (metric, value) pairs and details of each fit to these samples, and perhaps its units."""
