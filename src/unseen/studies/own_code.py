"""The user's own probes and metrics in a study, and those of other packages: their entries in the record of a run."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from unseen.errors import UserError
from unseen.extension.entry_points import InstalledCode
from unseen.extension.own_code import OwnFile, told_before
from unseen.metrics.catalogue import Metric
from unseen.metrics.own import OwnMetricFile, own_metric
from unseen.probes.own import OWN, OWN_METRIC, OwnProbe, own_probe
from unseen.runs.setup import ProtocolUsed, Setting


def read_own_probe(
    place: str, tell: Callable[[str], None], settings: tuple[tuple[str, Any], ...] | None = None
) -> OwnProbe:
    """A user's own probe, whose file is executed, which `tell` announces before; arguments as in `own_probe`."""
    told_before(place, tell)
    return own_probe(place, settings)


def read_own_metric(place: str, tell: Callable[[str], None]) -> OwnMetricFile:
    """A user's own metric, whose file is executed, which `tell` announces before."""
    told_before(place, tell)
    return own_metric(place)


def own_protocols(probes: Sequence[OwnProbe], metrics: Sequence[OwnMetricFile]) -> list[ProtocolUsed]:
    """Their entries in the record of a run, with digests of their files: a folder has one version of each."""
    found = [ProtocolUsed(each.probe.name, OWN, dict(_probe_settings(each))) for each in probes]
    declared = [(used, f"a metric of {each.probe.name}", each.file) for each in probes for used in each.declared]
    declared += [(each.metric.facts, each.metric.title, each.file) for each in metrics]
    return found + [
        ProtocolUsed(used.name, OWN_METRIC, dict(_metric_settings(used, title, file))) for used, title, file in declared
    ]


def refuse_same(probes: Sequence[OwnProbe], metrics: Sequence[OwnMetricFile]) -> None:
    """Refuse two own probes or metrics of one name."""
    called = [each.probe.name for each in probes] + [each.metric.name for each in metrics]
    called += [used.name for each in probes for used in each.declared]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"two of your probes and metrics are called {twice}; give each a name of its own")


def _probe_settings(own: OwnProbe) -> Iterator[tuple[str, Setting]]:
    probe = own.probe
    yield "title", probe.title
    yield from _code(own.file)
    yield "revision", probe.revision
    yield "metrics", list(probe.metrics)
    for name, value in own.settings:
        yield f"setting {name}", list(value) if isinstance(value, tuple) else value


def _metric_settings(used: Metric, title: str, file: OwnFile | InstalledCode) -> Iterator[tuple[str, Setting]]:
    yield "title", title
    yield from _code(file)
    yield "lower", used.lower
    yield "upper", used.upper
    yield "higher_is_better", used.higher_is_better
    yield "unit", used.unit


def _code(file: OwnFile | InstalledCode) -> Iterator[tuple[str, Setting]]:
    if isinstance(file, InstalledCode):
        yield "package", file.package
        yield "version", file.version
        yield "code", file.digest
        return
    yield "file", file.path.name
    yield "code", file.digest
    yield "modules", list(file.modules)
