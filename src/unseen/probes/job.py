"""The job of a probe, its fits, and how they are written into a result and read from it.

A job says everything that can change a number, and the hash of its content names its result (`unseen.runs.results`).
It says nothing else: no study, no path, no number of a device. So the same probe of the same features is the same job
in every study.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from unseen.probes.protocol import Setting
from unseen.probes.samples import SamplesPerClass
from unseen.probes.units import BESIDE, Beside, Units
from unseen.reading.json_records import typed

if TYPE_CHECKING:
    from unseen.probes.probe import Probe

T = TypeVar("T")
FITS = "fits"
"""Name of the entry of a result with its fits."""
SAMPLES = "samples"
"""Name of the entry of a fit about training samples per class."""
Pairs = Sequence[tuple[str, float]]
"""(metric, value), with metrics by their names in `unseen.metrics.catalogue`."""


@dataclass(frozen=True, eq=False)
class Job:
    """One probe of one backbone on one data set: everything that can change a number. Jobs with equal keys are equal.

    Attributes:
        probe: name of the probe; `revision` is that of its code.
        settings: fields of the probe, as JSON; `protocol` is a name, or the fields of a protocol with its `name`.
        backbone, dataset: their names in the run.
        reads: what it reads: content hashes of features by split; or digests of the backbone (`spec`), of images,
            labels, classes or outputs.
        shots: training samples per class; None for all.
        metric: the data set's own metric, if the probe depends on it.
        arithmetic: dtype of the factors in products, if the probe depends on the kind of device.
        code: digest of the user's own code, if the probe or the metric is theirs.
        needs: jobs whose results it uses.
        make: makes what computes the job, in any process: its probe, or the training of a network. It is not a part of
            the job's identity.
    """

    probe: str
    revision: int
    backbone: str
    dataset: str
    reads: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    shots: int | None = None
    seed: int = 0
    metric: str = ""
    arithmetic: str = ""
    code: str = ""
    needs: "tuple[Job, ...]" = ()
    make: Callable[[], Any] | None = field(default=None, repr=False)

    @cached_property
    def described(self) -> dict[str, Any]:
        """The job as JSON, with the keys of the jobs that it needs; fields at their defaults are omitted.

        So a field that is added later changes no key.
        """
        described: dict[str, Any] = {}
        for each in fields(self):
            if each.name == "make":
                continue
            value = plain_json(getattr(self, each.name)) if each.name != "needs" else [job.key for job in self.needs]
            if value not in (None, "", 0, [], {}) or each.name in {"probe", "backbone", "dataset"}:
                described[each.name] = value
        return described

    @cached_property
    def key(self) -> str:
        """The first 32 hexadecimal digits of the SHA-256 of its description, which only equal jobs share."""
        return description_key(self.described)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def setting(self) -> Setting:
        return Setting(self.shots, self.seed)

    @property
    def made(self) -> Any:
        """What computes the job."""
        if self.make is None:
            raise TypeError(f"the job of {self.probe} has nothing to compute it")
        return self.make()

    @property
    def fitted(self) -> "Probe":
        """The probe that it fits."""
        return cast("Probe", self.made)

    @property
    def protocol(self) -> str:
        """Name of its protocol; empty if the probe has none."""
        return protocol_of(self.settings)


def protocol_of(settings: Mapping[str, Any]) -> str:
    """The name of the protocol in the settings of a job; empty if there is none."""
    protocol = settings.get("protocol", "")
    return str(protocol["name"] if isinstance(protocol, Mapping) else protocol)


def plain_json(value: Any) -> Any:
    """Dataclasses as mappings, and tuples as lists, down to the last level."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [plain_json(each) for each in value]
    return {key: plain_json(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def digest_of(record: Any) -> str:
    """SHA-256 of a dataclass as JSON, in hexadecimal."""
    text = json.dumps(plain_json(record), sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def description_key(description: Mapping[str, Any]) -> str:
    """The key of a job from its description, before or after a round trip through JSON."""
    text = json.dumps(description, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Held(Generic[T]):
    """A value as a function that returns it, which can be sent to other processes."""

    value: T

    def __call__(self) -> T:
        return self.value


@dataclass(frozen=True)
class Fit:
    """A fitted probe.

    Attributes:
        variant: its name in tables: the probe's name, with a suffix if one call gives several fits (`knn-20`).
        values: (metric, value) pairs.
        details: how it was obtained: the chosen hyper-parameters and the basis of the choice; numbers, words and lists.
        interval: half the width of the 95% interval of its first metric, if the probe provides it.
        units: what is kept of each unit of the test set, such as which images are classified correctly, if the probe
            provides it.
        samples: training samples per class, if known.
    """

    variant: str
    shots: int | None
    seed: int
    values: Pairs = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    interval: float | None = None
    units: Units | None = field(default=None, compare=False, repr=False)
    samples: SamplesPerClass | None = field(default=None, compare=False)


def fits_kept(fits: Sequence[Fit]) -> dict[str, Any]:
    """The fits of a result, as JSON, and what is to be written beside it (`unseen.probes.units.BESIDE`)."""
    beside = Beside.of([fit.units for fit in fits])
    kept = {FITS: [_kept(fit) for fit in fits]}
    return kept | ({BESIDE: beside} if beside.arrays or beside.images else {})


def _kept(fit: Fit) -> dict[str, Any]:
    kept: dict[str, Any] = {"variant": fit.variant, "values": dict(fit.values)}
    kept |= {"details": {**fit.details, **(fit.units.in_details if fit.units else {})}}
    kept |= fit.units.in_result if fit.units else {}
    kept |= {} if fit.interval is None else {"interval": fit.interval}
    return kept | ({} if fit.samples is None else {SAMPLES: asdict(fit.samples)})


def fits_read(job: Mapping[str, Any], values: Mapping[str, Any], where: str) -> Iterator[Fit]:
    """The fits of a result; missing or misplaced entries raise KeyError, TypeError or ValueError.

    Args:
        job: the job, as read from JSON.
        values: the values of its result.
        where: name of its file, for error messages.
    """
    shots, seed = job.get("shots"), job.get("seed", 0)
    for fit in values[FITS]:
        samples = typed(fit[SAMPLES], SamplesPerClass, f"{where}, {SAMPLES}") if SAMPLES in fit else None
        interval = typed(fit["interval"], float, f"{where}, interval") if "interval" in fit else None
        if interval is not None and not 0 <= interval < inf:
            raise ValueError(f"an interval of {interval}")
        pairs, details = list(fit["values"].items()), typed(fit["details"], dict[str, Any], f"{where}, details")
        variant = typed(fit["variant"], str, f"{where}, variant")
        yield Fit(variant, shots, seed, pairs, details, interval, samples=samples)


def not_finite(values: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers that are not finite in values as JSON, each with the nearest key above it."""
    if isinstance(values, Mapping):
        for key, each in values.items():
            yield from not_finite(each, str(key))
    elif isinstance(values, list | tuple):
        for each in values:
            yield from not_finite(each, name)
    elif isinstance(values, float) and not isfinite(values):
        yield name, values
