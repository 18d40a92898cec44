"""The user's own probes and metrics in a study, and their entries in the record of a run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TypeVar

from unseen.errors import UserError
from unseen.extension.own_code import OwnFile, is_own_file, told_before
from unseen.metrics.catalogue import Metric
from unseen.metrics.own import OwnMetricFile, own_metric
from unseen.probes.own import OWN, OWN_METRIC, OwnProbe, own_probe, own_probe_object
from unseen.probes.probe import Probe
from unseen.runs.setup import ProtocolUsed, Setting

AskedProbe = str | PathLike[str] | Probe
"""The name of a probe, a Python file, or a probe object."""
T = TypeVar("T")


@dataclass(frozen=True)
class OwnCode:
    """The user's own probes and metrics."""

    probes: tuple[OwnProbe, ...] = ()
    metrics: tuple[OwnMetricFile, ...] = ()

    def protocols(self) -> list[ProtocolUsed]:
        """Their entries in the record of a run, with digests of their files: a folder has one version of each."""
        found = [ProtocolUsed(each.probe.name, OWN, dict(_probe_settings(each))) for each in self.probes]
        declared = [
            (used, f"a metric of {each.probe.name}", each.file) for each in self.probes for used in each.declared
        ]
        declared += [(each.metric.facts, each.metric.title, each.file) for each in self.metrics]
        return found + [
            ProtocolUsed(used.name, OWN_METRIC, dict(_metric_settings(used, title, file)))
            for used, title, file in declared
        ]


NO_CODE = OwnCode()


def _probe_settings(own: OwnProbe) -> Iterator[tuple[str, Setting]]:
    probe = own.probe
    yield "title", probe.title
    yield "file", own.file.path.name if own.file else ""
    yield "code", own.digest
    yield "modules", list(own.file.modules) if own.file else []
    yield "revision", probe.revision
    yield "metrics", list(probe.metrics)
    for name, value in own.settings:
        yield f"setting {name}", list(value) if isinstance(value, tuple) else value


def _metric_settings(used: Metric, title: str, file: OwnFile | None) -> Iterator[tuple[str, Setting]]:
    yield "title", title
    yield "file", file.path.name if file else ""
    yield "code", file.digest if file else ""
    yield "modules", list(file.modules) if file else []
    yield "lower", used.lower
    yield "upper", used.upper
    yield "higher_is_better", used.higher_is_better
    yield "unit", used.unit


def chosen_code(
    probes: "AskedProbe | Sequence[AskedProbe]",
    metrics: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    tell: Callable[[str], None],
) -> tuple[list[str], OwnCode]:
    """Separate names of probes from the user's own code. Files are executed, which `tell` announces before.

    Args:
        metrics: names of metrics of class scores, or Python files.
    """
    names, own = list[str](), list[OwnProbe]()
    for asked in [probes] if isinstance(probes, str | PathLike | Probe) else probes:
        if isinstance(asked, Probe):
            own.append(own_probe_object(asked))
        elif is_own_file(fspath(asked)):
            own.append(_told(fspath(asked), own_probe, tell))
        else:
            names.append(fspath(asked))
    measured = list[OwnMetricFile]()
    for place in [metrics] if isinstance(metrics, str | PathLike) else metrics:
        measured.append(_told(fspath(place), own_metric, tell))
    code = OwnCode(tuple(own), tuple(measured))
    refuse_same(code)
    return names, code


def refuse_same(code: OwnCode) -> None:
    """Refuse two own probes or metrics of one name."""
    called = [each.probe.name for each in code.probes] + [each.metric.name for each in code.metrics]
    called += [used.name for each in code.probes for used in each.declared]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"two of your probes and metrics are called {twice}; give each a name of its own")


def _told(place: str, load: Callable[[str], T], tell: Callable[[str], None]) -> T:
    told_before(place, tell)
    return load(place)
