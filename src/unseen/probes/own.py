"""A user's own probes, from a Python file: a class with the same metadata as ours (`unseen.probes.probe`).

The file defines `PROBE`, a subclass of `Probe` such as `ScoredProbe`; metrics that are not in our catalogue are in its
`METRICS`. It is the user's own code, and is executed here and again in every process that computes its jobs. A probe
that another installed package adds has the same metadata, with `METRICS` in the module of its class.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.extension.entry_points import InstalledCode, PlugIn
from unseen.extension.own_code import OwnFile, attribute_of, loaded, own_file, own_place, running
from unseen.extension.registry import checked_name
from unseen.metrics.catalogue import METRICS, Metric
from unseen.metrics.own import check_facts
from unseen.probes.by_name import all_probes, with_code
from unseen.probes.job import Fit, Held, Job
from unseen.probes.probe import Probe, ProbeData, Size
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.vectors import Vectors

OWN = "own"
"""The protocol of scores computed by a user's own code: no published number belongs to it."""
OWN_METRIC = "own-metric"
"""The probe of jobs that measure a metric of the user's own, and the protocol of its facts in the record of a run."""
ATTRIBUTE, DECLARED = "PROBE", "METRICS"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class _Guarded(Probe):
    """Methods called by a study, with errors reported by file and line."""

    own: ClassVar[OwnFile]

    def settings(self, shots: Sequence[int | None], seeds: Sequence[int]) -> list[Setting]:
        with running(self.own):
            return super().settings(shots, seeds)

    def variants(self, data: ProbeData) -> int:
        with running(self.own):
            return super().variants(data)

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        with running(self.own):
            fits = iter(super().fit(data, settings))
        while True:
            with running(self.own):
                fit = next(fits, None)
            if fit is None:
                return
            yield fit

    def flops(self, size: Size, setting: Setting) -> float:
        with running(self.own):
            return float(super().flops(size, setting))

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        with running(self.own):
            return int(super().memory(size, gpu=gpu))

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        with running(self.own):
            scores = super().test_scores(data, setting, kept)
            return None if scores is None else iter(list(scores))


@dataclass(frozen=True)
class ProbeAt:
    """Creates a probe from a file, in any process; a file that has changed meanwhile is refused.

    Attributes:
        settings: name and value of each field of the probe, or None for its defaults.
    """

    path: str
    digest: str
    attribute: str
    settings: tuple[tuple[str, Any], ...] | None = None

    def __call__(self) -> Probe:
        return _made(self)


@lru_cache(maxsize=64)
def _made(at: ProbeAt) -> Probe:
    file = own_file(Path(at.path))
    if file.digest != at.digest:
        raise UserError(f"{at.path}: changed since the study was planned; run the command again")
    defined = attribute_of(file, [at.attribute], "probe")
    if not (isinstance(defined, type) and issubclass(defined, Probe) and is_dataclass(defined)):
        raise UserError(f"{at.path}: {at.attribute} must be a frozen dataclass that is a subclass of Probe")
    guarded = type(defined.__name__, (_Guarded, defined), {"own": file, "__doc__": defined.__doc__})
    with running(file):
        made: Probe = guarded(**dict(at.settings or ()))
    return made


@dataclass(frozen=True)
class OwnProbe:
    """A user's own probe, or one of another installed package.

    Attributes:
        make: creates it, here and in other processes.
        file: the file that defines it, or the package.
        declared: metadata of those of its metrics that are not in the catalogue.
    """

    make: Callable[[], Probe]
    file: OwnFile | InstalledCode
    declared: tuple[Metric, ...] = ()

    @property
    def probe(self) -> Probe:
        return self.make()

    @property
    def settings(self) -> tuple[tuple[str, Any], ...]:
        """Its fields, as JSON values."""
        values = {name: _hashable(value) for name, value in asdict(self.probe).items()}
        try:
            json.dumps(values, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UserError(
                f"{self.probe.name}: its settings must be numbers, texts or lists of them ({error})"
            ) from None
        return tuple(sorted(values.items()))

    def jobs(
        self, vectors: "Vectors", seeds: Sequence[int], shots: Sequence[int | None] | None = None, *, gpu: bool = False
    ) -> Iterator[Job]:
        """The jobs of a study with it: one for each of its settings."""
        if isinstance(self.file, InstalledCode):
            yield from with_code(self.probe.jobs(vectors, seeds, shots, gpu=gpu))
            return
        for job in self.probe.jobs(vectors, seeds, shots, gpu=gpu):
            yield replace(job, settings=dict(self.settings), code=self.file.digest, make=self.make)


def own_probe(name: str, settings: tuple[tuple[str, Any], ...] | None = None) -> OwnProbe:
    """The probe in `path/to/file.py`, or under another name, `path/to/file.py:Name`; the file is executed.

    Args:
        settings: name and value of fields of the probe, instead of their defaults.
    """
    place, attribute = own_place(name)
    file, attribute = own_file(Path(place)), attribute or ATTRIBUTE
    at = ProbeAt(str(file.path.resolve()), file.digest, attribute, settings)
    declared = _declared(loaded(file), str(file.path))
    own = OwnProbe(at, file, declared)
    _check(own.probe, declared, all_probes().names(), str(file.path))
    if own.probe.input != "vectors":
        raise UserError(f"{file.path}: probes of your own are for feature vectors, not for {own.probe.input}")
    return own


def check_added(plug_in: PlugIn, loaded: Any, ours: Mapping[str, type[Probe]]) -> type[Probe]:
    """The class of a probe that a plug-in loads, if it is one.

    Args:
        ours: the probes of this package.
    """
    if not (isinstance(loaded, type) and issubclass(loaded, Probe) and is_dataclass(loaded)):
        raise UserError(f"{plug_in.value} must be a frozen dataclass that is a subclass of unseen.probes.Probe")
    checked_name(plug_in, getattr(loaded, "name", None))
    probe, declared = loaded(), _declared(sys.modules[loaded.__module__], plug_in.value)
    _check(probe, declared, ours, plug_in.value)
    begun = next((name for name in ours if name.startswith(f"{probe.name}-")), None)
    if begun is not None:
        raise UserError(f"the probe {begun} of this package begins like it; rename yours")
    if declared and probe.input != "vectors":
        raise UserError(f"only probes of feature vectors may have metrics of their own in {DECLARED}")
    return loaded


def installed_probe(probe: Probe) -> OwnProbe | None:
    """A probe of feature vectors that another package adds, as one of the user's own; None for others."""
    plug_in = all_probes().plug_in(probe.name)
    if plug_in is None or probe.input != "vectors":
        return None
    declared = _declared(sys.modules[type(probe).__module__], plug_in.value)
    return OwnProbe(Held(probe), plug_in.code, declared)


def _declared(module: Any, where: str) -> tuple[Metric, ...]:
    """The metrics that a module defines for its probes."""
    declared = getattr(module, DECLARED, ())
    if isinstance(declared, Metric) or not all(isinstance(each, Metric) for each in declared):
        raise UserError(f"{where}: {DECLARED} must be a list of unseen.metrics.catalogue.Metric")
    for metric in declared:
        check_facts(metric, where)
    return tuple(each.facts for each in declared)


def _check(probe: Probe, declared: Sequence[Metric], ours: Iterable[str], where: str) -> None:
    """Refuse a probe that lacks metadata, or is named like one of ours."""
    known = {*METRICS, *(each.name for each in declared)}
    for fact in ("name", "title"):
        if not isinstance(getattr(probe, fact, None), str) or not getattr(probe, fact):
            raise UserError(f"{where}: the probe needs a {fact}: {fact}: ClassVar[str] = …")
    if not NAME.fullmatch(probe.name):
        raise UserError(
            f"{where}: the name of a probe consists of lower-case letters, digits, -, _ and ., not {probe.name!r}"
        )
    same = next((name for name in ours if probe.name == name or probe.name.startswith(f"{name}-")), None)
    if same is not None:
        raise UserError(f"{where}: {probe.name} is, or begins like, the probe {same} of this package; rename yours")
    unknown = next((name for name in probe.metrics if name not in known), None)
    if unknown is not None or not probe.metrics:
        raise UserError(
            f"{where}: the metric {unknown} is unknown; add it to {DECLARED} in the file, with its range"
            if unknown
            else f"{where}: the probe {probe.name} names no metrics"
        )
    owners = [kind for kind in type(probe).__mro__ if kind is not _Guarded and "fit" in vars(kind)]
    if owners[0] is Probe and probe.input == "vectors":
        raise UserError(f"{where}: the probe {probe.name} has no method to fit it; make it a ScoredProbe with scores()")


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
