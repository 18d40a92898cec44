"""The probes of a study with their settings, shots and seeds, and the user's own code among them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from unseen.device import on_gpu
from unseen.errors import UserError
from unseen.extension.own_code import is_own_file
from unseen.metrics.own import OwnMetricFile
from unseen.probes.job import Job
from unseen.probes.own import OwnProbe, installed_probe, own_probe
from unseen.probes.probe import Probe
from unseen.probes.vectors import Vectors
from unseen.reading.keys import file_name, find_key, keys_of, read_value
from unseen.runs.notices import Notice, notice
from unseen.runs.setup import ProtocolUsed
from unseen.runs.shots import shot_notices
from unseen.studies.keys import ShotWords
from unseen.studies.opened import Wanted
from unseen.studies.own_code import own_protocols, read_own_metric, read_own_probe, refuse_same
from unseen.studies.study import Study, probe_of, probe_table, refuse_nothing

GENERAL = ("shots", "seeds")


@dataclass(frozen=True, eq=False)
class StudyProbe:
    """A probe of a study.

    Attributes:
        own: the same, if it is a user's own, or of feature vectors and from another package.
        shots: training samples per class; None for what the probe usually takes.
    """

    probe: Probe
    shots: tuple[int | None, ...] | None
    seeds: range
    own: OwnProbe | None = None

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """Training samples per class, before those are skipped for which there are too few."""
        given = [number for number in self.shots or () if self.probe.takes_shots(number)]
        return tuple(given) or self.probe.default_shots

    def vector_jobs(self, vectors: Vectors) -> Iterator[Job]:
        """Its jobs on feature vectors, if it takes them."""
        if not vectors.takes(self.probe):
            return
        fitted = self.own or self.probe
        yield from fitted.jobs(vectors, self.seeds, self.numbers, gpu=on_gpu())

    def shot_notices(self, vectors: Vectors, named: str) -> Iterator[Notice]:
        """Notices about the features, and about shots for which a data set has too few samples or classes."""
        if not vectors.takes(self.probe):
            return
        yield from (notice(code, **about) for code, about in self.probe.data_notices(vectors, named))
        if vectors.counts is None:
            if vectors.samples is not None:
                yield from shot_notices(self.numbers, vectors.samples.total_shortage, named)
            return
        for short in (self.probe.total_shortage, self.probe.partial_shortage):
            yield from shot_notices(self.numbers, partial(short, vectors.counts), named)


@dataclass(frozen=True, eq=False)
class StudyProbes:
    """The probes of a study, and metrics of the user's own."""

    every: tuple[StudyProbe, ...]
    metrics: tuple[OwnMetricFile, ...] = ()

    @property
    def wanted(self) -> Wanted:
        """What they take."""
        targets = {target for each in self.every if each.probe.input != "outputs" for target in each.probe.targets}
        return Wanted(frozenset(each.probe.input for each in self.every), frozenset(targets))

    def of(self, *inputs: str) -> list[StudyProbe]:
        """Those of some inputs."""
        return [each for each in self.every if each.probe.input in inputs]

    @property
    def own(self) -> list[OwnProbe]:
        """The user's own."""
        return [each.own for each in self.every if each.own]

    @property
    def protocols(self) -> list[ProtocolUsed]:
        """How they are fitted, for the record of a run."""
        ours = [ProtocolUsed.by(each.probe) for each in self.every if each.own is None]
        return [*ours, *own_protocols(self.own, self.metrics)]

    @property
    def remarks(self) -> list[Notice]:
        """What a reader must know of their protocols."""
        return [notice(code, **about) for each in self.every for code, about in each.probe.remarks()]


def study_probes(study: Study, tell: Callable[[str], None]) -> StudyProbes:
    """The probes of a study; the user's own files are executed, which `tell` announces before."""
    refuse_nothing(study)
    found = [_study_probe(study, word, tell) for word in study.probes]
    metrics = tuple(read_own_metric(place, tell) for place in study.metrics)
    probes = StudyProbes(tuple(found), metrics)
    refuse_same(probes.own, probes.metrics)
    if metrics and not any(each.probe.scored for each in found):
        names = ", ".join(each.probe.name for each in found)
        raise UserError(f"{names}: no probe of this study returns class scores, which metrics of your own need")
    return probes


def _study_probe(study: Study, word: str, tell: Callable[[str], None]) -> StudyProbe:
    values = {name: each for name, each in study.probe_settings(word).items() if name not in GENERAL}
    shots, seeds = study.numbers_of_shots(word), study.seeds_of(word)
    if is_own_file(word):
        own = read_own_probe(word, tell, _own_values(word, values))
        return StudyProbe(own.probe, shots, seeds, own)
    probe = probe_of(word, values)
    once = probe.once and "seeds" not in study.probe_settings(word)
    return StudyProbe(probe, shots, seeds[:1] if once else seeds, installed_probe(probe))


def with_usual_settings(study: Study, *, gpu: bool | None = None) -> Study:
    """The study with the values that unset keys of its probes stand for; own probes stay as they are.

    Args:
        gpu: as for `Probe.usual`.
    """
    settings = {**study.settings}
    for word in study.probes:
        if not is_own_file(word):
            given = study.probe_settings(word)
            usual = {file_name(name): value for name, value in probe_of(word, given).usual(gpu=gpu).items()}
            settings[word] = {**usual, **given}
    return replace(study, settings=settings)


def with_usual_shots(study: Study, probes: StudyProbes) -> Study:
    """The study with the numbers of samples that its probes take if none are given.

    All samples, as most probes take, are written for the study, so that an option still changes them for all probes.
    """
    usual = {
        probe_table(word): each.numbers
        for word, each in zip(study.probes, probes.every, strict=True)
        if each.probe.input == "vectors" and each.shots is None
    }
    others = {
        name: {**study.settings.get(name, {}), "shots": shot_words(numbers)}
        for name, numbers in usual.items()
        if numbers != Probe.default_shots
    }
    common = shot_words(Probe.default_shots) if len(others) < len(usual) else study.shots
    return replace(study, shots=common, settings={**study.settings, **others})


def shot_words(numbers: tuple[int | None, ...]) -> ShotWords:
    """Numbers of samples as a study names them."""
    return tuple("all" if number is None else number for number in numbers)


def same_shots(first: Study, second: Study) -> bool:
    """Whether the probes of both studies take the same numbers of samples; own ones are not compared."""

    def silent(_: str) -> None:
        """Only own code is announced."""

    words = [each for each in first.probes if each in second.probes and not is_own_file(each)]
    return all(
        _study_probe(first, word, silent).numbers == _study_probe(second, word, silent).numbers for word in words
    )


def _own_values(word: str, values: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The values for fields of an own probe, whose names and types are those of its class."""
    kind = type(own_probe(word).probe)
    known, names = keys_of(kind), [each.name for each in fields(kind)]
    found, where = dict[str, Any](), f"[{probe_table(word)}]"
    for name, value in values.items():
        if name in known:
            found[known[name].field] = read_value(known[name], value, where)
        elif name.replace("-", "_") in names:
            found[name.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
        else:
            find_key({**known, **dict.fromkeys(names)}, name, where)  # type: ignore[dict-item]
    return tuple(sorted(found.items()))
