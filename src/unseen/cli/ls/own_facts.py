"""The facts on probes and metrics in Python files, for `unseen ls probes FILE` and `unseen ls metrics FILE`."""

from collections.abc import Callable

from unseen.errors import UserError
from unseen.extension.entry_points import InstalledCode
from unseen.extension.own_code import OwnFile, is_own_file
from unseen.files import byte_size

SAMPLES, TESTS, CLASSES, DIMENSIONS = 10_000, 1_000, 100, 2_048
"""Size of the features that the cost of a probe is computed for."""


def own_probe_facts(name: str, tell: Callable[[str], None]) -> dict[str, str]:
    """The facts on a probe; a notice precedes the execution of its file."""
    from unseen.metrics.catalogue import METRICS
    from unseen.probes.probe import Size
    from unseen.probes.protocol import Setting
    from unseen.studies.own_code import read_own_probe

    if not is_own_file(name):
        raise UserError(f"{name}: a probe of your own is a Python file: path/to/probe.py")
    own = read_own_probe(name, tell)
    probe, declared = own.probe, {each.name: each for each in own.declared}
    size = Size(SAMPLES, TESTS, CLASSES, (DIMENSIONS,))
    cost = f"{probe.flops(size, Setting()):.1e} operations, {byte_size(probe.memory(size))}"
    facts = {
        "probe": probe.name,
        "description": probe.title,
        "revision": str(probe.revision),
        "settings": ", ".join(f"{key}={value!r}" for key, value in own.settings) or "none",
        "training samples per class": ", ".join("all" if each is None else str(each) for each in probe.default_shots),
        "depends on the seed": "yes" if probe.random else "no",
        "outputs class scores": "yes" if probe.scored else "no",
        "cost": f"{cost} for {SAMPLES:,} training and {TESTS:,} test samples, {CLASSES} classes, "
        f"{DIMENSIONS:,} dimensions",
    }
    for metric in probe.metrics:
        used = declared.get(metric) or METRICS[metric]
        facts[f"metric {metric}"] = f"{used.range_and_direction} ({used.unit})"
    return facts | _file_facts(own.file)


def own_metric_facts(name: str, tell: Callable[[str], None]) -> dict[str, str]:
    """The facts on a metric; a notice precedes the execution of its file."""
    from unseen.studies.own_code import read_own_metric

    own = read_own_metric(name, tell)
    metric = own.metric
    facts = {
        "metric": metric.name,
        "description": metric.title,
        "range": metric.range_and_direction,
        "unit": metric.unit,
        "input": f"labels and {metric.takes}",
    }
    return facts | _file_facts(own.file)


def _file_facts(file: OwnFile | InstalledCode) -> dict[str, str]:
    if isinstance(file, InstalledCode):
        return {"package": file.origin, "sha256": file.digest}
    return {"sha256": file.digest, "imported modules of its folder": ", ".join(file.modules) or "none"}
