"""A user's own probes, from a Python file: a class with the same metadata as ours (`unseen.probes.probe`).

The file defines `PROBE`, a subclass of `Probe` such as `ScoredProbe`; metrics that are not in our catalogue are in its
`METRICS`. It is the user's own code, and is executed here and again in every process that computes its jobs.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.extension.own_code import OwnFile, attribute_of, loaded, own_file, own_place, running
from unseen.metrics.catalogue import METRICS, Metric
from unseen.metrics.own import check_facts
from unseen.probes.by_name import all_probes
from unseen.probes.job import Fit, Job
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
    """A user's own probe.

    Attributes:
        make: creates it, here and in other processes.
        file: the file that defines it.
        declared: metadata of those of its metrics that are not in the catalogue.
    """

    make: Callable[[], Probe]
    file: OwnFile
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
    declared = getattr(loaded(file), DECLARED, ())
    if isinstance(declared, Metric) or not all(isinstance(each, Metric) for each in declared):
        raise UserError(f"{file.path}: {DECLARED} must be a list of unseen.metrics.catalogue.Metric")
    for metric in declared:
        check_facts(metric, str(file.path))
    own = OwnProbe(at, file, tuple(each.facts for each in declared))
    _check(own, str(file.path))
    return own


def _check(own: OwnProbe, where: str) -> None:
    """Refuse a probe that lacks metadata, or is named like one of ours."""
    probe, known = own.probe, {*METRICS, *(each.name for each in own.declared)}
    for fact in ("name", "title"):
        if not isinstance(getattr(probe, fact, None), str) or not getattr(probe, fact):
            raise UserError(f"{where}: the probe needs a {fact}: {fact}: ClassVar[str] = …")
    if not NAME.fullmatch(probe.name):
        raise UserError(
            f"{where}: the name of a probe consists of lower-case letters, digits, -, _ and ., not {probe.name!r}"
        )
    ours = next((name for name in all_probes() if probe.name == name or probe.name.startswith(f"{name}-")), None)
    if ours is not None:
        raise UserError(f"{where}: {probe.name} is, or begins like, the probe {ours} of this package; rename yours")
    if probe.input != "vectors":
        raise UserError(f"{where}: probes of your own are for feature vectors, not for {probe.input}")
    unknown = next((name for name in probe.metrics if name not in known), None)
    if unknown is not None or not probe.metrics:
        raise UserError(
            f"{where}: the metric {unknown} is unknown; add it to {DECLARED} in the file, with its range"
            if unknown
            else f"{where}: the probe {probe.name} names no metrics"
        )
    owners = [kind for kind in type(probe).__mro__ if kind is not _Guarded and "fit" in vars(kind)]
    if owners[0] is Probe:
        raise UserError(f"{where}: the probe {probe.name} has no method to fit it; make it a ScoredProbe with scores()")


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
